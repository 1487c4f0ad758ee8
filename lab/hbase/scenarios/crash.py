"""One of three RegionServers dies and does not return: how long its regions are offline.

Probes show when each region of a table answers, from one read per region and interval by the admin process.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from statistics import median
from typing import Any, Final

from msgspec import Struct, field

from lab.hbase.admin import Admin
from lab.hbase.cluster import LabServer
from lab.hbase.configuration import Overlay, varied
from lab.hbase.control import prefetch
from lab.hbase.experiment import Experiment, ScenarioResult, over_time
from lab.hbase.result import Measurement, MeasurementTarget, Outage, TargetKind
from lab.hbase.store import Settings
from lab.prediction import Crash, offline_seconds
from warmbase.sizing.server.restart import RestartLoad, restart

INTERVAL_SECONDS: Final = 0.5


class Probes(Struct, kw_only=True):
    """The probing of one table, which knows its outages and its length once it has ended."""

    case: str
    outages: tuple[Outage, ...] = ()
    regions: Mapping[str, int] = field(default_factory=dict)
    """The server's number of each region when probing began."""
    seconds: float = 0.0

    def of_server(self, number: int) -> tuple[Outage, ...]:
        """Return the outages of the regions that were on this RegionServer."""
        return tuple(outage for outage in self.outages if outage.server == number)


@contextmanager
def probed(admin: Admin, table: str, case: str, ports: Iterable[int]) -> Iterator[Probes]:
    """Probe every region of the table within the block; `ports` are those of the RegionServers, by number."""
    probes, numbers = Probes(case=case), {str(port): number for number, port in enumerate(ports)}
    admin.probe(table, INTERVAL_SECONDS)
    try:
        yield probes
    finally:
        answer = admin.probed()
        probes.seconds = float(answer["seconds"])
        probes.regions = {region["region"]: _number(region, numbers) for region in answer["regions"]}
        probes.outages = tuple(
            Outage(
                case=case,
                region=region["region"],
                server=probes.regions[region["region"]],
                begin_seconds=begin,
                seconds=None if end is None else end - begin,
            )
            for region in answer["regions"]
            for begin, end in region["outages"]
        )


def offline_regions(outages: Iterable[Outage], until_seconds: float) -> tuple[tuple[float, float], ...]:
    """Return the number of regions that do not answer, over time, with a point before and after each change."""
    changes: list[tuple[float, int]] = []
    for outage in outages:
        changes.append((outage.begin_seconds, 1))
        if outage.seconds is not None:
            changes.append((outage.begin_seconds + outage.seconds, -1))
    points, offline = [(0.0, 0.0)], 0
    for at, change in sorted(changes):
        points.append((at, float(offline)))
        offline += change
        points.append((at, float(offline)))
    return (*points, (until_seconds, float(offline)))


def _number(region: Mapping[str, Any], numbers: Mapping[str, int]) -> int:
    """Return the number of the server `host,port,start` that has the region."""
    return numbers[region["server"].split(",")[1]]


TITLE: Final = "One of three RegionServers dies"
QUESTION: Final = "If a RegionServer dies and does not return, how long are its regions offline?"
SERVERS: Final = 3
META: Final = "hbase:meta"
QUIET_SECONDS: Final = 5.0
WRITING_SECONDS: Final = 10.0
WRITES: Final = 200.0
"""Writes a second, so that there is a log to split."""
FACTOR: Final = 1.3
PATIENCE: Final = 3.0
"""The scenario waits for this many times the predicted outage before it gives up."""
RETAIN: Final = "hbase.master.scp.retain.assignment"
NOT_RETAINED: Final = varied({RETAIN: "false", f"{RETAIN}.force": "false"}, "without retention, for comparison")


class CrashCase(Struct, frozen=True, kw_only=True):
    """One crash: the master's settings for the dead server's regions, and whether that server has hbase:meta."""

    name: str
    master: Overlay
    retries: int | None
    has_meta: bool = False


def run(lab: Experiment) -> ScenarioResult:
    """Return the outages of each case, in which one of three warm servers is killed while the balancer is off."""
    lab = lab.filled()
    homes = warm_homes(lab)
    results = [_crash(lab, case, homes) for case in crash_cases(lab)]
    _return(lab, homes)
    lab.bench.cluster.restart_master()
    return ScenarioResult(
        figures=tuple(figure for result in results for figure in result.figures),
        charts=tuple(chart for result in results for chart in result.charts),
        outages=tuple(outage for result in results for outage in result.outages),
        limits=(
            "The session time-out and the retries are the lab's; the rules that add them up are the plan's.",
            "The log that is split holds a few seconds of writes; the log of a busy server holds gigabytes.",
        ),
    )


def warm_homes(lab: Experiment) -> dict[str, str]:
    """Fill the caches of all servers, switch the balancer off, and return the server of each region."""
    prefetch(lab)
    lab.bench.admin.switch_balancer(on=False)
    return {region: address(server) for region, server in lab.bench.admin.regions(lab.table.name).items()}


def crash_cases(lab: Experiment) -> tuple[CrashCase, ...]:
    """Return the cases; the retries are those that the plan's rule gives for a restart in the lab."""
    retries = _restart(lab)
    window = varied({f"{RETAIN}.force.retries": str(retries)}, "the plan's rule for a restart at the lab's scale")
    return (
        CrashCase(name="regions wait for their server", master=window, retries=retries),
        CrashCase(name="regions wait, and the server had hbase:meta", master=window, retries=retries, has_meta=True),
        CrashCase(name="regions are assigned at once", master=NOT_RETAINED, retries=None),
    )


def _restart(lab: Experiment) -> int:
    miniature = lab.miniature
    return restart(
        RestartLoad(
            heap_bytes=miniature.heap_mib << 20,
            cached_blocks=round(miniature.demand.blocks.count / miniature.servers),
            regions=miniature.regions // miniature.servers,
            open_region_threads=lab.bench.cluster.launch.plan.open_region_threads,
            s3_trip_seconds=lab.bench.latency.latency_ms / 1000,
            pre_touch=True,
            restores_in_background=False,
        )
    ).retain_retries


def _crash(lab: Experiment, case: CrashCase, homes: Mapping[str, str]) -> ScenarioResult:
    bench, cluster = lab.bench, lab.bench.cluster
    _return(lab, homes)
    cluster.restart_master(case.master)
    number = victim(lab, has_meta=case.has_meta)
    bench.ycsb.run(lab.table, lab.load(seconds=WRITING_SECONDS, reads=0.0, updates=1.0, target_per_second=WRITES))
    phases = offline_seconds(crash_of(lab, case))
    predicted = sum(seconds for _, seconds in phases)
    bench.store.set(bench.latency)
    with probed(bench.admin, lab.table.name, case.name, cluster.place.ports.servers) as probes:
        time.sleep(QUIET_SECONDS)
        cluster.kill_server(number)
        bench.admin.await_regions(lab.table.name, seconds=PATIENCE * predicted)
        time.sleep(QUIET_SECONDS)
    figures = _figures(case, probes, number, phases)
    bench.say(f"  {case.name}: {figures[0].measured:.1f} s offline, {predicted:.1f} s predicted")
    offline = offline_regions(probes.outages, probes.seconds)
    return ScenarioResult(
        figures=figures,
        charts=(over_time(f"Regions offline: {case.name}", "regions", [("measured", offline)]),),
        outages=probes.outages,
    )


def _return(lab: Experiment, homes: Mapping[str, str]) -> None:
    """Start the dead server, move its regions back, and reopen them there.

    The master waits for the server on which a region was last closed, and a move closes it on the other server.
    """
    bench, cluster = lab.bench, lab.bench.cluster
    bench.store.set(Settings())
    for number in cluster.numbers:
        if not cluster.running[f"server-{number}"].is_alive:
            cluster.start_server(LabServer(number=number))
    places = bench.admin.regions(lab.table.name)
    away = [region for region, server in places.items() if address(server) != homes[region]]
    for region in away:
        bench.admin.move(region, homes[region])
    if away:
        bench.admin.reopen(lab.table.name)


def victim(lab: Experiment, *, has_meta: bool) -> int:
    """Return the number of the server that has hbase:meta, or of one that does not."""
    bench = lab.bench
    [server] = bench.admin.regions(META).values()
    host = bench.cluster.number_of(server)
    return host if has_meta else next(number for number in bench.cluster.numbers if number != host)


def crash_of(lab: Experiment, case: CrashCase) -> Crash:
    """Return the settings and quantities that decide how long the case's regions are offline."""
    site, miniature = lab.bench.cluster.site(LabServer()).properties, lab.miniature
    return Crash(
        session_seconds=int(site["zookeeper.session.timeout"]) / 1000,
        retries=case.retries,
        regions=miniature.regions / miniature.servers / (miniature.servers - 1),
        open_region_threads=lab.bench.cluster.launch.plan.open_region_threads,
        s3_trip_seconds=lab.bench.latency.latency_ms / 1000,
        has_meta=case.has_meta,
    )


def _figures(
    case: CrashCase, probes: Probes, victim: int, phases: Sequence[tuple[str, float]]
) -> tuple[Measurement, ...]:
    figure = partial(Measurement, case=case.name)
    offline = [outage.seconds or probes.seconds for outage in probes.of_server(victim)]
    others = {outage.region for outage in probes.outages if outage.server != victim}
    return (
        figure(
            name="seconds offline",
            unit="s",
            measured=median(offline),
            predicted=sum(seconds for _, seconds in phases),
            because="the median of its regions, each read twice a second; the prediction is "
            + ", ".join(f"{seconds:.1f} s until {what}" for what, seconds in phases),
            target=MeasurementTarget(kind=TargetKind.WITHIN_FACTOR, bound=FACTOR),
        ),
        figure(
            name="seconds offline, longest",
            unit="s",
            measured=max(offline),
            because="the last of its regions to answer",
        ),
        figure(
            name="regions offline",
            unit="",
            measured=float(len(offline)),
            predicted=float(sum(number == victim for number in probes.regions.values())),
            because="all of the dead server's regions",
            target=MeasurementTarget(kind=TargetKind.SAME),
        ),
        figure(
            name="regions of other servers that failed a read",
            unit="",
            measured=float(len(others)),
            because="their servers are alive",
        ),
    )


def address(server: str) -> str:
    """Return host and port of a server named `host,port,start`."""
    return server.rpartition(",")[0]
