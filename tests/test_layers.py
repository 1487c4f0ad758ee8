"""A room imports only rooms before it, and a heavy library only where it lives."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
ROOMS = (
    "sizing",
    "facts",
    "environments",
    "hfile",
    "configurations",
    "dashboards",
    "stacks",
    "operations",
    "lab",
    "cli",
)
HOMES = {
    "aws_cdk": {"stacks", "app.py"},
    "constructs": {"stacks"},
    "boto3": {"operations", "lab"},
    "botocore": {"operations", "lab"},
    "moto": {"lab"},
    "cfnlint": {"lab"},
    "pydantic": {"environments"},
    "yaml": {"environments", "configurations"},
    "jinja2": {"configurations", "lab"},
    "altair": {"lab"},
    "vl_convert": {"lab"},
    "click": {"cli"},
    "rich": {"cli"},
    "numpy": {"sizing"},
    "cramjam": {"hfile"},
    "google_crc32c": {"hfile"},
}


def sources() -> list[Path]:
    rooms = [file for room in ROOMS for file in sorted((PROJECT / room).rglob("*.py"))]
    return [PROJECT / "app.py", *rooms]


def imported(source: Path) -> set[str]:
    """Top-level names that a file imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


@pytest.mark.parametrize("source", sources(), ids=lambda source: str(source.relative_to(PROJECT)))
def test_imports_only_rooms_before_it(source: Path) -> None:
    room = source.relative_to(PROJECT).parts[0]
    allowed = set(ROOMS if room == "app.py" else ROOMS[: ROOMS.index(room) + 1])
    assert imported(source) & set(ROOMS) <= allowed


@pytest.mark.parametrize("source", sources(), ids=lambda source: str(source.relative_to(PROJECT)))
def test_heavy_library_only_in_its_home(source: Path) -> None:
    room = source.relative_to(PROJECT).parts[0]
    strangers = {library for library in imported(source) & set(HOMES) if room not in HOMES[library]}
    assert not strangers


def test_every_room_is_on_the_list() -> None:
    found = {path.parent.name for path in PROJECT.glob("*/__init__.py") if path.parent.name != "tests"}
    assert found <= set(ROOMS)
