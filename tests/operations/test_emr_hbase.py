"""A rolling restart of the HBase of an EMR cluster, on a served local AWS with a RegionServer on each core node."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from local_aws.emr.nodes import INDEX_AGE_SECONDS
from local_aws.server import local_aws
from tests.operations.deployed import WHEN, Cut
from tests.operations.killable import Killed
from warmbase.configurations.launch import launch_of
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import OperationFailed, Refused
from warmbase.operations.aws import node_command
from warmbase.operations.aws.clients import Aws, any_call
from warmbase.operations.aws.node_command import PrimaryShell
from warmbase.operations.aws.progress import carry_out
from warmbase.operations.cluster.hbase_control import HBaseState, Patience
from warmbase.operations.cluster.journals import Journals
from warmbase.operations.hbase.cache_heal import Heal, HealProposal
from warmbase.operations.hbase.compaction_waves import CompactionWaves
from warmbase.operations.hbase.emr_hbase import CacheIndex, EmrHBase
from warmbase.operations.hbase.rolling_restart import AvailableRestart, RollingRestart, restart_order
from warmbase.operations.hbase.tables import TableChanges, table_proposal

LOGS = "logs-of-restarts"
NODES = 3
QUICK = Patience(before=600, home=10, elsewhere=0.2, warm=0.5, poll=0.05)
QUICK_HEAL = Patience(opened=5, poll=0.05)
CLUSTER: dict[str, Any] = {
    "Name": "one",
    "LogUri": f"s3://{LOGS}/emr/",
    "ReleaseLabel": "emr-7.14.0",
    "Instances": {
        "KeepJobFlowAliveWhenNoSteps": True,
        "InstanceGroups": [
            {"InstanceRole": "MASTER", "InstanceType": "m8g.xlarge", "InstanceCount": 1},
            {"InstanceRole": "CORE", "InstanceType": "r8g.2xlarge", "InstanceCount": NODES},
        ],
    },
    "JobFlowRole": "nodes",
    "ServiceRole": "service",
}


class Cluster(Struct, frozen=True, dict=True):
    """A cluster whose HBase is in a state of the stand-ins."""

    aws: Aws
    id: str

    @property
    def hbase(self) -> EmrHBase:
        primary = PrimaryShell(aws=self.aws, cluster_id=self.id, log_bucket=LOGS)
        index = CacheIndex.of(launch_of(ENVIRONMENT, ENVIRONMENT.active))
        return EmrHBase(aws=self.aws, primary=primary, index=index, restart_seconds=60)

    @property
    def journals(self) -> Journals:
        return Journals.of(self.aws, LOGS, self.id)

    @property
    def state(self) -> HBaseState:
        return self.hbase.state(print)

    def restart(self, progress: Cut | None = None) -> Cut:
        """Restart every server as a new command would, and return what it reported."""
        progress = progress or Cut()
        restart = RollingRestart(hbase=self.hbase, journals=self.journals, patience=QUICK)
        carry_out(restart.stages(self.state), progress)
        return progress

    def restart_available(self, progress: Cut | None = None) -> None:
        """Restart every server without its regions, as a new command would."""
        restart = AvailableRestart(hbase=self.hbase, journals=self.journals, patience=QUICK)
        carry_out(restart.stages(self.state), progress or Cut())

    def heal(self, progress: Cut | None = None) -> HealProposal:
        """Heal the cluster as a new command would, and return the proposal."""
        heal = Heal(hbase=self.hbase, journals=self.journals, patience=QUICK_HEAL)
        proposal = heal.propose(print)
        if proposal.has_work:
            carry_out(heal.stages(proposal), progress or Cut())
        return proposal

    def be(self, state: str) -> None:
        """Makes something be wrong with HBase."""
        self.aws.emr.add_tags(ResourceId=self.id, Tags=[{"Key": "local-aws:hbase", "Value": state}])

    @property
    def events(self) -> list[str]:
        """Return what the stand-ins were told to do."""
        events: list[str] = self.hbase.primary.run("control-regions", print, "events")["events"]
        return events


ENVIRONMENT = read_environment("prod")


@pytest.fixture(scope="module")
def aws() -> Iterator[Aws]:
    with local_aws() as local:
        aws = Aws(local.environment, any_call)
        aws.s3.create_bucket(Bucket=LOGS)
        yield aws


@pytest.fixture
def cluster(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setattr(node_command, "FIRST_POLL_SECONDS", 0.0)
    monkeypatch.setattr(node_command, "POLL_SECONDS", 0.02)
    return Cluster(aws, aws.emr.run_job_flow(**CLUSTER)["JobFlowId"])


def restarts(events: list[str]) -> list[str]:
    return [event for event in events if event.startswith("restart")]


def test_every_server_restarts_alone_and_the_one_with_meta_last(cluster: Cluster) -> None:
    before = cluster.state
    progress = cluster.restart()
    after, order = cluster.state, restart_order(before)
    assert restarts(cluster.events) == [f"restart {server}; away: {server}" for server in order]
    assert after.homes == before.homes
    assert all(after.servers[server] > before.servers[server] for server in order)
    assert after.balancer_is_on
    assert cluster.events[0] == "balancer off"
    assert before.homes["1588230740"] == order[-1]
    assert cluster.journals.restart.read() is None
    assert "restore the balancer" in progress.titles


CUTS = [(stage, WHEN[(stage + 2) % 3]) for stage in range(6)]
"""One cut in each stage: a kill at any call is tried on a model in memory (test_rolling_restart.py)."""


@pytest.mark.thorough
@pytest.mark.parametrize(("stage", "when"), CUTS)
def test_a_restart_that_is_killed_continues(cluster: Cluster, stage: int, when: str) -> None:
    """The stages: check, reopen, three servers, the balancer."""
    cluster.be("moved")
    before = cluster.state
    with pytest.raises(Killed):
        cluster.restart(Cut(stage, when))
    cluster.restart()
    after, events = cluster.state, cluster.events
    assert after.homes == before.homes
    assert sorted(restarts(events)) == [f"restart {server}; away: {server}" for server in sorted(before.servers)]
    assert after.balancer_is_on
    assert cluster.journals.restart.read() is None


def test_a_server_is_lost_only_where_emr_has_terminated_its_node(aws: Aws, cluster: Cluster) -> None:
    nodes = aws.emr.list_instances(ClusterId=cluster.id, InstanceGroupTypes=["CORE"])["Instances"]
    lost, running = (f"{node['PrivateDnsName']}:16020" for node in nodes[:2])
    aws.ec2.terminate_instances(InstanceIds=[nodes[0]["Ec2InstanceId"]])
    assert cluster.hbase.lost_servers([lost, running, "ip-10-0-0-250.ec2.internal:16020"]) == {lost}


def test_a_cache_that_would_be_lost_refuses_before_anything(cluster: Cluster) -> None:
    cluster.be("unready")
    with pytest.raises(Refused, match=r"there is no index at /warmbase/cache/index/bucketcache\.index"):
        cluster.restart()
    assert (cluster.events, cluster.journals.restart.read()) == ([], None)


def test_a_region_in_transition_refuses_before_anything(cluster: Cluster) -> None:
    cluster.be("transition")
    with pytest.raises(Refused, match="1 regions are in transition"):
        cluster.restart()
    assert cluster.events == []


def test_regions_come_home_to_the_caches_that_hold_them(cluster: Cluster) -> None:
    """Each node reads its own index. The regions of the last server are open on the first."""
    homes, began = cluster.state.homes, time.time()
    cluster.be("away")
    proposal = cluster.heal()
    assert len(proposal.moves) == 4
    assert proposal.gets_saved == 4 * 128
    assert proposal.gained_bytes == 4 * 128 * 65_536
    oldest = INDEX_AGE_SECONDS + time.time() - began
    assert all(0 <= contents.age_seconds <= oldest for contents in proposal.contents.values())
    assert all(contents.behind_seconds <= oldest for contents in proposal.contents.values())
    after, events = cluster.state, cluster.events
    assert after.homes == homes
    assert after.moved_tables == ()
    assert events[0] == "balancer off"
    assert {event.partition("; ")[2] for event in events if event.startswith("move")} == {"balancer on: False"}
    assert events[-3:] == ["reopen stand-in-users", "reopen stand_in:events", "balancer on"]
    assert cluster.journals.heal.read() is None
    assert cluster.heal().moves == ()


def test_a_node_without_an_index_refuses_before_any_move(cluster: Cluster) -> None:
    cluster.be("unready")
    with pytest.raises(OperationFailed, match=r"there is no index at /warmbase/cache/index/bucketcache\.index"):
        cluster.heal()
    assert cluster.events == []


def test_a_server_of_no_node_is_named(cluster: Cluster) -> None:
    with pytest.raises(OperationFailed, match="is on no running core node"):
        cluster.hbase.restart("ip-10-9-9-9.ec2.internal:16020", print)


@pytest.mark.thorough
def test_one_region_of_each_server_is_compacted_at_a_time(cluster: Cluster) -> None:
    """A second command that begins after a kill leaves out what the first has compacted."""
    before = time.time()

    def compact(progress: Cut) -> Cut:
        waves = CompactionWaves(hbase=cluster.hbase, tables=frozenset(), before=before, floor=0.9)
        carry_out(waves.stages(), progress)
        return progress

    with pytest.raises(Killed):
        compact(Cut(1, "end"))
    assert len(compact(Cut()).titles) == 2
    regions = cluster.state.homes
    waves = [event.split()[1:] for event in cluster.events if event.startswith("compact")]
    assert [sorted(regions[name] for name in wave) for wave in waves] == 4 * [sorted(cluster.state.servers)]
    assert sorted(name for wave in waves for name in wave) == sorted(regions.keys() - {"1588230740"})


def test_a_table_is_changed_and_its_regions_reopened(cluster: Cluster) -> None:
    journal = cluster.journals.table
    tables, launch = TableChanges(hbase=cluster.hbase, journal=journal), launch_of(ENVIRONMENT, ENVIRONMENT.active)
    [change] = table_proposal(tables, launch, ("stand-in-users",), print).changes
    wanted = " ".join(f"cf:{name}={value}" for name, value in change.wanted["cf"].items())
    with pytest.raises(Killed):
        carry_out(tables.stages([change]), Cut(1, "begin"))
    interrupted = journal.read()
    assert interrupted == replace(change, passed=True)
    carry_out(tables.stages([]), Cut())
    assert cluster.events == [
        f"change stand-in-users {wanted}",
        "reopen region of stand-in-users",
        "reopen stand-in-users",
    ]
    assert journal.read() is None


def test_only_minutes_that_lie_whole_after_a_time_count(cluster: Cluster) -> None:
    """A publisher's figure is of the minute before it."""
    server = next(iter(cluster.state.servers))
    instance = cluster.hbase._instance(server)
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    dimensions = [{"Name": "ClusterId", "Value": cluster.id}, {"Name": "InstanceId", "Value": instance}]
    for minutes, hits in ((4, 1000.0), (3, 100.0), (2, 10.0), (1, 1.0)):
        at = now - timedelta(minutes=minutes) + timedelta(seconds=20)
        figures: Any = [
            {"MetricName": name, "Dimensions": dimensions, "Timestamp": at, "Value": value}
            for name, value in (("Hits", hits), ("Misses", 1.0))
        ]
        cluster.aws.cloudwatch.put_metric_data(Namespace="warmbase", MetricData=figures)
    since = (now - timedelta(minutes=4)).timestamp() + 30
    reads = cluster.hbase.cache_reads(since)
    assert reads.keys() == {server}
    assert (reads[server].hits, reads[server].misses) == (11.0, 2.0)
