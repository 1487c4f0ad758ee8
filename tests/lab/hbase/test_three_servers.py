"""Three real RegionServers share a table, each with a cache of its own, and a prober sees which regions are away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from configurations.launch import Launch
from lab.hbase.availability import probed
from lab.hbase.cluster import LabServer
from lab.hbase.experiment import Experiment
from lab.hbase.laboratory import laboratory, small_of
from lab.hbase.limits.machine import memory
from lab.hbase.software import problems
from lab.hbase.store.settings import Settings
from lab.hbase.ycsb import YcsbTable
from lab.model.scaled_plan import Small
from sizing.units import GIB, MIB

SMALL = Small(memory_bytes=3 * GIB, data_bytes=48 * MIB, servers=3)

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


def test_each_server_caches_the_regions_that_it_has(experiment: Experiment) -> None:
    bench, cluster = experiment.bench, experiment.bench.cluster
    bench.serve(LabServer(), cold=True)
    bench.wait_until_full(experiment.miniature.demand.blocks.count, 300.0)
    homes = Counter(cluster.number_of(server) for server in bench.admin.regions(experiment.table.name).values())
    assert homes == dict.fromkeys(cluster.numbers, experiment.miniature.regions // 3)
    blocks = experiment.miniature.demand.blocks.count
    cached = [counters.l2_blocks for number in cluster.numbers if (counters := cluster.counters(number))]
    assert sum(cached) >= 0.97 * blocks
    assert all(count == pytest.approx(blocks / 3, rel=0.15) for count in cached)
    files = {cluster.site(server).properties["hbase.bucketcache.ioengine"] for server in cluster.alike(LabServer())}
    assert len(files) == 3


def test_regions_are_offline_while_their_server_restarts_and_others_answer(experiment: Experiment) -> None:
    bench, cluster = experiment.bench, experiment.bench.cluster
    [meta] = {cluster.number_of(server) for server in bench.admin.regions("hbase:meta").values()}
    victim = next(number for number in cluster.numbers if number != meta)
    with probed(bench.admin, experiment.table.name, "kill -9", cluster.place.ports.servers) as probes:
        cluster.kill_server(victim)
        cluster.start_server(LabServer(number=victim))
        bench.await_regions()
        bench.wait_until(lambda _: False, 2.0)
    gone = [region for region, number in probes.regions.items() if number == victim]
    assert sorted(outage.region for outage in probes.of_server(victim)) == sorted(gone)
    assert all(outage.seconds for outage in probes.outages)
    assert {outage.server for outage in probes.outages} == {victim}
    assert "retrieved from file successfully" in cluster.place.log(f"server-{victim}").read_text(encoding="utf-8")
