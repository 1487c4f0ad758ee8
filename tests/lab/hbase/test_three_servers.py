"""Three real RegionServers share a table, each with a cache of its own, and a prober sees which regions are away."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from lab.hbase.cluster import LabCluster, LabServer, jar_paths
from lab.hbase.configuration import FIRST_TIER, Java
from lab.hbase.control import LabControl, memory_journals, prefetch, steady_cluster
from lab.hbase.experiment import Experiment
from lab.hbase.laboratory import laboratory, small_of
from lab.hbase.recording import ReadHistory
from lab.hbase.scenarios import benched
from lab.hbase.scenarios.crash import probed
from lab.hbase.scenarios.rolling import PATIENCE, client_properties
from lab.hbase.software import problems
from lab.hbase.software.jars import SHELL
from lab.hbase.store import Settings
from lab.hbase.ycsb import YcsbTable
from lab.machine import memory
from lab.scaled_plan import Small
from tests.patience import HANG_SECONDS, wait_until
from warmbase.configurations.launch import Launch
from warmbase.configurations.table_ddl import UNCACHED_FLAGS, planned_tables
from warmbase.ground.errors import Refused
from warmbase.ground.units import GIB, MIB
from warmbase.operations.aws.node_command import script
from warmbase.operations.hbase.cache_heal import Heal, HealProposal
from warmbase.operations.hbase.rolling_restart import AvailableRestart, restart_order

SMALL = Small(memory_bytes=3 * GIB, data_bytes=48 * MIB, servers=3)

META = "1588230740"

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def experiment(launches: Callable[[str], Launch], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Experiment]:
    reasons = list(problems())
    available = memory().available_bytes
    if available is not None and available < SMALL.memory_bytes:
        reasons.append(f"{available / GIB:.1f} GiB of memory are available")
    if reasons:
        pytest.skip(f"{'; '.join(reasons)}: run `warmbase lab setup`")
    of = small_of(launches("prod"), SMALL, Settings(latency_ms=5.0))
    with laboratory(of, tmp_path_factory.mktemp("lab"), lambda _: None) as bench:
        table = YcsbTable(name="usertable", rows=of.miniature.rows, value_bytes=of.miniature.workload.cell_bytes)
        yield Experiment(
            bench=bench, release=of.release, miniature=of.miniature, table=table, seconds=5.0, cores=2, seed=2
        ).filled()
        running = list(bench.cluster.running.values())
    assert not [process.command.name for process in running if process.is_alive]


def serving(experiment: Experiment) -> None:
    """Start the servers unless an earlier test has left them running: they start for half a minute."""
    if not experiment.bench.cluster.serves:
        experiment.bench.serve(LabServer(), cold=True)


def serving_full(experiment: Experiment) -> None:
    """Have every block in the cache of the server that has its region.

    The tests that need this are the first of the module, before any test leaves blocks of a region on two servers.
    """
    serving(experiment)
    experiment.bench.wait_until_full(experiment.miniature.demand.blocks.count, HANG_SECONDS)


def test_each_server_caches_the_regions_that_it_has(experiment: Experiment) -> None:
    bench, cluster = experiment.bench, experiment.bench.cluster
    serving_full(experiment)
    homes = Counter(cluster.number_of(server) for server in bench.admin.regions(experiment.table.name).values())
    assert homes == dict.fromkeys(cluster.numbers, experiment.miniature.regions // 3)
    blocks = experiment.miniature.demand.blocks.count
    cached = [counters.l2_blocks for number in cluster.numbers if (counters := cluster.counters(number))]
    assert sum(cached) >= 0.97 * blocks
    assert all(count == pytest.approx(blocks / 3, rel=0.15) for count in cached)
    files = {cluster.site(server).properties["hbase.bucketcache.ioengine"] for server in cluster.alike(LabServer())}
    assert len(files) == 3


def control_regions(experiment: Experiment, directory: Path, *arguments: str) -> Any:
    """Return the answer of the step that restarts rely on."""
    return answer_of("control-regions", experiment.bench.cluster, directory, *arguments)


def answer_of(step: str, cluster: LabCluster, directory: Path, *arguments: str) -> Any:
    """Return the answer of a step; JRuby stands for the HBase shell."""
    classes = (*jar_paths(SHELL), *cluster.software.class_path)
    java = Java(
        software=replace(cluster.software, class_path=classes),
        configuration=cluster.place.configuration("master"),
        scratch=cluster.place.scratch,
        flags=(
            "-Xmx256m",
            *FIRST_TIER,
            f"-Dlog4j2.configurationFile={cluster.place.configuration('client')}/client.log4j2.properties",
        ),
    )
    programs = {
        "hbase": f"#!/bin/sh\nexec {shlex.join(java.arguments('org.jruby.Main', '-'))}\n",
        "aws": f"#!/bin/sh\nexec cat >{directory}/answer\n",
    }
    for name, text in programs.items():
        (directory / name).write_text(text, encoding="utf-8")
        (directory / name).chmod(0o755)
    process = subprocess.run(
        ["bash", "-c", script(step), step, "s3://logs/answer", *arguments],
        env={"PATH": f"{directory}:{os.environ['PATH']}", "HOME": str(directory)},
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_SECONDS,
    )
    assert process.returncode == 0, process.stderr[-2000:]
    return json.loads((directory / "answer").read_text(encoding="utf-8"))


def test_the_step_names_store_files_and_moves_regions(experiment: Experiment, tmp_path: Path) -> None:
    """The files are those that the servers' caches have blocks of, by the indexes."""
    bench, table = experiment.bench, experiment.table.name
    serving_full(experiment)
    before = bench.admin.regions(table)
    files = control_regions(experiment, tmp_path, "files")
    assert files == bench.admin.files()
    control = LabControl(cluster=bench.cluster, admin=bench.admin, history=ReadHistory())
    proposals = list[HealProposal]()

    def is_written() -> bool:
        try:
            proposals.append(Heal(hbase=control, journals=memory_journals()).propose(lambda _: None))
        except Refused:  # an index is out of date
            return False
        written = all(contents.behind_seconds == 0 for contents in proposals[-1].contents.values())
        return written and proposals[-1].at_home(proposals[-1].state.homes) == len(before)

    wait_until(is_written)
    proposal = proposals[-1]
    assert proposal.moves == ()
    assert proposal.home_bytes == proposal.cached_bytes > 0
    name, home = next(iter(before.items()))
    other = next(server for server in bench.admin.servers() if server != home)
    bench.admin.switch_balancer(on=False)
    for server in (other, home):
        address = ":".join(server.split(",")[:2])
        assert control_regions(experiment, tmp_path, "move", "0", f"{name}@{address}") == {"moved": [name]}
        assert bench.admin.regions(table)[name] == server
    bench.admin.reopen(table)
    bench.await_regions()


def test_regions_are_offline_while_their_server_restarts_and_others_answer(experiment: Experiment) -> None:
    bench, cluster = experiment.bench, experiment.bench.cluster
    serving(experiment)
    [meta] = {cluster.number_of(server) for server in bench.admin.regions("hbase:meta").values()}
    victim = next(number for number in cluster.numbers if number != meta)
    with probed(bench.admin, experiment.table.name, "kill -9", cluster.place.ports.servers) as probes:
        cluster.kill_server(victim)
        cluster.start_server(LabServer(number=victim))
        bench.await_regions()
        bench.wait_until(lambda _: False, 10.0)  # twenty rounds of probes see the end
    gone = [region for region, number in probes.regions.items() if number == victim]
    assert sorted(outage.region for outage in probes.of_server(victim)) == sorted(gone)
    assert all(outage.seconds for outage in probes.outages)
    assert {outage.server for outage in probes.outages} == {victim}
    assert "retrieved from file successfully" in cluster.place.log(f"server-{victim}").read_text(encoding="utf-8")


def test_the_step_sees_a_region_that_moved_until_its_table_is_reopened(experiment: Experiment, tmp_path: Path) -> None:
    admin, table = experiment.bench.admin, experiment.table.name
    serving(experiment)
    before = admin.regions(table)
    name, home = next(iter(before.items()))
    other = next(server for server in admin.servers() if server != home)
    admin.reopen(table)
    experiment.bench.await_regions()
    quiet = control_regions(experiment, tmp_path, "state")
    admin.move(name, other)
    moved = control_regions(experiment, tmp_path, "state")
    addresses = {":".join(server.split(",")[:2]): int(server.split(",")[2]) for server in admin.servers()}
    assert moved["servers"] == addresses
    assert {region["table"] for region in moved["regions"].values()} >= {table, "hbase:meta"}
    assert not [region for region in quiet["regions"].values() if region["table"] == table and region["moved"]]
    assert [
        encoded for encoded, region in moved["regions"].items() if region["moved"] and region["table"] == table
    ] == [name]
    assert moved["regions"][name]["server"] == ":".join(other.split(",")[:2])
    assert moved["in_transition"] == 0
    assert control_regions(experiment, tmp_path, "reopen", table) == {"reopened": [table]}
    experiment.bench.await_regions()
    after = control_regions(experiment, tmp_path, "state")["regions"]
    assert not [region for region in after.values() if region["table"] == table and region["moved"]]
    assert after[name]["server"] == moved["regions"][name]["server"]
    # A restart keeps every region where it is, so the tests that follow would begin with an uneven spread.
    admin.move(name, home)

    control_regions(experiment, tmp_path, "balancer", "on")
    assert control_regions(experiment, tmp_path, "state")["balancer_is_on"]
    assert control_regions(experiment, tmp_path, "balancer", "off") == {"was_on": True}
    assert not control_regions(experiment, tmp_path, "state")["balancer_is_on"]


def test_the_step_compacts_the_regions_that_it_is_told_to(experiment: Experiment, tmp_path: Path) -> None:
    serving(experiment)
    began = time.time()
    before = answer_of("compact-regions", experiment.bench.cluster, tmp_path, "stored")
    assert before == experiment.bench.admin.stored()
    names = sorted(before)[:2]
    assert answer_of("compact-regions", experiment.bench.cluster, tmp_path, "compact", *names) == {"compacted": names}
    after = answer_of("compact-regions", experiment.bench.cluster, tmp_path, "stored")
    assert sorted(name for name in after if after[name]["compacted_at"] > began) == names
    assert {region["files"] for region in after.values()} == {1}


def test_a_server_that_is_emptied_and_filled_again_holds_regions_that_would_not_return(
    experiment: Experiment, tmp_path: Path
) -> None:
    admin, table = experiment.bench.admin, experiment.table.name
    serving(experiment)
    admin.reopen(table)
    experiment.bench.await_regions()
    admin.switch_balancer(on=False)
    quiet = admin.state()
    homes = {name: region["server"] for name, region in quiet["regions"].items() if region["table"] == table}
    assert quiet == control_regions(experiment, tmp_path, "state")
    assert not [name for name in homes if quiet["regions"][name]["moved"]]

    server = next(iter(homes.values()))
    admin.unload(server, tmp_path / "regions")
    assert server not in {region["server"] for region in admin.state()["regions"].values()}
    admin.load(server, tmp_path / "regions")
    regions = admin.state()["regions"]
    assert {name: regions[name]["server"] for name in homes} == homes
    assert {name for name in homes if regions[name]["moved"]} == {name for name in homes if homes[name] == server}


def test_the_step_waits_for_the_server_of_meta_while_it_restarts(experiment: Experiment, tmp_path: Path) -> None:
    bench, cluster = experiment.bench, experiment.bench.cluster
    bench.serve(LabServer(), cold=True)
    bench.admin.reopen(experiment.table.name)
    bench.await_regions()
    before = control_regions(experiment, tmp_path, "state")
    [meta] = {cluster.number_of(server) for server in bench.admin.regions("hbase:meta").values()}
    cluster.stop_server(meta)
    with ThreadPoolExecutor(1) as pool:
        looks = pool.submit(control_regions, experiment, tmp_path, "state")
        cluster.start_server(LabServer(number=meta))
        during = looks.result(timeout=HANG_SECONDS)
    assert during["regions"].keys() == before["regions"].keys()
    bench.await_regions()
    after = control_regions(experiment, tmp_path, "state")
    homes = {name: region["server"] for name, region in before["regions"].items()}
    assert {name: region["server"] for name, region in after["regions"].items()} == homes
    restarted = [server for server in before["servers"] if after["servers"][server] != before["servers"][server]]
    assert len(restarted) == 1


def test_the_step_changes_a_family_and_reopens_one_region_in_place(experiment: Experiment, tmp_path: Path) -> None:
    admin, table = experiment.bench.admin, experiment.table.name
    serving(experiment)
    answer = answer_of("change-tables", experiment.bench.cluster, tmp_path, "families")
    [(family, before)] = answer["tables"][table].items()
    [planned] = planned_tables(experiment.bench.cluster.launch)[0].families
    assert before.keys() == planned.attributes.keys()
    assert answer["most_regions"] == experiment.bench.cluster.launch.plan.core.count
    settings = {"BLOCKSIZE": "32768", **dict.fromkeys(UNCACHED_FLAGS, "false")}
    change = [f"{family}:{name}={value}" for name, value in settings.items()]
    answer = answer_of("change-tables", experiment.bench.cluster, tmp_path, "change", table, *change)
    assert answer == {"changed": table}
    after = answer_of("change-tables", experiment.bench.cluster, tmp_path, "families")["tables"][table][family]
    assert after == before | settings
    name, home = next(iter(admin.regions(table).items()))
    address = ":".join(home.split(",")[:2])
    assert answer_of("change-tables", experiment.bench.cluster, tmp_path, "reopen-region", name) == {
        "reopened": name,
        "server": address,
    }
    region = admin.state()["regions"][name]
    assert (region["server"], region["moved"]) == (address, False)
    answer_of(
        "change-tables",
        experiment.bench.cluster,
        tmp_path,
        "change",
        table,
        *(f"{family}:{name}={before.get(name, '')}" for name in settings),
    )
    assert answer_of("change-tables", experiment.bench.cluster, tmp_path, "families")["tables"][table][family] == before


@pytest.mark.thorough
def test_an_available_restart_of_the_server_of_meta(experiment: Experiment) -> None:
    """Its regions are open on the others meanwhile, and they come home to stay."""
    bench, cluster = experiment.bench, experiment.bench.cluster
    prefetch(experiment)
    bench.admin.reopen(experiment.table.name)
    bench.await_regions()
    with steady_cluster(experiment, client_properties(experiment)) as steady:
        control = steady.control
        before = control.state(bench.say)
        server = restart_order(before)[-1]
        restart = AvailableRestart(hbase=control, journals=memory_journals(), patience=PATIENCE)
        others = {title for other in before.servers if other != server for title in restart.titles(other)}
        outcomes = [stage.act(bench.say) for stage in restart.stages(before) if stage.title not in others]
    after = control.state(bench.say)
    number = cluster.number_of(server.replace(":", ","))
    assert before.homes[META] == server
    assert after.homes == before.homes
    assert after.servers[server] != before.servers[server]
    assert "hit ratio" in outcomes[3]
    assert "not checked" not in outcomes[3]
    assert (steady.clients.failed, steady.clients.reads > 0) == (0, True)
    assert "retrieved from file successfully" in cluster.place.log(f"server-{number}").read_text(encoding="utf-8")
    control.restart(server, bench.say)
    bench.await_regions()
    assert control.state(bench.say).homes == before.homes


FACTOR = 2.0


@pytest.mark.thorough
@pytest.mark.parametrize("scenario", ["warm-gate", "boost"])
def test_cold_caches_fill_as_predicted(experiment: Experiment, scenario: str) -> None:
    """The short forms run on the small caches of this module, which fill in seconds: times count by a factor.

    docs/lab-fills.md compares times of minutes with closer bounds.
    """
    result = benched(scenario)(replace(experiment, short=True))
    if not result.figures:
        pytest.skip("; ".join(result.limits))
    for figure in result.figures:
        if figure.unit != "s":
            assert figure.holds is not False, figure
        elif figure.predicted and not figure.name.startswith("remaining seconds"):
            assert 1 / FACTOR < float(figure.measured) / float(figure.predicted) < FACTOR, figure
