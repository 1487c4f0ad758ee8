"""A room imports only rooms before it, and a heavy library only where it lives."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.syntax import tree_of

PROJECT = Path(__file__).parents[1]
ROOMS = (
    "sizing",
    "facts",
    "emr",
    "hfile",
    "environments",
    "configurations",
    "lint",
    "dashboards",
    "changes",
    "stacks",
    "operations",
    "local_aws",
    "lab",
    "published",
    "reports",
    "cli",
)
HOMES = {
    "aws_cdk": {"stacks", "app.py"},
    "constructs": {"stacks"},
    "boto3": {"operations", "local_aws"},
    "botocore": {"operations", "local_aws"},
    "moto": {"local_aws"},
    "cfnlint": {"local_aws"},
    "pydantic": {"environments"},
    "yaml": {"environments", "lint"},
    "hcl2": {"lint"},
    "lark": {"lint"},
    "jinja2": {"configurations", "lab"},
    "altair": {"lab"},
    "vl_convert": {"lab", "reports"},
    "click": {"cli"},
    "rich": {"cli"},
    "numpy": {"sizing", "lab", "lint", "published"},
    "cramjam": {"hfile"},
    "google_crc32c": {"hfile"},
}


@cache
def sources() -> list[Path]:
    rooms = [file for room in ROOMS for file in sorted((PROJECT / room).rglob("*.py"))]
    return [PROJECT / "app.py", *rooms]


@cache
def imported(source: Path) -> set[str]:
    """Top-level names that a file imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(tree_of(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


def sources_of(room: str) -> Iterator[Path]:
    return (source for source in sources() if source.relative_to(PROJECT).parts[0] == room)


@pytest.mark.parametrize("room", ["app.py", *ROOMS])
def test_imports_only_rooms_before_it(room: str) -> None:
    later = set() if room == "app.py" else set(ROOMS[ROOMS.index(room) + 1 :])
    assert {str(source): names for source in sources_of(room) if (names := imported(source) & later)} == {}


@pytest.mark.parametrize("room", ["app.py", *ROOMS])
def test_heavy_library_only_in_its_home(room: str) -> None:
    strangers = {library for library, homes in HOMES.items() if room not in homes}
    assert {str(source): names for source in sources_of(room) if (names := imported(source) & strangers)} == {}


def test_every_room_is_on_the_list() -> None:
    found = {path.parent.name for path in PROJECT.glob("*/__init__.py") if path.parent.name != "tests"}
    assert found <= set(ROOMS)


@cache
def module_graph() -> dict[str, set[str]]:
    """Return the modules of the project, each with those that it imports."""
    modules = {
        ".".join(source.relative_to(PROJECT).with_suffix("").parts).removesuffix(".__init__"): source
        for source in sources()
    }
    graph: dict[str, set[str]] = {name: set() for name in modules}
    for name, source in modules.items():
        for node in ast.walk(tree_of(source)):
            if isinstance(node, ast.Import):
                graph[name] |= {alias.name for alias in node.names} & set(modules)
            elif isinstance(node, ast.ImportFrom) and node.module:
                members = {f"{node.module}.{alias.name}" for alias in node.names}
                graph[name] |= members & set(modules) or {node.module} & set(modules)
    return graph


def circle(graph: Mapping[str, set[str]]) -> tuple[str, ...]:
    """One circle of a graph, empty where it has none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return tuple(error.args[1])
    return ()


def test_no_circle_between_modules() -> None:
    assert circle(module_graph()) == ()


def test_no_circle_between_folders() -> None:
    """A folder may use what stands beside it in its room, and be used by it; two folders may not use each other."""
    graph = module_graph()
    folders: dict[str, set[str]] = {}
    for name, imports in graph.items():
        folder = folder_of(name)
        for other in map(folder_of, imports):
            if other != folder and not is_within(other, folder) and not is_within(folder, other):
                folders.setdefault(folder, set()).add(other)
    assert circle(folders) == ()


def folder_of(module: str) -> str:
    path = PROJECT.joinpath(*module.split("."))
    return module if path.is_dir() else module.rpartition(".")[0]


def is_within(folder: str, outer: str) -> bool:
    return folder.startswith(f"{outer}.") or not outer
