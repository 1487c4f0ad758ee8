"""Plans with another value of a constant of the model.

Formulas use such a constant by its name, and some use it when their module is imported. So the modules are imported
once more with the other value, and dropped afterwards. Passing each constant through all formulas instead would make
every formula harder to read.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import InspectLoader, Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Final

__all__ = ["altered_constants"]

ROOMS: Final = frozenset({"sizing", "facts", "environments"})
"""The packages that make a plan of an environment file."""

Values = Mapping[str, float]
"""The values of constants by module and name, such as `sizing.read.S3_FIRST_BYTE_SECONDS`."""


@contextmanager
def altered_constants(values: Values) -> Iterator[None]:
    """Within the block, import the packages of a plan with these values; what was imported before stays as it was.

    Nothing but numbers and text may leave the block, because its classes are not those of the rest of the process.
    Raises KeyError if a module has no such constant.
    """
    finder = _AlteredFinder(values)
    before = {name: module for name, module in sys.modules.items() if _is_of_rooms(name)}
    _forget_rooms()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        _forget_rooms()
        sys.modules.update(before)


def _is_of_rooms(name: str) -> bool:
    return name.partition(".")[0] in ROOMS


def _forget_rooms() -> None:
    for name in list(filter(_is_of_rooms, sys.modules)):
        del sys.modules[name]


class _AlteredFinder(MetaPathFinder):
    """Finds the modules whose constants are altered."""

    def __init__(self, values: Values) -> None:
        self._values: dict[str, dict[str, float]] = {}
        for path, value in values.items():
            module, _, constant = path.rpartition(".")
            self._values.setdefault(module, {})[constant] = value

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._values:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, InspectLoader):
            spec.loader = _AlteredLoader(spec.loader, self._values[fullname])
        return spec


class _AlteredLoader(Loader):
    """Runs the source of a module with other values of its constants."""

    def __init__(self, original: InspectLoader, values: Values) -> None:
        self._original = original
        self._values = values

    def exec_module(self, module: ModuleType) -> None:
        tree = ast.parse(self._original.get_source(module.__name__) or "")
        missing = dict(self._values)
        for statement in tree.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                name = statement.target.id
                if name in missing:
                    statement.value = ast.copy_location(ast.Constant(missing.pop(name)), statement)
        if missing:
            raise KeyError(f"{module.__name__} has no constant {', '.join(missing)}")
        exec(compile(tree, module.__file__ or module.__name__, "exec"), module.__dict__)  # noqa: S102 - our own source
