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
    "ground",
    "facts",
    "emr",
    "hfile",
    "sizing",
    "environments",
    "configurations",
    "linter",
    "dashboards",
    "changes",
    "stacks",
    "operations",
    "reports",
    "cli",
    "app",
    "local_aws",
    "lab",
    "tools",
)
"""The rooms of the package in their order, the CDK app, and then what only a checkout has."""
BESIDE = "engines"
"""An engine has a part in most stages, so its package stands beside the rooms, which ask `engine.py` for it."""
KNOWS_TRINO = {
    "tools.permissions": "the shape with every statement of a policy needs a cluster of each engine",
    "lab": "a scenario runs the software of one engine",
}
"""The modules and rooms outside the engines that may import one of them, each with the reason."""
OUTSIDE = ("local_aws", "lab", "tools")
LINKED = ("configurations", "dashboards", "stacks")
"""Folders whose names are fixed at the top of the repository; a link makes each a part of the package."""
HOMES = {
    "aws_cdk": {"stacks", "app", "engines"},
    "constructs": {"stacks", "engines"},
    "boto3": {"operations", "local_aws"},
    "botocore": {"operations", "local_aws", "engines"},
    "moto": {"local_aws"},
    "cfnlint": {"local_aws"},
    "pydantic": {"environments", "engines"},
    "yaml": {"environments", "linter"},
    "hcl2": {"linter"},
    "lark": {"linter"},
    "jinja2": {"configurations", "lab"},
    "altair": {"lab"},
    "vl_convert": {"lab", "tools"},
    "click": {"cli", "lab", "tools"},
    "rich": {"cli", "engines"},
    "numpy": {"ground", "sizing", "lab", "linter", "tools", "engines"},
    "cramjam": {"hfile"},
    "google_crc32c": {"hfile"},
}


def room_of(module: str) -> str:
    """Return the room of a module: the first name in it below `warmbase`."""
    names = module.split(".")
    return names[1] if names[0] == "warmbase" and len(names) > 1 else names[0]


def module_of(source: Path) -> str:
    """Return the name by which a file is imported."""
    names = source.relative_to(PROJECT).with_suffix("").parts
    package = ("warmbase",) if names[0] in LINKED else ()
    return ".".join((*package, *names)).removesuffix(".__init__")


@cache
def sources() -> list[Path]:
    folders = ("warmbase", *LINKED, "local_aws", "lab", "tools")
    return [file for folder in folders for file in sorted((PROJECT / folder).rglob("*.py"))]


@cache
def imported(source: Path) -> set[str]:
    """The modules that a file imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(tree_of(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def sources_of(room: str) -> Iterator[Path]:
    return (source for source in sources() if room_of(module_of(source)) == room)


@pytest.mark.parametrize("room", ROOMS)
def test_imports_only_rooms_before_it(room: str) -> None:
    later = set(ROOMS[ROOMS.index(room) + 1 :])
    ours = {
        str(source): names
        for source in sources_of(room)
        if (
            names := {
                name for name in imported(source) if name.startswith(("warmbase.", *OUTSIDE)) and room_of(name) in later
            }
        )
    }
    assert ours == {}


def test_rooms_ask_for_an_engine_and_import_none() -> None:
    known = tuple(f"{name}." for name in (*KNOWS_TRINO, f"warmbase.{BESIDE}"))
    strangers = {
        module: names
        for source in sources()
        if not f"{(module := module_of(source))}.".startswith(known)
        if (names := {name for name in imported(source) if name.startswith("warmbase.engines.trino")})
    }
    assert strangers == {}


@pytest.mark.parametrize("room", [*ROOMS, BESIDE])
def test_heavy_library_only_in_its_home(room: str) -> None:
    strangers = {library for library, homes in HOMES.items() if room not in homes}
    libraries = {source: {name.partition(".")[0] for name in imported(source)} for source in sources_of(room)}
    assert {str(source): found for source, names in libraries.items() if (found := names & strangers)} == {}


def test_every_room_is_on_the_list() -> None:
    packages = {path.parent.name for folder in (PROJECT / "warmbase", PROJECT) for path in folder.glob("*/__init__.py")}
    assert packages - {"tests", "warmbase"} == {*ROOMS, BESIDE} - {"app"}


def test_nothing_is_imported_by_a_name_outside_the_package() -> None:
    """A module that has two names is loaded twice."""
    flat = {
        str(source): names
        for source in (*sources(), *sorted((PROJECT / "tests").rglob("*.py")))
        if (names := {name for name in imported(source) if name.partition(".")[0] in LINKED})
    }
    assert flat == {}


@cache
def module_graph() -> dict[str, set[str]]:
    """Return the modules of the project, each with those that it imports when it runs."""
    modules = {module_of(source): source for source in sources()}
    graph: dict[str, set[str]] = {name: set() for name in modules}
    for name, source in modules.items():
        for node in executed(tree_of(source)):
            if isinstance(node, ast.Import):
                graph[name] |= {alias.name for alias in node.names} & set(modules)
            elif isinstance(node, ast.ImportFrom) and node.module:
                members = {f"{node.module}.{alias.name}" for alias in node.names}
                graph[name] |= members & set(modules) or {node.module} & set(modules)
    return graph


def executed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes of a tree, without the imports that only a type checker reads."""
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from executed(child)


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
            if BESIDE in f"{folder}.{other}".split("."):
                continue
            if other != folder and not is_within(other, folder) and not is_within(folder, other):
                folders.setdefault(folder, set()).add(other)
    assert circle(folders) == ()


def folder_of(module: str) -> str:
    path = PROJECT.joinpath(*module.split("."))
    return module if path.is_dir() else module.rpartition(".")[0]


def is_within(folder: str, outer: str) -> bool:
    return folder.startswith(f"{outer}.") or not outer
