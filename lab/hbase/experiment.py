"""An experiment of a scenario: the bench, the table, the windows in which it measures, targets, and data for charts.

Measurements alternate with a control, so that a ratio holds on a machine that others make busy at times. A ratio
compares a case with the control just before it and just after it, and not with one that was measured once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from statistics import mean
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from lab.hbase.admin import TableFamily
from lab.hbase.bench import Bench
from lab.hbase.cluster_recording import ClusterRecording
from lab.hbase.jmx import hit_ratio
from lab.hbase.recording import Recording, Sample, Window
from lab.hbase.result import Chart, Measurement, MeasurementTarget, Outage, Series, TargetKind
from lab.hbase.ycsb import YcsbLoad, YcsbTable
from lab.machine.volume import LimitedVolume
from lab.scaled_plan import CLIENTS, ScaledPlan, Small, miniature_demand
from warmbase.ground.release import Release
from warmbase.ground.units import MIB

ROUNDS: Final = 2
IN_TURN: Final = (
    f"the control ran before and after each of {ROUNDS} windows, and each window is compared with the mean of both "
    "controls"
)

T = TypeVar("T")


class Turns(Struct, Generic[T], frozen=True):
    """The results of a control and of the cases between its runs: the control ran first, last, and in between."""

    controls: tuple[T, ...]
    rounds: tuple[tuple[T, ...], ...]

    def of(self, case: int) -> tuple[T, ...]:
        """Return the results of one case, a round each."""
        return tuple(results[case] for results in self.rounds)

    def ratio(self, case: int, figure: Callable[[T], float]) -> float:
        """Return a figure of a case over that of the controls on both sides; the mean of the rounds."""
        both = zip(self.controls, self.controls[1:], strict=False)
        return mean(
            figure(result) / mean((figure(before), figure(after)))
            for result, (before, after) in zip(self.of(case), both, strict=True)
        )


def in_turn(control: Callable[[], T], cases: Sequence[Callable[[], T]], rounds: int = ROUNDS) -> Turns[T]:
    """Run the control, each case, the control again, and so on for so many rounds."""
    controls, results = [control()], []
    for _ in range(rounds):
        results.append(tuple(case() for case in cases))
        controls.append(control())
    return Turns(tuple(controls), tuple(results))


LEAST_IDLE: Final = 0.2
"""Below this idle share, the cores are the bottleneck."""
VOLUME_MIB_S: Final = 40
"""The throughput that stands for a default gp3: about 600 blocks a second, where two cores read 2,500 from memory."""
MANY_CLIENTS: Final = 16
"""The number of clients where misses are needed quickly and nothing is timed."""
UNCOMPRESSED: Final[Mapping[str, Any]] = {"codec": "none", "compression_ratio": 1.0, "encoding": "NONE"}
"""Fields of a workload whose blocks are as long in the cache as in the store files."""


class ScenarioResult(Struct, frozen=True, kw_only=True):
    """A scenario's figures, charts and recordings, and the limits of what they show."""

    figures: tuple[Measurement, ...]
    charts: tuple[Chart, ...] = ()
    limits: tuple[str, ...] = ()
    recorded: tuple[Recording, ...] = ()
    cluster_recording: ClusterRecording | None = None
    outages: tuple[Outage, ...] = ()

    @classmethod
    def not_shown(cls, reason: str) -> ScenarioResult:
        """Return the result of a scenario that this machine cannot run, with the reason."""
        return cls(figures=(), limits=(f"Not shown here: {reason}",))

    @classmethod
    def joined(cls, parts: Iterable[ScenarioResult], limits: tuple[str, ...]) -> ScenarioResult:
        """Return the figures, charts, recordings and outages of all parts in order, and the limits of the whole."""
        results = tuple(parts)
        return cls(
            figures=tuple(figure for part in results for figure in part.figures),
            charts=tuple(chart for part in results for chart in part.charts),
            limits=limits,
            recorded=tuple(recording for part in results for recording in part.recorded),
            outages=tuple(outage for part in results for outage in part.outages),
        )


class Experiment(Struct, frozen=True, kw_only=True, dict=True):
    """One scenario's equipment; `seconds` is the length of a window, `cores` counts this machine's cores."""

    bench: Bench
    release: Release
    miniature: ScaledPlan
    table: YcsbTable
    seconds: float
    cores: int
    seed: int = 1
    volume_mib_s: int = VOLUME_MIB_S
    """The throughput that stands for a gp3's default."""
    short: bool = False
    """True where a scenario that has a short form runs in that form."""

    def filled(self) -> Experiment:
        """Return the same with the table filled, and with predictions from the blocks of its store files."""
        return self.with_measured_blocks(self.table, self.miniature, family_of(self.table, self.miniature))

    def with_measured_blocks(self, table: YcsbTable, miniature: ScaledPlan, family: TableFamily) -> Experiment:
        """Return the same with another table, filled, and with predictions from the blocks of its store files."""
        blocks = self.bench.table(table, family)
        lengths = blocks.compressed_lengths if miniature.workload.compressed else blocks.lengths
        return replace(self, table=table, miniature=miniature.with_measured_blocks(lengths))

    def scaled(self, data_bytes: float | None = None, **changes: object) -> ScaledPlan:
        """Return the scaled plan of the workload with these changes and with this many bytes of data."""
        small = Small(
            memory_bytes=self.miniature.heap_mib * MIB,
            data_bytes=round(self.miniature.workload.stored_bytes if data_bytes is None else data_bytes),
        )
        demand = miniature_demand(replace(self.miniature.workload, **changes), self.release, small)
        return replace(self.miniature, workload=demand.blocks.workload, demand=demand)

    def volume(self, name: str, size_bytes: int) -> LimitedVolume:
        """Return a volume that can be limited, to be mounted as a directory of the lab's volumes."""
        place = self.bench.cluster.place
        return LimitedVolume(directory=place.root / "images", mount_point=place.volumes / name, size_bytes=size_bytes)

    def load(self, **changes: object) -> YcsbLoad:
        """Return a load of a few clients that read for one window."""
        return replace(YcsbLoad(seconds=self.seconds, threads=CLIENTS, seed=self.seed), **changes)

    def quick(self, seconds: float, **changes: object) -> YcsbLoad:
        """Return a load of many clients, which brings the cache to a steady state quickly."""
        return self.load(seconds=seconds, threads=MANY_CLIENTS, seed=self.seed + 1000, **changes)


def family_of(table: YcsbTable, miniature: ScaledPlan) -> TableFamily:
    """Return the column family that stores a table as the scaled workload says."""
    workload = miniature.workload
    return TableFamily(
        name=table.family,
        compression=workload.codec.upper(),
        block_bytes=workload.block_bytes,
        encoding=workload.encoding,
    )


SAME: Final = MeasurementTarget(kind=TargetKind.SAME)
"""The target that the measured figure equals the prediction."""


def at_least(bound: float) -> MeasurementTarget:
    """Return a target that the measured figure must reach."""
    return MeasurementTarget(kind=TargetKind.AT_LEAST, bound=bound)


def at_most(bound: float) -> MeasurementTarget:
    """Return a target that the measured figure must not exceed."""
    return MeasurementTarget(kind=TargetKind.AT_MOST, bound=bound)


def within(fraction: float) -> MeasurementTarget:
    """Return a target that allows this relative difference from the prediction."""
    return MeasurementTarget(kind=TargetKind.WITHIN_FRACTION, bound=fraction)


def within_difference(bound: float) -> MeasurementTarget:
    """Return a target that allows this absolute difference from the prediction."""
    return MeasurementTarget(kind=TargetKind.WITHIN_DIFFERENCE, bound=bound)


def within_factor(bound: float) -> MeasurementTarget:
    """Return a target that allows up to this multiple of the prediction, or down to its reciprocal."""
    return MeasurementTarget(kind=TargetKind.WITHIN_FACTOR, bound=bound)


def performance_figures(case: str, window: Window, why: str) -> tuple[Measurement, ...]:
    """Return the clients' throughput and latencies, and the idle share of the cores."""
    measured, idle = window.measured, window.idle
    figure, by_clients = partial(Measurement, case=case), "as measured by YCSB's clients"
    unit = "reads/s" if window.load.reads == 1 else "operations/s"
    figures = [
        figure(name="throughput", unit=unit, measured=measured.operations_per_second, because=why),
        figure(name="mean latency", unit="ms", measured=measured.mean_ms, because=by_clients),
    ]
    if (tail := measured.percentiles_ms.get("99")) is not None:
        figures.append(figure(name="p99 latency", unit="ms", measured=tail, because=by_clients))
    if idle is not None:
        share = "share of all cores while the load ran"
        busy = "this machine's cores, shared with the clients and the S3 server, are the bottleneck"
        because = f"{share}; they are not the bottleneck" if idle >= LEAST_IDLE else f"{share}: {busy}"
        figures.append(figure(name="idle cores", measured=idle, because=because))
    return tuple(figures)


def over_time(title: str, y: str, lines: Iterable[tuple[str, Sequence[tuple[float, float]]]]) -> Chart:
    """Return a chart over seconds."""
    return Chart(
        title=title, x="seconds", y=y, series=tuple(Series(name=name, points=tuple(points)) for name, points in lines)
    )


def hit_ratios(samples: Sequence[Sample], step: int = 4) -> list[tuple[float, float]]:
    """Return the hit ratio between samples `step` apart, by the later one's time; gaps without a read are left out."""
    points = []
    for before, after in zip(samples, samples[step:], strict=False):
        hits = after.cache.l2_hits - before.cache.l2_hits
        misses = after.cache.l2_misses - before.cache.l2_misses
        if hits + misses > 0:
            points.append((after.seconds, hit_ratio(hits, misses)))
    return points


def gets_per_second(samples: Sequence[Sample], step: int = 4) -> list[tuple[float, float]]:
    """Return the store-file GETs per second between samples `step` apart."""
    return [
        (after.seconds, (after.store.store_file_gets - before.store.store_file_gets) / (after.seconds - before.seconds))
        for before, after in zip(samples, samples[step:], strict=False)
    ]


def fill(samples: Sequence[Sample], blocks: float) -> list[tuple[float, float]]:
    """Return the share of so many blocks that is cached, over time."""
    return [(sample.seconds, sample.cache.l2_blocks / blocks) for sample in samples]
