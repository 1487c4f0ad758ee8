"""Three RegionServers restart one after another under load, beside the way of graceful_stop.sh."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Final

from msgspec import Struct

from lab.hbase.control import AFTER_SECONDS, LabControl, MemoryJournal, prefetch, steady_cluster
from lab.hbase.experiment import Experiment, ScenarioResult, at_least, at_most, over_time
from lab.hbase.recording import ReadHistory
from lab.hbase.result import Measurement, MeasurementTarget, TargetKind
from lab.hbase.ycsb import SteadyReads
from warmbase.operations.cluster.hbase_control import HBaseState, Patience
from warmbase.operations.hbase.rolling_restart import RollingRestart, restart_order
from warmbase.sizing.server.restart import client_settings

TITLE: Final = "A rolling restart"
QUESTION: Final = "If all three RegionServers restart one after another, do their caches and their regions stay?"
SERVERS: Final = 3
MOVING_SECONDS: Final = 300.0
HIT_RATIO: Final = 0.995
FEWER_GETS: Final = 0.1
PATIENCE: Final = Patience(before=600.0, home=600.0, elsewhere=60.0, warm=300.0, poll=1.0)
ROLLING: Final = "rolling restart in place"
GRACEFUL: Final = "as graceful_stop.sh"


class RestartWay(Struct, frozen=True, kw_only=True):
    """One way to restart servers, as it was recorded. Times are in seconds since 1970."""

    history: ReadHistory
    control: LabControl
    before: HBaseState
    after: HBaseState
    began: float
    ended: float
    until: float
    clients: SteadyReads

    @property
    def gets_per_server(self) -> float:
        """Return the GETs of store files for each server that was restarted, with its first reads."""
        return self.history.gets(self.began, self.until) / len(self.control.restarts)

    @property
    def first_began(self) -> float:
        """Return when the first server began to restart."""
        return min(self.control.restarts.values())

    @property
    def hit_ratios(self) -> list[tuple[float, float]]:
        """Return the hit ratio of all servers in each five seconds, over the seconds since the way began."""
        return self.history.hit_ratios(self.began, self.until)

    @property
    def at_home(self) -> int:
        """Return the number of regions that are on the server on which they were before."""
        homes = self.after.homes
        return sum(homes.get(name) == server for name, server in self.before.homes.items())


def run(lab: Experiment) -> ScenarioResult:
    """Restart all three servers by our stages, and then one of them as graceful_stop.sh does."""
    lab = lab.filled()
    prefetch(lab)
    rolling, graceful = _restarted(lab, _roll), _restarted(lab, _stop_gracefully)
    return ScenarioResult(
        figures=(
            *_first_reads(rolling, AFTER_SECONDS[lab.short]),
            *_figures(ROLLING, rolling, keeps=True),
            _compared(rolling, graceful),
            *_figures(GRACEFUL, graceful, keeps=False),
        ),
        charts=tuple(
            over_time(f"Hit ratio: {name}", "share of block reads that hit, in 5 s", [("measured", way.hit_ratios)])
            for name, way in ((ROLLING, rolling), (GRACEFUL, graceful))
        ),
        limits=(
            "The three servers share the cores of one machine, so restarts take longer than on a cluster.",
            "The clients have the retries of the plan, but RPCs and JVMs on this machine have no network between them.",
            "One server restarts as graceful_stop.sh does, and three restart in place.",
        ),
    )


def _restarted(lab: Experiment, way: Callable[[LabControl, Experiment], None]) -> RestartWay:
    """Return the record of a way under steady reads, from the warm cluster to the end of the last first reads."""
    with steady_cluster(lab, client_properties(lab)) as steady:
        before, began = steady.control.state(lab.bench.say), steady.now
        way(steady.control, lab)
        ended = steady.now
        time.sleep(AFTER_SECONDS[lab.short])
        after = steady.control.state(lab.bench.say)
    return RestartWay(
        history=steady.history,
        control=steady.control,
        before=before,
        after=after,
        began=began,
        ended=ended,
        until=steady.now,
        clients=steady.clients,
    )


def client_properties(lab: Experiment) -> dict[str, str]:
    """Return the settings that docs/clients.md renders for applications."""
    plan = lab.bench.cluster.launch.plan
    settings = client_settings(
        plan.restart, plan.busiest_hour.p99_latency_ms / 1000, retains=plan.mode.has_bucket_cache
    )
    return {
        "hbase.client.retries.number": str(settings.retries),
        "hbase.client.operation.timeout": str(settings.operation_timeout_ms),
        "hbase.rpc.timeout": str(settings.rpc_timeout_ms),
    }


def _roll(control: LabControl, lab: Experiment) -> None:
    say = lab.bench.say
    restart = RollingRestart(hbase=control, journals=MemoryJournal(), patience=PATIENCE)
    for stage in restart.stages(control.state(say)):
        say(f"  {stage.title}")
        say(f"    {stage.act(say)}")


def _stop_gracefully(control: LabControl, lab: Experiment) -> None:
    """Restart one server as `graceful_stop.sh --restart --reload` does: unload, stop, start, load."""
    bench = lab.bench
    state = control.state(bench.say)
    server = restart_order(state)[0]
    listed = bench.cluster.place.scratch / "unloaded-regions"
    control.switch_balancer(bench.say, on=False)
    unloading = bench.admin.unload(server, listed, MOVING_SECONDS)
    control.restart(server, bench.say)
    loading = bench.admin.load(server, listed, MOVING_SECONDS)
    bench.say(f"  graceful_stop.sh: regions moved away in {unloading:.0f} s and back in {loading:.0f} s")


def _first_reads(way: RestartWay, seconds: float) -> tuple[Measurement, ...]:
    """Return the hit ratio of each server after its restart, counted from its first read on."""
    time_text = "the first minute" if seconds == AFTER_SECONDS[False] else f"the first {seconds:.0f} s"
    return tuple(
        Measurement(
            case=ROLLING,
            name=f"hit ratio of RegionServer {number} in {time_text}",
            unit="",
            measured=way.history.first_reads(number, began, seconds).hit_ratio or 0.0,
            predicted=1.0,
            because="its index names every block, and its regions return to it",
            target=at_least(HIT_RATIO),
        )
        for number, began in sorted(way.control.restarts.items())
    )


def _figures(case: str, way: RestartWay, *, keeps: bool) -> tuple[Measurement, ...]:
    figure = partial(Measurement, case=case, unit="")
    return (
        figure(
            name="regions at home afterwards",
            measured=float(way.at_home),
            predicted=float(len(way.before.homes)),
            because="each region on the server that had it before, HBase's own tables included",
            target=MeasurementTarget(kind=TargetKind.SAME) if keeps else None,
        ),
        figure(
            name="regions that the next restart would lose",
            measured=float(sum(region.moved for region in way.after.regions.values())),
            because="hbase:meta has two servers for them, and the master would assign them to the earlier one",
        ),
        figure(
            name="failed reads",
            measured=float(way.clients.failed),
            predicted=0.0,
            because=f"of {way.clients.reads:,} reads with the retries of docs/clients.md",
            target=at_most(0.0) if keeps else None,
        ),
        *_costs(case, way),
    )


def _costs(case: str, way: RestartWay) -> tuple[Measurement, ...]:
    figure = partial(Measurement, case=case, unit="")
    return (
        figure(
            name="GETs of store files per restarted server",
            measured=way.gets_per_server,
            because="from the first stage until the end of the reads after the last restart; counted in front of S3",
        ),
        figure(
            name="GETs before the first restart",
            measured=float(way.history.gets(way.began, way.first_began)),
            because="part of those above: regions that are reopened in place, or moved away",
        ),
        figure(
            name="lowest hit ratio in 5 s",
            measured=min((ratio for _, ratio in way.hit_ratios), default=0.0),
            because="all servers together",
        ),
        figure(
            name="seconds per restarted server",
            unit="s",
            measured=(way.ended - way.began) / len(way.control.restarts),
            because="with checks, gates and moves, on cores that everything here shares",
        ),
    )


def _compared(rolling: RestartWay, graceful: RestartWay) -> Measurement:
    return Measurement(
        case=f"{ROLLING}, compared",
        name="GETs per restarted server, over those of graceful_stop.sh",
        unit="x",
        measured=rolling.gets_per_server / max(1.0, graceful.gets_per_server),
        because="regions that stay read their files' ends again; regions that move read every block",
        target=at_most(FEWER_GETS),
    )
