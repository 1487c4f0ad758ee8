"""How far the judgements of the model move the price and the latency of a plan.

A judgement is a constant that nobody has measured for your cluster, such as the time to the first byte from S3. Its
range is that of its source, or else half to twice its value. The judgements here describe hardware, S3 and HBase.
Others, such as the number of points of a curve, decide only how exactly the model computes.

Formulas use such a constant by its name, and some use it when their module is imported. So `altered_constants` imports
the modules once more with the other value, and drops them afterwards. Passing each constant through all formulas
instead would make every formula harder to read.
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

from msgspec import Struct

from warmbase.engines.engine import engine_of
from warmbase.environments.reader.document import Document
from warmbase.environments.reader.ranges import InputRange
from warmbase.environments.reader.read import environment_of
from warmbase.environments.uncertainty.engine_facet import planning_of
from warmbase.environments.uncertainty.sensitivity import Figures, Sensitivity

KIB_64: Final = 65_536


class Judgement(Struct, frozen=True):
    """A judgement: what it is, and its lowest and highest plausible value in `unit`.

    `constants` has the constants that express it, by module and name, each with the factor from that unit to its own.
    """

    name: str
    low: float
    high: float
    unit: str
    constants: Mapping[str, float]

    @property
    def as_range(self) -> InputRange:
        """Return its values as a range, with its constants as the place where it is stated."""
        return InputRange(key=self.name, where=", ".join(self.constants), low=self.low, high=self.high, unit=self.unit)

    def at(self, value: float) -> dict[str, float]:
        """Return the constants that express this value."""
        exact = {constant: factor * value for constant, factor in self.constants.items()}
        return {constant: int(value) if value.is_integer() else value for constant, value in exact.items()}


UTILISATION: Final = Judgement(
    "utilisation that a plan allows", 60, 80, "%", {"warmbase.sizing.service.inputs.UTILISATION": 0.01}
)
JUDGEMENTS: Final = (
    UTILISATION,
    Judgement(
        "S3: time to the first byte",
        0.1,
        0.2,
        "s",
        {
            "warmbase.sizing.workload.read.S3_FIRST_BYTE_SECONDS": 1.0,
            "warmbase.sizing.service.performance.S3_MEDIAN_SECONDS": 2**0.5 / 1.5,
        },
    ),
    Judgement(
        "S3: bytes per second of a stream",
        40e6,
        90e6,
        "B",
        {"warmbase.sizing.workload.read.S3_STREAM_BYTES_PER_SECOND": 1.0},
    ),
    Judgement(
        "CPU time of a GET from S3", 0.9e-3, 3.7e-3, "s", {"warmbase.sizing.workload.read.S3_GET_CPU_SECONDS": 1.0}
    ),
    Judgement("CPU time of an RPC", 25e-6, 100e-6, "s", {"warmbase.sizing.workload.read.RPC_CPU_SECONDS": 1.0}),
    Judgement(
        "CPU to read 64 KiB of cache",
        40e-6,
        160e-6,
        "s",
        {"warmbase.sizing.workload.read.BLOCK_CPU_SECONDS_PER_BYTE": 1 / KIB_64},
    ),
    Judgement(
        "CPU to decompress 64 KiB",
        60e-6,
        200e-6,
        "s",
        {"warmbase.sizing.workload.read.DECOMPRESS_CPU_SECONDS_PER_BYTE": 1 / KIB_64},
    ),
    Judgement("CPU to cache a block", 60e-6, 205e-6, "s", {"warmbase.sizing.cache.warm_up.CPU_SECONDS_PER_BLOCK": 1.0}),
    Judgement("fsync of a cache file", 2e-3, 10e-3, "s", {"warmbase.sizing.cache.warm_up.FSYNC_SECONDS": 1.0}),
    Judgement("latency of a volume", 0.5e-3, 2e-3, "s", {"warmbase.sizing.service.resource.DISK_LATENCY_SECONDS": 1.0}),
    Judgement("CPU to write a cell", 1e-6, 4e-6, "s", {"warmbase.sizing.server.writes.CELL_CPU_SECONDS": 1.0}),
    Judgement("minimum write amplification", 1.0, 4.0, "", {"warmbase.sizing.service.inputs.LEAST_AMPLIFICATION": 1.0}),
    Judgement(
        "memory of other daemons", 2 * 2**30, 8 * 2**30, "B", {"warmbase.sizing.server.memory.DAEMON_BYTES": 1.0}
    ),
    Judgement("memory for the page cache", 5, 20, "%", {"warmbase.sizing.server.memory.PAGE_CACHE_FRACTION": 0.01}),
    Judgement("row key", 12, 96, "B", {"warmbase.sizing.workload.workload.ROW_KEY_BYTES": 1.0}),
    Judgement(
        "spread of the compression ratio", 10, 40, "%", {"warmbase.sizing.workload.workload.COMPRESSION_SPREAD": 0.01}
    ),
    Judgement("HDFS disk that data may fill", 60, 80, "%", {"warmbase.sizing.search.disks.HDFS_FILL_FRACTION": 0.01}),
)


def judgement_sensitivities(document: Document, cluster: str) -> list[Sensitivity]:
    """Return the price and the latency at both ends of each judgement; the one that moves the price most is first."""
    environment, results = environment_of(document), []
    for judgement in planning_of(engine_of(environment, cluster)).JUDGEMENTS:
        low, high = (_figures(document, cluster, judgement.at(end)) for end in (judgement.low, judgement.high))
        results.append(Sensitivity.between(judgement.as_range, low, high))
    return sorted(results, key=lambda result: -result.span_usd)


def _figures(document: Document, cluster: str, constants: Mapping[str, float]) -> Figures:
    with altered_constants(constants):
        from warmbase.environments.uncertainty.sensitivity import figures_of  # noqa: PLC0415 - the module with the altered constants

        return figures_of(document, cluster)


ROOMS: Final = tuple(f"warmbase.{room}." for room in ("sizing", "facts", "environments", "engines"))
"""The packages that make a plan of an environment file."""

Values = Mapping[str, float]
"""The values of constants by module and name, such as `warmbase.sizing.workload.read.S3_FIRST_BYTE_SECONDS`."""


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
        # A package refers to its modules, too: `import` has given `warmbase` the altered ones.
        for name, module in before.items():
            package, _, child = name.rpartition(".")
            setattr(sys.modules[package], child, module)


def _is_of_rooms(name: str) -> bool:
    return f"{name}.".startswith(ROOMS)


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
