"""Write the published schema of audit.json.

.venv/bin/python docs/make_schema.py
"""

import json
from pathlib import Path

from withhold.audit.evidence import schema

path = Path(__file__).parent / "audit.schema.json"
path.write_text(json.dumps(schema(), indent=2) + "\n")
print(path)
