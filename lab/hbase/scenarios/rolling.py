"""Three RegionServers restart one after another under load, beside the way of graceful_stop.sh."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Final

from lab.hbase.control import AFTER_SECONDS, LabControl, memory_journals, prefetch, steady_cluster
from lab.hbase.experiment import SAME, Experiment, ScenarioResult, at_least, at_most, over_time
from lab.hbase.result import Measurement
from warmbase.operations.cluster.hbase_control import Patience
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


def run(lab: Experiment) -> ScenarioResult:
    """Restart all three servers by our stages, and then one of them as graceful_stop.sh does."""
    lab = lab.filled()
    prefetch(lab)
    rolling, rolling_gets = _restarted(lab, ROLLING, _roll)
    graceful, graceful_gets = _restarted(lab, GRACEFUL, _stop_gracefully)
    compared = Measurement(
        case=f"{ROLLING}, compared",
        name="GETs per restarted server, over those of graceful_stop.sh",
        unit="x",
        measured=rolling_gets / max(1.0, graceful_gets),
        because="regions that stay read their files' ends again; regions that move read every block",
        target=at_most(FEWER_GETS),
    )
    return ScenarioResult.joined(
        (rolling, ScenarioResult(figures=(compared,)), graceful),
        (
            "The three servers share the cores of one machine, so restarts take longer than on a cluster.",
            "The clients have the retries of the plan, but RPCs and JVMs on this machine have no network between them.",
            "One server restarts as graceful_stop.sh does, and three restart in place.",
        ),
    )


def _restarted(
    lab: Experiment, case: str, way: Callable[[LabControl, Experiment], None]
) -> tuple[ScenarioResult, float]:
    """Restart servers in this way under steady reads; return the figures, and the GETs for each restarted server."""
    after_seconds, keeps = AFTER_SECONDS[lab.short], case == ROLLING
    with steady_cluster(lab, client_properties(lab)) as steady:
        before, began = steady.control.state(lab.bench.say), steady.now
        way(steady.control, lab)
        ended = steady.now
        time.sleep(after_seconds)
        after = steady.control.state(lab.bench.say)
    history, restarts, until = steady.history, steady.control.restarts, steady.now
    gets_per_server = history.gets(began, until) / len(restarts)
    hit_ratios, homes = history.hit_ratios(began, until), after.homes
    time_text = "the first minute" if after_seconds == AFTER_SECONDS[False] else f"the first {after_seconds:.0f} s"
    figure = partial(Measurement, case=case)
    first_reads = [
        figure(
            name=f"hit ratio of RegionServer {number} in {time_text}",
            measured=history.first_reads(number, at, after_seconds).hit_ratio or 0.0,
            predicted=1.0,
            because="its index names every block, and its regions return to it",
            target=at_least(HIT_RATIO),
        )
        for number, at in (sorted(restarts.items()) if keeps else ())
    ]
    figures = (
        *first_reads,
        figure(
            name="regions at home afterwards",
            measured=float(sum(homes.get(name) == server for name, server in before.homes.items())),
            predicted=float(len(before.homes)),
            because="each region on the server that had it before, HBase's own tables included",
            target=SAME if keeps else None,
        ),
        figure(
            name="regions that the next restart would lose",
            measured=float(sum(region.moved for region in after.regions.values())),
            because="hbase:meta has two servers for them, and the master would assign them to the earlier one",
        ),
        figure(
            name="failed reads",
            measured=float(steady.clients.failed),
            predicted=0.0,
            because=f"of {steady.clients.reads:,} reads with the retries of docs/clients.md",
            target=at_most(0.0) if keeps else None,
        ),
        figure(
            name="GETs of store files per restarted server",
            measured=gets_per_server,
            because="from the first stage until the end of the reads after the last restart; counted in front of S3",
        ),
        figure(
            name="GETs before the first restart",
            measured=float(history.gets(began, min(restarts.values()))),
            because="part of those above: regions that are reopened in place, or moved away",
        ),
        figure(
            name="lowest hit ratio in 5 s",
            measured=min((ratio for _, ratio in hit_ratios), default=0.0),
            because="all servers together",
        ),
        figure(
            name="seconds per restarted server",
            measured=(ended - began) / len(restarts),
            because="with checks, gates and moves, on cores that everything here shares",
        ),
    )
    chart = over_time(f"Hit ratio: {case}", "share of block reads that hit, in 5 s", [("measured", hit_ratios)])
    return ScenarioResult(figures=figures, charts=(chart,)), gets_per_server


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
    restart = RollingRestart(hbase=control, journals=memory_journals(), patience=PATIENCE)
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
