"""Prints the settings in force of the servers of a node as one JSON document. Systems Manager runs it as root.

Python 3.9. It prints the properties that no default file states, and those named as arguments. Systems Manager shows
the first 24,000 characters of an output, so the settings are compressed. It changes nothing.
"""

from __future__ import annotations

import argparse
import base64
import json
import re
import sys
import xml.etree.ElementTree as ET
import zlib
from collections.abc import Set as AbstractSet
from pathlib import Path

from warmbase.operations.on_node.node_facts import fetched

DEFAULT_FILE = "-default.xml"
SECRET = re.compile(r"pass|secret|token|credential|access.?key", re.IGNORECASE)
HARMLESS = re.compile(r"true|false|[\d.]*\w{0,2}")
MASK = "<masked>"
"""The mask of a secret, which HBase uses, too."""


def settings(page: bytes | None, keys: AbstractSet[str]) -> dict[str, list[str]] | None:
    """Return the value and the source of each property; None for a server that does not answer."""
    try:
        root = ET.fromstring(page or b"")  # noqa: S314 - a server or a file of this node
    except ET.ParseError:
        return None
    entries = {}
    for entry in root.iter("property"):
        key, value = entry.findtext("name") or "", (entry.findtext("value") or "").strip()
        source = ([source.text or "" for source in entry.findall("source")] or [""])[-1]
        if key in keys or not source.endswith(DEFAULT_FILE):
            entries[key] = [MASK if SECRET.search(key) and not HARMLESS.fullmatch(value) else value, source]
    return entries


def content(file: Path) -> bytes | None:
    """Return the content of a file; None where it cannot be read."""
    try:
        return file.read_bytes()
    except OSError:
        return None


def main() -> None:
    """Print the settings of each server that has a page, and of each file."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--page", action="append", default=[], metavar="NAME=URL")
    parser.add_argument("--file", action="append", default=[], metavar="NAME=FILE")
    parser.add_argument("keys", nargs="*")
    arguments = parser.parse_args()
    pages = {name: fetched(f"{url}/conf", {}) for name, _, url in (entry.partition("=") for entry in arguments.page)}
    files = {name: content(Path(path)) for name, _, path in (entry.partition("=") for entry in arguments.file)}
    answers = {name: settings(page, frozenset(arguments.keys)) for name, page in {**pages, **files}.items()}
    packed = zlib.compress(json.dumps(answers).encode(), 9)
    json.dump({"packed": base64.b64encode(packed).decode()}, sys.stdout)


if __name__ == "__main__":
    main()
