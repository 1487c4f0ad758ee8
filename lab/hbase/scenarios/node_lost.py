"""A node dies under load, and an empty one replaces it: the rows lost, the time they are offline, and the GETs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from statistics import median
from typing import Final

from msgspec import Struct

from lab.hbase.cluster import LabServer
from lab.hbase.configuration import varied
from lab.hbase.control import PREFETCHED_SECONDS
from lab.hbase.experiment import Experiment, ScenarioResult, over_time
from lab.hbase.result import Chart, Measurement, MeasurementTarget, TargetKind
from lab.hbase.scenarios.crash import (
    FACTOR,
    RETAIN,
    CrashCase,
    Probes,
    address,
    crash_cases,
    crash_of,
    offline_regions,
    probed,
    victim,
    warm_homes,
)
from lab.hbase.store import Settings
from lab.prediction import offline_seconds

TITLE: Final = "A node that is lost"
QUESTION: Final = "If a node dies under load and EMR replaces it, which rows are lost, and what does that cost?"
SERVERS: Final = 3
READS_PER_SECOND: Final = 80.0  # judgement: two cores serve this beside regions that open
THREADS: Final = 16
LOAD_SECONDS: Final = 3600.0  # longer than any case takes; the load ends with it
WRITE_INTERVAL_SECONDS: Final = 0.1
WRITING_SECONDS: Final = {False: 20.0, True: 10.0}
"""The seconds of writes before the crash, so that the server has a log to be split."""
PATIENCE: Final = 5.0
"""The scenario waits for this many times the predicted outage before it gives up."""
DEFAULT: Final = "regions wait as long as HBase's default says"
# AssignmentManager of HBase 2.6: the first wait is 50 ms, and each is twice as long as the one before.
DEFAULT_WAIT: Final = varied({f"{RETAIN}.force.retries": "600"}, "HBase's default, for comparison")
OBSERVED: Final = 3.0
"""The default wait has no useful end, so it is observed for this many times the outage that the plan predicts."""
WAKING_SECONDS: Final = 900.0


class LostServer(Struct, frozen=True, kw_only=True):
    """One loss, as it was recorded, with the GETs of all servers before and after an empty one replaces the lost."""

    case: CrashCase
    number: int
    probes: Probes
    phases: tuple[tuple[str, float], ...]
    acknowledged: int
    lost: int
    survivors_gets: int
    replacement_gets: int
    replacement_seconds: float

    @property
    def offline(self) -> list[float]:
        """Return how long each region of the server was offline."""
        return [outage.seconds or self.probes.seconds for outage in self.probes.of_server(self.number)]


class DefaultWait(Struct, frozen=True, kw_only=True):
    """A loss for which the master waits as long as HBase's default says, until the server returns under its name."""

    number: int
    probes: Probes
    observed_seconds: float
    open_seconds: float
    """The time from the start of the server that returns until its regions are open."""
    acknowledged: int
    lost: int


def run(lab: Experiment) -> ScenarioResult:
    """Lose a server in each case of the scenario `crash`, under reads and writes, and replace it by an empty one.

    Finally, lose a server for which the master waits as long as HBase's default says.
    """
    lab = lab.filled()
    homes = warm_homes(lab)
    losses = [_loss(lab, case, homes) for case in crash_cases(lab)]
    waited = _default_wait(lab, OBSERVED * sum(seconds for _, seconds in losses[0].phases))
    lab.bench.cluster.restart_master()
    return ScenarioResult(
        figures=(*(figure for loss in losses for figure in _figures(lab, loss)), *_default_figures(waited)),
        charts=(*(_chart(loss.case.name, loss.probes) for loss in losses), _chart(DEFAULT, waited.probes)),
        outages=tuple(
            outage for probes in (*(loss.probes for loss in losses), waited.probes) for outage in probes.outages
        ),
        limits=(
            "The new server has the name of the lost one, and starts once the rows are online elsewhere.",
            "The three servers share the cores of one machine, so regions open more slowly than on a cluster.",
            "The session time-out and the retries are the lab's; the rules that add them up are the plan's.",
        ),
    )


def _loss(lab: Experiment, case: CrashCase, homes: Mapping[str, str]) -> LostServer:
    bench, cluster = lab.bench, lab.bench.cluster
    cluster.restart_master(case.master)
    number, phases = victim(lab, has_meta=case.has_meta), offline_seconds(crash_of(lab, case))
    bench.store.set(bench.latency)
    load = lab.load(seconds=LOAD_SECONDS, threads=THREADS, target_per_second=READS_PER_SECOND)
    with bench.ycsb.steady(lab.table, load, {}):
        with probed(bench.admin, lab.table.name, case.name, cluster.place.ports.servers) as probes:
            bench.admin.write(lab.table.name, lab.table.family, WRITE_INTERVAL_SECONDS)
            time.sleep(WRITING_SECONDS[lab.short])
            before = bench.store.counters().store_file_gets
            cluster.kill_server(number)
            bench.admin.await_regions(lab.table.name, seconds=PATIENCE * sum(seconds for _, seconds in phases))
            acknowledged, lost = bench.admin.written()
        survivors_gets = bench.store.counters().store_file_gets - before
        bench.say(f"  {case.name}: {lost} of {acknowledged:,} acknowledged rows lost")
        replacement_gets, seconds = _replace(lab, number, homes)
    return LostServer(
        case=case,
        number=number,
        probes=probes,
        phases=phases,
        acknowledged=acknowledged,
        lost=lost,
        survivors_gets=survivors_gets,
        replacement_gets=replacement_gets,
        replacement_seconds=seconds,
    )


def _default_wait(lab: Experiment, seconds: float) -> DefaultWait:
    """Kill a server under writes, observe its regions for so long, and let an empty server return under its name."""
    bench, cluster = lab.bench, lab.bench.cluster
    cluster.restart_master(DEFAULT_WAIT)
    number = victim(lab, has_meta=False)
    with probed(bench.admin, lab.table.name, DEFAULT, cluster.place.ports.servers) as probes:
        bench.admin.write(lab.table.name, lab.table.family, WRITE_INTERVAL_SECONDS)
        time.sleep(WRITING_SECONDS[lab.short])
        cluster.kill_server(number)
        time.sleep(seconds)
    cluster.clear_cache(number)
    began = time.monotonic()
    cluster.start_server(LabServer(number=number))
    bench.admin.await_regions(lab.table.name, seconds=WAKING_SECONDS)
    open_seconds = time.monotonic() - began
    acknowledged, lost = bench.admin.written()
    return DefaultWait(
        number=number,
        probes=probes,
        observed_seconds=seconds,
        open_seconds=open_seconds,
        acknowledged=acknowledged,
        lost=lost,
    )


def _replace(lab: Experiment, number: int, homes: Mapping[str, str]) -> tuple[int, float]:
    """Start an empty server, move the regions there, and return the GETs and seconds until its cache stops growing."""
    bench, cluster = lab.bench, lab.bench.cluster
    cluster.clear_cache(number)
    cluster.start_server(LabServer(number=number))
    before, began = bench.store.counters().store_file_gets, time.monotonic()
    for region, server in bench.admin.regions(lab.table.name).items():
        if address(server) != homes[region]:
            bench.admin.move(region, homes[region])
    bench.wait_until_still(PREFETCHED_SECONDS)
    gets, seconds = bench.store.counters().store_file_gets - before, time.monotonic() - began
    # The master waits for the server on which a region was last closed, and a move closes it on the other server.
    bench.store.set(Settings())
    bench.admin.reopen(lab.table.name)
    bench.await_regions()
    return gets, seconds


def _figures(lab: Experiment, loss: LostServer) -> tuple[Measurement, ...]:
    figure, blocks = partial(Measurement, case=loss.case.name), lab.miniature.demand.blocks.count
    return (
        figure(
            name="seconds offline",
            unit="s",
            measured=median(loss.offline),
            predicted=sum(seconds for _, seconds in loss.phases),
            because="the median of its regions, each read twice a second; the prediction is "
            + ", ".join(f"{seconds:.1f} s until {what}" for what, seconds in loss.phases),
            target=MeasurementTarget(kind=TargetKind.WITHIN_FACTOR, bound=FACTOR),
        ),
        _rows_lost(loss.case.name, loss.acknowledged, loss.lost),
        figure(
            name="GETs of store files while it was offline",
            unit="",
            measured=float(loss.survivors_gets),
            because="the survivors open its regions and begin to prefetch them; counted in front of S3",
        ),
        figure(
            name="GETs of store files from the replacement's start until all caches are warm",
            unit="",
            measured=float(loss.replacement_gets),
            because=f"of all servers: the replacement prefetches its share of {blocks / lab.miniature.servers:,.0f}"
            " blocks, and the others read again what they evicted for the lost server's regions",
        ),
        figure(
            name="seconds until the replacement is warm",
            unit="s",
            measured=loss.replacement_seconds,
            because="from its start until no server caches another block; all processes share the cores of one machine",
        ),
    )


def _default_figures(waited: DefaultWait) -> tuple[Measurement, ...]:
    figure = partial(Measurement, case=DEFAULT)
    outages = waited.probes.of_server(waited.number)
    return (
        figure(
            name="regions still offline at the end",
            unit="",
            measured=float(sum(outage.seconds is None for outage in outages)),
            predicted=float(sum(number == waited.number for number in waited.probes.regions.values())),
            because=f"{waited.observed_seconds:.0f} s after the loss; the master doubles its wait 600 times",
            target=MeasurementTarget(kind=TargetKind.SAME),
        ),
        figure(
            name="seconds until they are open after the server returns",
            unit="s",
            measured=waited.open_seconds,
            because="an empty server starts under the lost one's name, and the master first ends its current sleep",
        ),
        _rows_lost(DEFAULT, waited.acknowledged, waited.lost),
    )


def _rows_lost(case: str, acknowledged: int, lost: int) -> Measurement:
    return Measurement(
        case=case,
        name="acknowledged rows lost",
        unit="",
        measured=float(lost),
        predicted=0.0,
        because=f"of {acknowledged:,} new rows that HBase acknowledged before, during and after the outage",
        target=MeasurementTarget(kind=TargetKind.SAME),
    )


def _chart(case: str, probes: Probes) -> Chart:
    offline = offline_regions(probes.outages, probes.seconds)
    return over_time(f"Regions offline, under load: {case}", "regions", [("measured", offline)])
