"""One of three RegionServers dies: how long its regions are offline.

In the first scenario it does not return. In the second, a node dies under load and an empty one replaces it; the result
has the lost rows and the GETs. Probes show when each region of a table answers: the admin process reads from each
region once per interval.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from statistics import median
from typing import Final

from msgspec import Struct, field

from lab.hbase.admin import Admin
from lab.hbase.cluster import LabServer
from lab.hbase.configuration import Overlay, varied
from lab.hbase.control import LOAD_SECONDS, READS_PER_SECOND, THREADS, prefetch
from lab.hbase.experiment import SAME, Experiment, ScenarioResult, over_time, within_factor
from lab.hbase.result import Chart, Measurement, Outage
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
        probes.regions = {region["region"]: numbers[region["server"].split(",")[1]] for region in answer["regions"]}
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
    phases: tuple[tuple[str, float], ...]
    """The predicted seconds of each phase of the outage, with what ends it."""
    has_meta: bool = False

    @property
    def predicted(self) -> float:
        """Return the predicted seconds for which its regions are offline."""
        return sum(seconds for _, seconds in self.phases)


def run(lab: Experiment) -> ScenarioResult:
    """Return the outages of each case, in which one of three warm servers is killed while the balancer is off."""
    lab = lab.filled()
    homes = _warm_homes(lab)
    results = [_crash(lab, case, homes) for case in _cases(lab)]
    _return(lab, homes)
    lab.bench.cluster.restart_master()
    return ScenarioResult.joined(
        results,
        (
            "The session time-out and the retries are the lab's; the rules that add them up are the plan's.",
            "The log that is split holds a few seconds of writes; the log of a busy server holds gigabytes.",
        ),
    )


def _warm_homes(lab: Experiment) -> dict[str, str]:
    """Fill the caches of all servers, switch the balancer off, and return the server of each region."""
    prefetch(lab)
    lab.bench.admin.switch_balancer(on=False)
    return {region: _address(server) for region, server in lab.bench.admin.regions(lab.table.name).items()}


def _address(server: str) -> str:
    """Return host and port of a server named `host,port,start`."""
    return server.rpartition(",")[0]


def _cases(lab: Experiment) -> tuple[CrashCase, ...]:
    """Return the cases; the retries are those that the plan's rule gives for a restart in the lab."""
    miniature, cluster = lab.miniature, lab.bench.cluster
    threads, trip_seconds = cluster.launch.plan.open_region_threads, lab.bench.latency.latency_ms / 1000
    retries = restart(
        RestartLoad(
            heap_bytes=miniature.heap_mib << 20,
            cached_blocks=round(miniature.demand.blocks.count / miniature.servers),
            regions=miniature.regions // miniature.servers,
            open_region_threads=threads,
            s3_trip_seconds=trip_seconds,
            pre_touch=True,
            restores_in_background=False,
        )
    ).retain_retries
    window = varied({f"{RETAIN}.force.retries": str(retries)}, "the plan's rule for a restart at the lab's scale")

    def case(name: str, master: Overlay, retries: int | None, *, has_meta: bool = False) -> CrashCase:
        crash = Crash(
            session_seconds=int(cluster.site(LabServer()).properties["zookeeper.session.timeout"]) / 1000,
            retries=retries,
            regions=miniature.regions / miniature.servers / (miniature.servers - 1),
            open_region_threads=threads,
            s3_trip_seconds=trip_seconds,
            has_meta=has_meta,
        )
        return CrashCase(name=name, master=master, phases=offline_seconds(crash), has_meta=has_meta)

    return (
        case("regions wait for their server", window, retries),
        case("regions wait, and the server had hbase:meta", window, retries, has_meta=True),
        case("regions are assigned at once", NOT_RETAINED, None),
    )


def victim(lab: Experiment, *, has_meta: bool) -> int:
    """Return the number of the server that has hbase:meta, or of one that does not."""
    bench = lab.bench
    [server] = bench.admin.regions(META).values()
    host = bench.cluster.number_of(server)
    return host if has_meta else next(number for number in bench.cluster.numbers if number != host)


def _crash(lab: Experiment, case: CrashCase, homes: Mapping[str, str]) -> ScenarioResult:
    bench, cluster = lab.bench, lab.bench.cluster
    _return(lab, homes)
    cluster.restart_master(case.master)
    number = victim(lab, has_meta=case.has_meta)
    bench.ycsb.run(lab.table, lab.load(seconds=WRITING_SECONDS, reads=0.0, updates=1.0, target_per_second=WRITES))
    bench.store.set(bench.latency)
    with probed(bench.admin, lab.table.name, case.name, cluster.place.ports.servers) as probes:
        time.sleep(QUIET_SECONDS)
        cluster.kill_server(number)
        bench.admin.await_regions(lab.table.name, seconds=PATIENCE * case.predicted)
        time.sleep(QUIET_SECONDS)
    seconds_offline, offline = _offline(case, probes, number)
    bench.say(f"  {case.name}: {seconds_offline.measured:.1f} s offline, {case.predicted:.1f} s predicted")
    others = {outage.region for outage in probes.outages if outage.server != number}
    figure = partial(Measurement, case=case.name)
    return ScenarioResult(
        figures=(
            seconds_offline,
            figure(
                name="seconds offline, longest",
                unit="s",
                measured=max(offline),
                because="the last of its regions to answer",
            ),
            figure(
                name="regions offline",
                measured=float(len(offline)),
                predicted=float(sum(server == number for server in probes.regions.values())),
                because="all of the dead server's regions",
                target=SAME,
            ),
            figure(
                name="regions of other servers that failed a read",
                measured=float(len(others)),
                because="their servers are alive",
            ),
        ),
        charts=(_chart(f"Regions offline: {case.name}", probes),),
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
    if _move_home(lab, homes):
        bench.admin.reopen(lab.table.name)


def _move_home(lab: Experiment, homes: Mapping[str, str]) -> bool:
    """Move the regions that are elsewhere; return whether there were any."""
    admin = lab.bench.admin
    away = [name for name, server in admin.regions(lab.table.name).items() if _address(server) != homes[name]]
    for region in away:
        admin.move(region, homes[region])
    return bool(away)


def _offline(case: CrashCase, probes: Probes, victim: int) -> tuple[Measurement, Sequence[float]]:
    """Return the figure of the time offline, and the seconds offline of each region of the server that died."""
    offline = [outage.seconds or probes.seconds for outage in probes.of_server(victim)]
    figure = Measurement(
        case=case.name,
        name="seconds offline",
        unit="s",
        measured=median(offline),
        predicted=case.predicted,
        because="the median of its regions, each read twice a second; the prediction is "
        + ", ".join(f"{seconds:.1f} s until {what}" for what, seconds in case.phases),
        target=within_factor(FACTOR),
    )
    return figure, offline


def _chart(title: str, probes: Probes) -> Chart:
    return over_time(title, "regions", [("measured", offline_regions(probes.outages, probes.seconds))])


NODE_LOST_TITLE: Final = "A node that is lost"
NODE_LOST_QUESTION: Final = (
    "If a node dies under load and EMR replaces it, which rows are lost, and what does that cost?"
)
NODE_LOST_SERVERS: Final = 3
WRITE_INTERVAL_SECONDS: Final = 0.1
WRITES_SECONDS: Final = {False: 20.0, True: 10.0}
"""The seconds of writes before a node is lost, which leave a log to be split; fewer in the short form."""
LOADED_PATIENCE: Final = 5.0
"""Under load, the scenario waits for this many times the predicted outage before it gives up."""
DEFAULT: Final = "regions wait as long as HBase's default says"
# AssignmentManager of HBase 2.6: the first wait is 50 ms, and each is twice as long as the one before.
DEFAULT_WAIT: Final = varied({f"{RETAIN}.force.retries": "600"}, "HBase's default, for comparison")
OBSERVED: Final = 3.0
"""The default wait has no useful end, so it is observed for this many times the outage that the plan predicts."""
WAKING_SECONDS: Final = 900.0


def run_node_lost(lab: Experiment) -> ScenarioResult:
    """Lose a server in each case of the scenario `crash`, under reads and writes, and replace it by an empty one.

    Finally, lose a server for which the master waits as long as HBase's default says.
    """
    lab = lab.filled()
    homes, cases = _warm_homes(lab), _cases(lab)
    losses = [_loss(lab, case, homes) for case in cases]
    losses.append(_default_wait(lab, OBSERVED * cases[0].predicted))
    lab.bench.cluster.restart_master()
    return ScenarioResult.joined(
        losses,
        (
            "The new server has the name of the lost one, and starts once the rows are online elsewhere.",
            "The three servers share the cores of one machine, so regions open more slowly than on a cluster.",
            "The session time-out and the retries are the lab's; the rules that add them up are the plan's.",
        ),
    )


def _loss(lab: Experiment, case: CrashCase, homes: Mapping[str, str]) -> ScenarioResult:
    bench, cluster, blocks = lab.bench, lab.bench.cluster, lab.miniature.demand.blocks.count
    cluster.restart_master(case.master)
    number = victim(lab, has_meta=case.has_meta)
    bench.store.set(bench.latency)
    load = lab.load(seconds=LOAD_SECONDS, threads=THREADS, target_per_second=READS_PER_SECOND)
    with bench.ycsb.steady(lab.table, load, {}):
        with probed(bench.admin, lab.table.name, case.name, cluster.place.ports.servers) as probes:
            before = _write_and_kill(lab, number)
            bench.admin.await_regions(lab.table.name, seconds=LOADED_PATIENCE * case.predicted)
            acknowledged, lost = bench.admin.written()
        survivors_gets = bench.store.counters().store_file_gets - before
        bench.say(f"  {case.name}: {lost} of {acknowledged:,} acknowledged rows lost")
        # An empty server replaces it, and its regions move there until its cache stops growing.
        cluster.clear_cache(number)
        cluster.start_server(LabServer(number=number))
        before, began = bench.store.counters().store_file_gets, time.monotonic()
        _move_home(lab, homes)
        bench.wait_until_still()
        gets, seconds = bench.store.counters().store_file_gets - before, time.monotonic() - began
        # The master waits for the server on which a region was last closed, and a move closes it on the other server.
        bench.store.set(Settings())
        bench.admin.reopen(lab.table.name)
        bench.await_regions()
    figure = partial(Measurement, case=case.name)
    return ScenarioResult(
        figures=(
            _offline(case, probes, number)[0],
            _rows_lost(case.name, acknowledged, lost),
            figure(
                name="GETs of store files while it was offline",
                measured=float(survivors_gets),
                because="the survivors open its regions and begin to prefetch them; counted in front of S3",
            ),
            figure(
                name="GETs of store files from the replacement's start until all caches are warm",
                measured=float(gets),
                because=f"of all servers: the replacement prefetches its share of {blocks / lab.miniature.servers:,.0f}"
                " blocks, and the others read again what they evicted for the lost server's regions",
            ),
            figure(
                name="seconds until the replacement is warm",
                unit="s",
                measured=seconds,
                because="from its start until no server caches another block; all processes share the cores of one "
                "machine",
            ),
        ),
        charts=(_chart(f"Regions offline, under load: {case.name}", probes),),
        outages=probes.outages,
    )


def _default_wait(lab: Experiment, seconds: float) -> ScenarioResult:
    """Kill a server under writes, observe its regions for so long, and let an empty server return under its name."""
    bench, cluster = lab.bench, lab.bench.cluster
    cluster.restart_master(DEFAULT_WAIT)
    number = victim(lab, has_meta=False)
    with probed(bench.admin, lab.table.name, DEFAULT, cluster.place.ports.servers) as probes:
        _write_and_kill(lab, number)
        time.sleep(seconds)
    cluster.clear_cache(number)
    began = time.monotonic()
    cluster.start_server(LabServer(number=number))
    bench.admin.await_regions(lab.table.name, seconds=WAKING_SECONDS)
    open_seconds = time.monotonic() - began
    acknowledged, lost = bench.admin.written()
    return ScenarioResult(
        figures=(
            Measurement(
                case=DEFAULT,
                name="regions still offline at the end",
                measured=float(sum(outage.seconds is None for outage in probes.of_server(number))),
                predicted=float(sum(server == number for server in probes.regions.values())),
                because=f"{seconds:.0f} s after the loss; the master doubles its wait 600 times",
                target=SAME,
            ),
            Measurement(
                case=DEFAULT,
                name="seconds until they are open after the server returns",
                unit="s",
                measured=open_seconds,
                because="an empty server starts under the lost one's name, and the master first ends its current sleep",
            ),
            _rows_lost(DEFAULT, acknowledged, lost),
        ),
        charts=(_chart(f"Regions offline, under load: {DEFAULT}", probes),),
        outages=probes.outages,
    )


def _write_and_kill(lab: Experiment, number: int) -> int:
    """Write rows for a while, kill the server, and return the GETs of store files before; the writes go on."""
    lab.bench.admin.write(lab.table.name, lab.table.family, WRITE_INTERVAL_SECONDS)
    time.sleep(WRITES_SECONDS[lab.short])
    before = lab.bench.store.counters().store_file_gets
    lab.bench.cluster.kill_server(number)
    return before


def _rows_lost(case: str, acknowledged: int, lost: int) -> Measurement:
    return Measurement(
        case=case,
        name="acknowledged rows lost",
        measured=float(lost),
        predicted=0.0,
        because=f"of {acknowledged:,} new rows that HBase acknowledged before, during and after the outage",
        target=SAME,
    )
