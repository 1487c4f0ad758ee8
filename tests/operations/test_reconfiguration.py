"""A running cluster is given today's plan: in order, all or back, and from wherever it was ended."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from moto import mock_aws
from msgspec.structs import replace

from local_aws import controls, slowness
from local_aws.extension import install
from tests.operations.deployed import WHEN, Cut, Deployed, deployed, record_of_another
from tests.operations.killable import Killed
from tests.operations.mocked_aws import clients
from warmbase.configurations.properties.property import Applied
from warmbase.ground.errors import OperationFailed, Refused
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.progress import carry_out
from warmbase.operations.cluster.description import DescribedGroup
from warmbase.operations.cluster.drift import read_running_cluster
from warmbase.operations.deploy import tuning
from warmbase.operations.deploy.tuning import reconfiguration

TIMEOUT = "\noverrides: {hbase-site: {hbase.rpc.timeout: '90000'}}\n"
TAG = "local-aws:reconfiguration"


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Aws]:
    monkeypatch.setattr(tuning, "FIRST_POLL_SECONDS", 0.0)
    monkeypatch.setattr(tuning, "POLL_SECONDS", 0.0)
    # The local AWS begins at once.
    monkeypatch.setattr(tuning, "BEGIN_SECONDS", 0.0)
    install()
    with mock_aws():
        yield clients()


@pytest.fixture
def here(aws: Aws, tmp_path: Path) -> Deployed:
    return deployed(aws, tmp_path)


def apply(here: Deployed) -> Cut:
    cut = Cut()
    carry_out(reconfiguration(here.aws, here.tuning()), cut)
    return cut


def core(here: Deployed) -> DescribedGroup:
    return read_running_cluster(here.aws, here.launch).cluster.groups["core"]


def site(here: Deployed) -> Mapping[str, str]:
    """Return the properties of `hbase-site` that the core group has."""
    [properties] = [part.properties for part in core(here).settings if part.name == "hbase-site"]
    return properties


def merge(here: Deployed, key: str, value: str) -> None:
    """Set one property of the core group beside warmbase."""
    by_hand: Any = {"Classification": "hbase-site", "Properties": {key: value}}
    group: Any = {"InstanceGroupId": core(here).id, "ReconfigurationType": "MERGE", "Configurations": [by_hand]}
    here.aws.emr.modify_instance_groups(ClusterId=here.cluster_id, InstanceGroups=[group])
    here.aws.emr.list_instance_groups(ClusterId=here.cluster_id)


def test_what_runs_as_planned_is_left_alone(here: Deployed) -> None:
    found = here.tuning()
    assert (found.changes, found.group_changes, found.new) == ((), (), ())
    assert list(reconfiguration(here.aws, found)) == []


def test_settings_are_applied_to_the_core_group_and_then_to_the_primaries(here: Deployed) -> None:
    here.edit("clusters:", TIMEOUT + "clusters:")
    found = here.tuning()
    assert [move.title for move in found.group_changes] == [
        "core group: apply today's settings",
        "primary group: apply today's settings",
    ]
    assert {change.applied for change in found.changes} == {Applied.ROLLING_RESTART}
    cut = apply(here)
    assert cut.titles == [
        "read the fill of the caches",
        "core group: apply today's settings",
        "primary group: apply today's settings",
        "check that the caches were kept",
    ]
    assert here.tuning().group_changes == ()
    assert read_running_cluster(here.aws, here.launch).changes(here.launch) == ()


def test_without_its_record_no_cluster_is_tuned(here: Deployed) -> None:
    """Today's plan may be for other nodes, and its cache for other disks."""
    runs = record_of_another(here)
    with pytest.raises(Refused, match=rf"runs as {runs}, and its launch record is of j-OTHER(.|\n)*warmbase pin dev"):
        here.tuning()
    shutil.rmtree(here.file.with_suffix(".launch"))
    with pytest.raises(Refused, match=rf"cluster blue  runs as {runs}, and has no launch record"):
        here.tuning()


def test_of_two_proposals_the_second_to_be_applied_is_refused(here: Deployed) -> None:
    """Its settings would undo the first one's, which it never showed."""
    here.edit("clusters:", TIMEOUT + "clusters:")
    first = here.tuning()
    here.edit("hbase.rpc.timeout: '90000'", "hbase.client.scanner.timeout.period: '120000'")
    second = here.tuning()
    carry_out(reconfiguration(here.aws, first), Cut())
    with pytest.raises(
        Refused, match=r"the core group of j-\w+  was not changed: somebody has changed it(.|\n)*version"
    ):
        carry_out(reconfiguration(here.aws, second), Cut())
    assert site(here)["hbase.rpc.timeout"] == "90000"
    # The same proposal continues where it was interrupted.
    carry_out(reconfiguration(here.aws, first), Cut())


def test_nodes_that_somebody_added_meanwhile_are_kept(here: Deployed) -> None:
    count = here.launch.plan.core.count
    here.edit("per_second: 200", "per_second: 5000")
    planned = here.tuning()
    core = planned.running.cluster.groups["core"]
    resize: Any = {"InstanceGroupId": core.id, "InstanceCount": count + 7}
    here.aws.emr.modify_instance_groups(ClusterId=here.cluster_id, InstanceGroups=[resize])
    with pytest.raises(Refused, match=f"it now has {count + 7} nodes instead of {count}"):
        carry_out(reconfiguration(here.aws, planned), Cut())


def test_what_others_had_set_is_shown_and_replaced(here: Deployed) -> None:
    merge(here, "hbase.client.pause", "7")
    [change] = here.tuning().changes
    assert (change.key, change.before, change.after, change.groups) == ("hbase.client.pause", "7", None, ("core",))
    apply(here)
    assert here.tuning().changes == ()


def test_new_nodes_come_first_and_nodes_that_go_last(here: Deployed) -> None:
    count = here.launch.plan.core.count
    here.edit("per_second: 200", "per_second: 5000")
    more = here.launch.plan.core.count
    assert more > count
    titles = [move.title for move in here.tuning().group_changes]
    assert titles[0] == f"core group: {count} -> {more} nodes"
    apply(here)
    assert core(here).running == more
    here.edit("per_second: 5000", "per_second: 200")
    titles = [move.title for move in here.tuning().group_changes]
    assert titles[-1] == f"core group: {more} -> {count} nodes"
    apply(here)
    assert core(here).running == count


def test_a_figure_that_moved_a_little_is_left_alone_unless_all_is_asked_for(here: Deployed) -> None:
    key = "hbase.regionserver.handler.count"
    merge(here, key, str(round(int(site(here)[key]) * 1.04)))
    found = here.tuning()
    assert (found.changes, found.group_changes, [change.key for change in found.small]) == ((), (), [key])
    assert [change.key for change in here.tuning(everything=True).changes] == [key]


def test_what_needs_a_new_cluster_is_named_and_never_tried(here: Deployed) -> None:
    here.edit("release:", "os_release: 2023.9.20251117.1\nrelease:")
    here.edit("us-east-1a}", "us-east-1a}\nsecurity: {local_disks: false}")
    found = here.tuning()
    assert {change.key for change in found.new} == {"OSReleaseLabel", "encryption of local disks"}
    assert found.group_changes == ()


@pytest.mark.parametrize("when", WHEN)
def test_it_goes_on_from_wherever_it_was_ended(when: str, here: Deployed) -> None:
    """Every step of the enumeration, each ended once; what is begun again always converges."""
    count = here.launch.plan.core.count
    here.edit("per_second: 200", "per_second: 5000")
    here.edit("clusters:", TIMEOUT + "clusters:")
    steps = len(list(reconfiguration(here.aws, here.tuning())))
    assert steps == 5
    planned = here.tuning()
    for at in range(steps):
        cut = Cut(at, when)
        try:
            carry_out(reconfiguration(here.aws, planned), cut)
        except Killed:
            assert len(cut.titles) == at + 1
        assert list(here.states().values()) == ["WAITING"]
    apply(here)
    assert here.tuning().changes == ()
    assert core(here).running > count


def test_settings_that_a_reverted_change_removes_are_named_too_but_only_a_few(here: Deployed) -> None:
    keys = (
        "hbase.client.max.perregion.tasks",
        "hbase.client.max.perserver.tasks",
        "hbase.client.max.total.tasks",
        "hbase.client.pause",
        "hbase.client.retries.number",
        "hbase.client.scanner.caching",
        "hbase.rpc.timeout",
    )
    lines = ", ".join(f"{key}: '9'" for key in keys)
    several = f"\noverrides: {{hbase-site: {{{lines}}}}}\n"
    here.edit("clusters:", several + "clusters:")
    apply(here)
    here.edit(several, "")
    here.tag(TAG, "revert")
    first = ", ".join(f"hbase-site {key}" for key in keys[:5])
    with pytest.raises(OperationFailed, match=f"not applied: {first} and 2 more\n"):
        apply(here)


@pytest.mark.parametrize("worse", [False, True])
def test_where_emr_goes_back_by_itself_its_reason_and_the_settings_are_shown(
    here: Deployed, monkeypatch: pytest.MonkeyPatch, *, worse: bool
) -> None:
    monkeypatch.setattr(controls, "are_worse", lambda: worse)
    monkeypatch.setattr(slowness, "LAG_SECONDS", 0.0)  # the tests do not wait until a change begins
    here.edit("clusters:", TIMEOUT + "clusters:")
    here.tag(TAG, "revert")
    reverted = (
        r"the core group  EMR restored its previous settings; not applied: hbase-site hbase.rpc.timeout\n  The reconf"
    )
    with pytest.raises(OperationFailed, match=reverted):
        apply(here)
    assert here.tuning().group_changes
    here.tag(TAG, None)
    apply(here)
    assert here.tuning().group_changes == ()


@pytest.mark.parametrize("state", ["SUSPENDED", "ARRESTED"])
def test_a_group_that_emr_stops_at_is_given_its_settings_of_before(state: str, here: Deployed) -> None:
    before = core(here).settings
    here.edit("clusters:", TIMEOUT + "clusters:")
    here.tag(TAG, state)

    class Mended(Cut):
        """Whoever reads that it goes back mends what was at fault."""

        @contextmanager
        def step(self, title: str) -> Iterator[Callable[[str], None]]:
            with super().step(title) as say:

                def report(line: str) -> None:
                    if "restoring the previous settings" in line:
                        here.tag(TAG, None)
                    say(line)

                yield report

    cut = Mended()
    with pytest.raises(OperationFailed, match=rf"which was {state}; its previous settings are restored"):
        carry_out(reconfiguration(here.aws, here.tuning()), cut)
    assert any(f"core group is {state}: The reconfiguration failed" in line for line in cut.said)
    assert core(here).settings == before


def test_a_group_that_stays_stopped_is_said_to_be(here: Deployed) -> None:
    here.edit("clusters:", TIMEOUT + "clusters:")
    here.tag(TAG, "ARRESTED")
    with pytest.raises(OperationFailed, match="the core group  is ARRESTED, and cannot be changed until that is over"):
        apply(here)


def test_primaries_are_left_alone_while_a_region_server_is_absent(
    here: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.edit("clusters:", TIMEOUT + "clusters:")
    planned = here.tuning()
    settled = tuning._Groups.wait_until_stable

    def one_less(groups: Any, role: str, say: Any) -> Any:
        found = settled(groups, role, say)
        return replace(found, running=found.count - 1) if role == "core" and applied else found

    applied: list[str] = []
    monkeypatch.setattr(tuning._Groups, "wait_until_stable", one_less)
    steps = list(reconfiguration(here.aws, planned))
    carry_out(steps[:2], Cut())
    applied.append("core")
    with pytest.raises(Refused, match=r"the primary group  was not changed: \d+ of \d+ core nodes are running"):
        carry_out(steps[2:], Cut())


def test_a_cluster_that_ends_meanwhile_is_said_to_have(here: Deployed) -> None:
    here.edit("clusters:", TIMEOUT + "clusters:")
    planned = here.tuning()
    here.aws.emr.set_termination_protection(JobFlowIds=[here.cluster_id], TerminationProtected=False)
    here.aws.emr.terminate_job_flows(JobFlowIds=[here.cluster_id])
    with pytest.raises(OperationFailed, match=r"the core group of j-\w+  is TERMINATED(.|\n)*warmbase status"):
        carry_out(reconfiguration(here.aws, planned), Cut())
    with pytest.raises(OperationFailed, match=r"cluster j-\w+ of dev blue  is TERMINATED"):
        here.tuning()


def published(here: Deployed, fill: float, *, minutes_ago: float) -> None:
    at = datetime.now(UTC) - timedelta(minutes=minutes_ago)
    dimensions = [{"Name": "ClusterId", "Value": here.cluster_id}, {"Name": "InstanceId", "Value": "i-1"}]
    data: Any = [{"MetricName": "Fill", "Dimensions": dimensions, "Timestamp": at, "Value": fill}]
    here.aws.cloudwatch.put_metric_data(Namespace="warmbase", MetricData=data)


@pytest.mark.parametrize(
    ("after", "said"), [(0.75, "kept: 1 RegionServers"), (0.7, "1 of 1 lost part of their cache: i-1")]
)
def test_it_says_whether_the_caches_were_kept(after: float, said: str, here: Deployed) -> None:
    here.edit("clusters:", TIMEOUT + "clusters:")
    published(here, 0.8, minutes_ago=5)

    class Publishing(Cut):
        """As the nodes do after their restart."""

        def step(self, title: str) -> Any:
            if title == "check that the caches were kept":
                published(here, after, minutes_ago=0)
            return super().step(title)

    cut = Publishing()
    carry_out(reconfiguration(here.aws, here.tuning()), cut)
    assert "caches 80 % to 80 % full" in cut.said[0]
    assert said in cut.said[-1]
