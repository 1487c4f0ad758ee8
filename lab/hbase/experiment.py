"""What every scenario shares: the bench, the table it reads, how long it looks, and how its findings are written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from lab.hbase.admin import TableFamily
from lab.hbase.bench import Bench, Window
from lab.hbase.jmx import hit_ratio
from lab.hbase.recording import Recording, Sample
from lab.hbase.result import Chart, Measurement, MeasurementTarget, Series, TargetKind
from lab.hbase.ycsb import YcsbLoad, YcsbTable
from lab.model.scaled_plan import CLIENTS, ScaledPlan
from sizing.release import Release

__all__ = ["VOLUME_MIB_S", "Experiment", "ScenarioResult", "at_least", "at_most", "family_of", "over_time", "within"]

LEAST_IDLE: Final = 0.2
"""With less of the cores idle it is the cores that are measured."""
VOLUME_MIB_S: Final = 40
"""Of a gp3 as it is sold: some 600 blocks a second, where two cores read 2,500 from memory."""
MANY_CLIENTS: Final = 16
"""Where misses are to be made quickly and nothing is timed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioResult:
    """What a scenario found, and what it does not show."""

    figures: tuple[Measurement, ...]
    charts: tuple[Chart, ...] = ()
    limits: tuple[str, ...] = ()
    recorded: tuple[Recording, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One scenario's means. `seconds` is how long a window is, `cores` those of this machine."""

    bench: Bench
    release: Release
    miniature: ScaledPlan
    table: YcsbTable
    seconds: float
    cores: int
    seed: int = 1
    volume_mib_s: int = VOLUME_MIB_S
    """What a gp3 at its default throughput is limited to."""

    def filled(self) -> Experiment:
        """The same with the table filled, and with predictions from the blocks that its store files hold."""
        return self.with_measured_blocks(self.table, self.miniature, self.family)

    def with_measured_blocks(self, table: YcsbTable, miniature: ScaledPlan, family: TableFamily) -> Experiment:
        """The same with another table, filled, and with what its store files hold of that miniature's blocks."""
        blocks = self.bench.table(table, family)
        lengths = blocks.compressed_lengths if miniature.workload.compressed else blocks.lengths
        return replace(self, table=table, miniature=miniature.with_measured_blocks(lengths))

    @property
    def family(self) -> TableFamily:
        """How the table's column family is stored."""
        return family_of(self.table, self.miniature)

    def load(self, **changes: object) -> YcsbLoad:
        """Reads by a few clients for one window."""
        return replace(YcsbLoad(seconds=self.seconds, threads=CLIENTS, seed=self.seed), **changes)  # type: ignore[arg-type]

    def quick(self, seconds: float, **changes: object) -> YcsbLoad:
        """Reads by many clients, to bring the cache to where it is to be."""
        return self.load(seconds=seconds, threads=MANY_CLIENTS, seed=self.seed + 1000, **changes)


def family_of(table: YcsbTable, miniature: ScaledPlan) -> TableFamily:
    """The column family of a table that is stored as the miniature's workload says."""
    workload = miniature.workload
    return TableFamily(
        name=table.family,
        compression=workload.codec.upper(),
        block_bytes=workload.block_bytes,
        encoding=workload.encoding,
    )


def at_least(bound: float) -> MeasurementTarget:
    """The measured figure is no less."""
    return MeasurementTarget(kind=TargetKind.AT_LEAST, bound=bound)


def at_most(bound: float) -> MeasurementTarget:
    """The measured figure is no more."""
    return MeasurementTarget(kind=TargetKind.AT_MOST, bound=bound)


def within(fraction: float) -> MeasurementTarget:
    """It is within that share of the prediction."""
    return MeasurementTarget(kind=TargetKind.WITHIN_FRACTION, bound=fraction)


def performance_figures(case: str, window: Window, why: str) -> tuple[Measurement, ...]:
    """Return what clients saw, and how idle the cores were."""
    measured = window.measured
    unit = "reads/s" if window.load.reads == 1 else "operations/s"
    found = [
        Measurement(case=case, name="throughput", unit=unit, measured=measured.operations_per_second, because=why),
        Measurement(
            case=case, name="mean latency", unit="ms", measured=measured.mean_ms, because="as YCSB's clients saw it"
        ),
    ]
    if (tail := measured.percentiles_ms.get("99")) is not None:
        found.append(
            Measurement(case=case, name="p99 latency", unit="ms", measured=tail, because="as YCSB's clients saw it")
        )
    if window.idle is not None:
        found.append(
            Measurement(case=case, name="idle cores", unit="", measured=window.idle, because=_idle(window.idle))
        )
    return tuple(found)


def _idle(fraction: float) -> str:
    if fraction >= LEAST_IDLE:
        return "of all cores, while it ran; not bound by them"
    return "of all cores, while it ran: bound by this machine's cores, which the clients and the S3 server share"


def over_time(title: str, y: str, lines: Iterable[tuple[str, Sequence[tuple[float, float]]]]) -> Chart:
    """Return a chart over seconds."""
    return Chart(
        title=title, x="seconds", y=y, series=tuple(Series(name=name, points=tuple(points)) for name, points in lines)
    )


def hit_ratios(samples: Sequence[Sample], step: int = 4) -> list[tuple[float, float]]:
    """Hit ratio between samples `step` apart, by the later one's time; gaps without a read are left out."""
    points = []
    for before, after in zip(samples, samples[step:], strict=False):
        hits = after.cache.l2_hits - before.cache.l2_hits
        misses = after.cache.l2_misses - before.cache.l2_misses
        if hits + misses > 0:
            points.append((after.seconds, hit_ratio(hits, misses)))
    return points


def gets_per_second(samples: Sequence[Sample], step: int = 4) -> list[tuple[float, float]]:
    """GETs of store files a second between samples `step` apart."""
    return [
        (after.seconds, (after.store.store_file_gets - before.store.store_file_gets) / (after.seconds - before.seconds))
        for before, after in zip(samples, samples[step:], strict=False)
    ]


def fill(samples: Sequence[Sample], blocks: float) -> list[tuple[float, float]]:
    """Share of so many blocks that are cached."""
    return [(sample.seconds, sample.cache.l2_blocks / blocks) for sample in samples]
