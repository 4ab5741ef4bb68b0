"""Make the README's picture from a demo's evidence.

make demo && .venv/bin/python docs/make_pictures.py demo
"""

import io
import re
import sys
from pathlib import Path

from rich.console import Console

from withhold.audit import Evidence
from withhold.report import print_table

made = Path(sys.argv[1])
console = Console(record=True, width=100, file=io.StringIO())
console.print("$ withhold demo", style="bold")
for name, file in (("mass", "audit-mass.json"), ("codebook", "audit.json")):
    print_table(
        Evidence.from_json(made / file),
        console=console,
        title=f"{name}: what can be inferred from its release",
        legend=name == "codebook",
    )
picture = Path(__file__).parent / "pictures" / "demo.svg"
svg = console.export_svg(title="withhold demo", unique_id="demo")
# rich names a font on the network; the reader's own monospace font serves.
svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)
svg = "\n".join(line.rstrip() for line in svg.splitlines() if line.strip())
picture.write_text(svg.replace("Fira Code", "monospace") + "\n")
print(picture)
