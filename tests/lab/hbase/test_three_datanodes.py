"""Replicas of blocks move to the RegionServers that read them, on an HDFS of three DataNodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from lab.hbase.admin import Admin, TableSpec
from lab.hbase.cluster import LabCluster, LabServer
from lab.hbase.configuration import HDFS_ENCRYPTION, varied
from lab.hbase.experiment import family_of
from lab.hbase.hdfs import running_hdfs
from lab.hbase.laboratory import admin_command, small_of
from lab.hbase.scenarios.crash import probed
from lab.hbase.software import problems
from lab.hbase.store import Settings
from lab.hbase.ycsb import Ycsb, YcsbTable
from lab.machine.paths import LabPaths, free_ports
from lab.scaled_plan import Small
from tests.lab.hbase.test_three_servers import answer_of
from tests.patience import wait_until
from warmbase.configurations.launch import launch_of
from warmbase.environments.reader import read_environment
from warmbase.ground.units import GIB, MIB

SMALL = Small(memory_bytes=3 * GIB, data_bytes=24 * MIB, servers=3)
HOSTS = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
TABLE = "usertable"
REGIONS = 6
RATE = f"{50 * MIB}"
# A flush of hbase:meta may write a small file meanwhile, whose first replica the NameNode places at random, too.
NEARLY = 0.99
PROJECT = Path(__file__).parents[3]

pytestmark = pytest.mark.lab


class Locality(Struct, frozen=True, dict=True):
    """An HBase whose root is on HDFS."""

    cluster: LabCluster
    admin: Admin

    def heal(self, directory: Path, *arguments: str) -> Any:
        """Return the answer of the step."""
        return answer_of("heal-locality", self.cluster, directory, *arguments)

    @property
    def replicas(self) -> Counter[str]:
        """Return the number of replicas of each block, by the files of the DataNodes."""
        files = self.cluster.place.volumes.glob("hdfs/*/current/*/current/finalized/**/blk_*")
        return Counter(file.name for file in files if file.suffix != ".meta")

    @staticmethod
    def local_fraction(answer: Any) -> float:
        """Return the share of all store files that is on the hosts of their servers."""
        servers: list[dict[str, int]] = list(answer["servers"].values())
        return sum(figures["local_bytes"] for figures in servers) / sum(figures["bytes"] for figures in servers)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Locality]:
    if reasons := list(problems()):
        pytest.skip(f"{'; '.join(reasons)}: run `warmbase lab setup`")
    root = tmp_path_factory.mktemp("lab")
    file = root / "dev.yaml"
    file.write_text(f"{(PROJECT / 'environments/dev.yaml').read_text()}\nstorage: {{mode: hdfs}}\n")
    environment = read_environment(str(file))
    of = small_of(launch_of(environment, environment.active), SMALL, Settings())
    place = LabPaths(root=root, ports=free_ports())
    place.make()
    with ExitStack() as stack:
        cluster = LabCluster(software=of.software, place=place, launch=of.launch, miniature=of.miniature)
        assert cluster.by_emr == HDFS_ENCRYPTION, "as EMR encrypts HDFS with local disks"
        uri = stack.enter_context(running_hdfs(cluster, place.volumes, HOSTS))
        settings = {"hbase.rootdir": f"{uri}/hbase", "dfs.replication": "2", "dfs.blocksize": f"{MIB}"}
        cluster = replace(cluster, everywhere=varied(settings, "a small HDFS"))
        stack.callback(cluster.end)
        cluster.begin()
        admin = stack.enter_context(Admin(admin_command(of.software, place)))
        cluster.start_servers([server(number) for number in cluster.numbers])
        cluster.wait_for_master()
        admin.switch_balancer(on=False)
        table = YcsbTable(name=TABLE, rows=of.miniature.rows, value_bytes=of.miniature.workload.cell_bytes)
        admin.create(TableSpec(name=TABLE, families=(family_of(table, of.miniature),), regions=REGIONS))
        Ycsb(software=of.software, place=place).fill(table)
        admin.flush(TABLE)
        yield Locality(cluster, admin)


def server(number: int) -> LabServer:
    """Return a RegionServer on a loopback address of its own, by whose name a DataNode is known."""
    names = ("hbase.regionserver.hostname", "hbase.regionserver.ipc.address")
    return LabServer(number=number, varied=varied(dict.fromkeys(names, HOSTS[number]), "a host of its own"))


def test_replicas_come_home_while_regions_stay_and_answer(lab: Locality, tmp_path: Path) -> None:
    """The NameNode cannot tell three servers on one machine apart, so it places the first replicas at random."""
    assert lab.local_fraction(lab.heal(tmp_path, "relocate", RATE, "600")) > NEARLY
    homes = lab.admin.regions(TABLE)
    servers = lab.admin.servers()
    for region, home in homes.items():
        lab.admin.move(region, servers[(servers.index(home) + 1) % len(servers)])
    moved = lab.admin.regions(TABLE)

    away = lab.heal(tmp_path, "locality")
    assert away["bandwidth"] == 100 * MIB, "that of the DataNodes again"
    assert lab.local_fraction(away) < 0.8
    assert {server: figures["bytes"] > figures["local_bytes"] for server, figures in away["servers"].items()} == (
        dict.fromkeys(away["servers"], True)
    )
    with probed(lab.admin, TABLE, "heal", lab.cluster.place.ports.servers) as probes:
        healed = lab.heal(tmp_path, "relocate", RATE, "600")
    assert lab.local_fraction(healed) > NEARLY
    assert healed["moved_bytes"] >= 0.9 * sum(figures["moved_bytes"] for figures in away["servers"].values())
    assert lab.admin.regions(TABLE) == moved
    assert probes.outages == ()
    assert len(probes.regions) == REGIONS

    again = lab.heal(tmp_path, "relocate", RATE, "600")
    assert again["moved_bytes"] <= 0.01 * healed["moved_bytes"]
    # The NameNode and each DataNode delete the replaced replicas only after a heartbeat.
    wait_until(lambda: set(lab.replicas.values()) == {2})
