"""Make the README's picture from a demo's evidence.

make demo && .venv/bin/python docs/make_pictures.py demo/audit.json
"""

import io
import sys
from pathlib import Path

from rich.console import Console

from withhold.audit import Evidence
from withhold.report import print_table

evidence = Evidence.from_json(sys.argv[1])
console = Console(record=True, width=100, file=io.StringIO())
console.print("$ withhold demo", style="bold")
print_table(evidence, console=console, title="What can be inferred from the release")
picture = Path(__file__).parent / "pictures" / "demo.svg"
picture.write_text(console.export_svg(title="withhold demo", unique_id="demo"))
print(picture)
