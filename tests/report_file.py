"""The documents in a page that a command has written with --report."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any


def blocks_of(file: Path) -> dict[str, Any]:
    """Return the documents in a report, by their ids."""
    blocks = re.findall(r'<script type="application/json" id="(\w+)">(.*?)</script>', file.read_text())
    return {name: json.loads(block) for name, block in blocks}
