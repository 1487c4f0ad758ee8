"""A launch of three primaries that fails keeps its nodes: warmbase names and ends them, and no other cluster."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from moto import mock_aws
from msgspec.structs import replace

from local_aws.extension import install
from tests.operations.deployed import PROJECT, Cut, synthesised
from tests.operations.killable import Killable, Killed
from tests.operations.mocked_aws import VARIABLES, Snapshot, clients, create
from tests.operations.operators import World, install_world
from warmbase.configurations.launch import launch_of
from warmbase.environments.environment import Environment
from warmbase.environments.reader import read_environment
from warmbase.facts.prices import price_table
from warmbase.ground.errors import OperationFailed, Refused
from warmbase.operations.aws.clients import Aws, any_call, is_reading
from warmbase.operations.aws.progress import carry_out
from warmbase.operations.cluster import failed_launch
from warmbase.operations.cluster import stack as environment_cluster
from warmbase.operations.cluster.description import stack_cluster
from warmbase.operations.cluster.failed_launch import end_failed_launch, find_failed_launches
from warmbase.operations.cluster.stack import Events, status_of
from warmbase.operations.cluster.state import state
from warmbase.operations.deploy.preflight import preflight
from warmbase.stacks.pinned import read_templates

STACK = "warmbase-dev-blue-cluster"
TEXT = (PROJECT / "environments/dev.yaml").read_text().replace("primaries: 1", "primaries: 3")
ONE_PRIMARY = TEXT.replace("primaries: 3", "primaries: 1")
FAILING = "tags: {'local-aws:bootstrap': fail}\n"
STATES = {
    "refused": "ROLLBACK_FAILED",
    "kept": "CREATE_FAILED",
    "undeletable": "DELETE_FAILED",
    "replacing": "UPDATE_ROLLBACK_COMPLETE",
    "stuck": "UPDATE_ROLLBACK_FAILED",
    "ended": "ROLLBACK_FAILED",
    "one primary": "ROLLBACK_COMPLETE",
}
"""How a launch fails, and the status of its stack. Only in the last two does no node remain."""
REMAINING = [name for name in STATES if name not in {"ended", "one primary"}]


def template(text: str) -> str:
    return json.dumps(read_templates(synthesised(text))[STACK])


def cluster_stack_of(state: str) -> None:
    """Create the cluster's stack as one whose launch fails in that way."""
    formation: Any = clients().cloudformation
    first = TEXT if state in {"replacing", "stuck"} else (TEXT if state != "one primary" else ONE_PRIMARY) + FAILING
    options = {"StackName": STACK, "Capabilities": ["CAPABILITY_NAMED_IAM"]}
    formation.create_stack(
        **options, TemplateBody=template(first), DisableRollback=state == "kept", EnableTerminationProtection=True
    )
    if state in {"replacing", "stuck"}:
        formation.update_stack(**options, TemplateBody=template(TEXT.replace("emr-7.14.0", "emr-7.13.0") + FAILING))
    if state == "undeletable":
        formation.update_termination_protection(StackName=STACK, EnableTerminationProtection=False)
        formation.delete_stack(StackName=STACK)
    if state == "ended":
        [cluster] = running()
        clients().emr.set_termination_protection(JobFlowIds=[cluster], TerminationProtected=False)
        clients().emr.terminate_job_flows(JobFlowIds=[cluster])
    if state == "stuck":
        moto_stack().status = STATES[state]


def moto_stack() -> Any:
    """Return moto's model of the cluster's stack."""
    from moto.cloudformation.models import cloudformation_backends  # noqa: PLC0415 - slow, and AWS must be mocked

    stacks = cloudformation_backends["123456789012"]["us-east-1"].stacks.values()
    return next(stack for stack in stacks if stack.name == STACK)


_starts: dict[str, Snapshot] = {}


def start(state: str, others: tuple[str, ...] = ("warmbase-dev-green", "warmbase-dev-blue", "theirs")) -> None:
    """Put the mocked AWS into that state, with failed clusters beside it that the stack has not launched."""
    if state + str(others) in _starts:
        _starts[state + str(others)].replace()
        return
    assembly = synthesised(TEXT)
    around = {name: body for name, body in read_templates(assembly).items() if "-blue-" not in name}
    create(clients(), "dev", assembly, around)
    groups = [{"InstanceRole": "MASTER", "InstanceType": "m8g.xlarge", "InstanceCount": 3}]
    for name in others:
        clients().emr.run_job_flow(
            Name=name,
            Instances={"InstanceGroups": groups, "KeepJobFlowAliveWhenNoSteps": True},  # type: ignore[typeddict-item]
            Tags=[{"Key": "local-aws:bootstrap", "Value": "fail"}],
        )
    cluster_stack_of(state)
    clients().ssm.put_parameter(Name="/cdk-bootstrap/hnb659fds/version", Value="21", Type="String")
    _starts[state + str(others)] = Snapshot.take()


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Environment]:
    install()
    monkeypatch.setattr(environment_cluster, "FIRST_POLL_SECONDS", 0.0)
    file = tmp_path / "dev.yaml"
    file.write_text(TEXT)
    with mock_aws():
        yield read_environment(str(file))


def running() -> list[str]:
    """Return the clusters that the stack has launched and that have not ended."""
    events = clients().cloudformation.describe_stack_events(StackName=STACK)["StackEvents"]
    ours = {event["PhysicalResourceId"] for event in events if event["ResourceType"] == "AWS::EMR::Cluster"}
    return [identity for identity, state in states().items() if identity in ours and not state.startswith("TERMINATED")]


def states() -> dict[str, str]:
    return {one["Id"]: one["Status"]["State"] for one in clients().emr.list_clusters()["Clusters"]}


def recover(aws: Aws, environment: Environment) -> None:
    for failed in find_failed_launches(aws, environment):
        carry_out(end_failed_launch(aws, environment, failed), Cut())


@pytest.mark.parametrize("state", STATES)
def test_what_remains_is_named_and_ended(environment: Environment, state: str) -> None:
    start(state)
    before = states()
    [failed] = find_failed_launches(clients(), environment)
    assert (failed.cluster_name, failed.stack, failed.stack_status) == ("blue", STACK, STATES[state])
    assert (
        any("bootstrap action 1 returned a non-zero return code" in why for why in failed.why) or state == "undeletable"
    )
    if state in REMAINING:
        assert (failed.cluster in running(), failed.state) == (True, "TERMINATING")
        assert f"{failed.cluster} is TERMINATING and may keep its nodes (3 x " in failed.text
        assert "an hour at list prices (estimate)" in failed.text
    else:
        assert (failed.cluster, failed.usd_per_hour) == (None, None)
    recover(clients(), environment)
    assert find_failed_launches(clients(), environment) == ()
    is_update = STATES[state].startswith("UPDATE")
    assert status_of(clients(), STACK) == ("UPDATE_ROLLBACK_COMPLETE" if is_update else None)
    after = states()
    ended = {identity for identity in after if after[identity] != before[identity]}
    assert ended == ({failed.cluster} if state in REMAINING else set())


def test_the_price_is_that_of_nodes_and_volumes(environment: Environment) -> None:
    start("refused")
    [failed] = find_failed_launches(clients(), environment)
    prices = price_table("us-east-1")
    groups: Any = clients().emr.list_instance_groups(ClusterId=str(failed.cluster))["InstanceGroups"]
    nodes = sum(
        group["RequestedInstanceCount"] * prices.compute[group["InstanceType"]].usd_per_hour for group in groups
    )
    assert failed.usd_per_hour is not None
    assert nodes < failed.usd_per_hour < nodes * 1.5


@pytest.mark.parametrize("state", ["STARTING", "BOOTSTRAPPING"])
def test_the_state_that_emr_shows_does_not_matter(environment: Environment, state: str) -> None:
    start("refused")
    [failed] = find_failed_launches(clients(), environment)
    in_state(str(failed.cluster), state)
    recover(clients(), environment)
    assert states()[str(failed.cluster)] == "TERMINATED"


def in_state(identity: str, state: str) -> None:
    from moto.emr.models import emr_backends  # noqa: PLC0415 - slow, and AWS must be mocked

    emr_backends["123456789012"]["us-east-1"].clusters[identity].state = state


RECORDS: dict[str, SimpleNamespace] = {}
OTHER_STACK: Any = [{"Key": "aws:cloudformation:stack-name", "Value": "warmbase-other-blue-cluster"}]
IN_USE: dict[str, Callable[[str], object]] = {
    "served": lambda identity: in_state(identity, "WAITING"),
    "serves": lambda identity: in_state(identity, "RUNNING"),
    "unknown": lambda identity: in_state(identity, "HIBERNATING"),
    "recorded": lambda identity: RECORDS.update(blue=SimpleNamespace(cluster_id=identity)),
    "named by the parameter": lambda identity: clients().ssm.put_parameter(
        Name="/warmbase/dev/blue/cluster-id", Value=identity, Type="String"
    ),
    "tagged by another": lambda identity: clients().emr.add_tags(ResourceId=identity, Tags=OTHER_STACK),
    "without tags": lambda identity: clients().emr.remove_tags(
        ResourceId=identity, TagKeys=["for-use-with-amazon-emr-managed-policies"]
    ),
}


@pytest.mark.parametrize("change", IN_USE)
@pytest.mark.parametrize("meanwhile", [False, True], ids=["before", "meanwhile"])
def test_a_cluster_that_may_be_in_use_is_never_touched(
    environment: Environment, change: str, monkeypatch: pytest.MonkeyPatch, *, meanwhile: bool
) -> None:
    """Neither if it is so when the command looks first, nor if it becomes so while the command asks."""
    start("refused")
    RECORDS.clear()
    monkeypatch.setattr(failed_launch, "launch_records", lambda _: RECORDS)
    [failed] = find_failed_launches(clients(), environment)
    assert failed.cluster is not None
    IN_USE[change](failed.cluster)
    before = states()
    if meanwhile:
        with pytest.raises(Refused, match=f"{failed.cluster}(.|\n)*no longer what remains of a failed launch"):
            carry_out(end_failed_launch(clients(), environment, failed), Cut())
    else:
        recover(clients(), environment)
    assert states() == before
    assert clients().emr.describe_cluster(ClusterId=failed.cluster)["Cluster"]["TerminationProtected"]
    assert status_of(clients(), STACK) == "ROLLBACK_FAILED"


@pytest.mark.parametrize(("team", "is_ours"), [(None, True), ("ours", True), ("theirs", False)])
def test_a_tag_that_contradicts_the_file_says_that_the_cluster_is_not_ours(
    environment: Environment, team: str | None, *, is_ours: bool
) -> None:
    """A tag that the file got since then is missing on the cluster, which says nothing."""
    start("refused")
    [failed] = find_failed_launches(clients(), environment)
    if team:
        clients().emr.add_tags(ResourceId=str(failed.cluster), Tags=[{"Key": "team", "Value": team}])
    found = find_failed_launches(clients(), replace(environment, tags={"team": "ours"}))
    assert [one.cluster for one in found] == [failed.cluster] * is_ours


def test_a_launch_under_way_is_not_a_failed_one(environment: Environment) -> None:
    for status in ("CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS", "REVIEW_IN_PROGRESS"):
        start("refused")
        moto_stack().status = status
        assert find_failed_launches(clients(), environment) == ()


def test_a_rollback_under_way_is_named_with_its_cluster(environment: Environment) -> None:
    start("refused")
    moto_stack().status = "ROLLBACK_IN_PROGRESS"
    [failed] = find_failed_launches(clients(), environment)
    assert failed.stack_status == "ROLLBACK_IN_PROGRESS"
    assert failed.cluster in running()


def test_a_stack_with_another_cluster_is_not_deleted(environment: Environment) -> None:
    start("refused")
    [failed] = find_failed_launches(clients(), environment)
    [*_, settle] = end_failed_launch(clients(), environment, replace(failed, cluster=None))
    with pytest.raises(Refused, match=f"is not deleted: it holds cluster {failed.cluster}"):
        carry_out([settle], Cut())


def test_a_stack_whose_cluster_a_record_names_is_not_deleted(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record leads to a teardown, which knows whether the cluster ended with data."""
    start("ended")
    [failed] = find_failed_launches(clients(), environment)
    remaining = stack_cluster(clients(), STACK)
    monkeypatch.setattr(failed_launch, "launch_records", lambda _: {"blue": SimpleNamespace(cluster_id=remaining)})
    [settle] = end_failed_launch(clients(), environment, failed)
    with pytest.raises(Refused, match="a launch record names it"):
        carry_out([settle], Cut())
    assert status_of(clients(), STACK) == STATES["ended"]


def test_a_rollback_under_way_is_awaited_before_its_stack_is_deleted(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    start("ended")
    [failed] = find_failed_launches(clients(), environment)
    moto_stack().status = "ROLLBACK_IN_PROGRESS"
    awaited, followed = [], Events.followed

    def ends(self: Any, say: Any) -> str | None:
        awaited.append(status_of(clients(), STACK))
        if awaited == ["ROLLBACK_IN_PROGRESS"]:
            moto_stack().status = "ROLLBACK_FAILED"
            return "ROLLBACK_FAILED"
        return followed(self, say)

    monkeypatch.setattr(Events, "followed", ends)
    carry_out(end_failed_launch(clients(), environment, failed), Cut())
    assert awaited[0] == "ROLLBACK_IN_PROGRESS"
    assert len(awaited) == 2
    assert status_of(clients(), STACK) is None


@pytest.mark.parametrize(
    ("why", "is_launch"), [("AWS::IAM::Role Node: a name is taken", False), ("AWS::EMR::Cluster Cluster: no", True)]
)
def test_a_stuck_update_of_a_running_cluster_is_a_failed_launch_only_because_of_its_cluster(
    environment: Environment, monkeypatch: pytest.MonkeyPatch, why: str, *, is_launch: bool
) -> None:
    start("stuck")
    for identity in running():
        in_state(identity, "WAITING")
    monkeypatch.setattr(Events, "failures", lambda _: [why])
    assert [one.cluster for one in find_failed_launches(clients(), environment)] == [None] * is_launch


def test_nodes_without_a_known_price_have_no_price(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    start("refused")
    prices = replace(price_table("us-east-1"), compute={})
    monkeypatch.setattr(failed_launch, "price_table", lambda _: prices)
    [failed] = find_failed_launches(clients(), environment)
    assert failed.usd_per_hour is None
    assert "an hour" not in failed.text


def test_the_first_cluster_goes_on_after_a_failed_replacement_and_is_no_failure(
    environment: Environment,
) -> None:
    start("replacing")
    [first, *_] = [identity for identity, state in states().items() if state == "WAITING"]
    [blue] = [one for one in state(clients(), environment).clusters if one.name == "blue"]
    assert blue.why != "its launch failed"
    assert blue.cluster is not None
    recover(clients(), environment)
    assert running() == [blue.cluster.id] == [first]
    assert states()[first] == "WAITING"
    assert clients().ssm.get_parameter(Name="/warmbase/dev/blue/cluster-id")["Parameter"]["Value"] == first


def test_a_failed_launch_is_one_problem_of_a_preflight(environment: Environment) -> None:
    start("refused")
    launches = {"blue": launch_of(environment, environment.active)}
    [found] = [check for check in preflight(clients(), environment, launches, {}) if check.name == STACK]
    assert "warmbase deploy dev" in found.fix


def test_a_cluster_that_does_not_end_is_named(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    start("refused")
    monkeypatch.setattr(environment_cluster, "TERMINATION_SECONDS", -1.0)
    monkeypatch.setattr(failed_launch, "has_ended", lambda *_: False)
    with pytest.raises(OperationFailed, match=r"is still (.|\n)*EMR has not finished terminating it"):
        recover(clients(), environment)


@cache
def killable() -> tuple[Aws, Killable]:
    """Return clients that end the command before or after one of the calls that change something."""
    aws, calls = Aws(VARIABLES, any_call), Killable()

    def before(model: Any, **_: object) -> None:
        if not is_reading(model.name):
            calls.calls += 1
            if calls.calls == calls.kill_at and calls.kill_before:
                raise Killed

    def after(model: Any, **_: object) -> None:
        if not is_reading(model.name) and calls.calls == calls.kill_at and not calls.kill_before:
            raise Killed

    for client in (aws.emr, aws.cloudformation, aws.ssm):
        client.meta.events.register("before-call.*.*", before)
        client.meta.events.register("after-call.*.*", after)
    return aws, calls


def killed(environment: Environment, state: str, kill_at: int | None, *, kill_before: bool) -> int:
    """Run the way out, end it at that call, and run it again; return how many calls it made in the first run."""
    aws, calls = killable()
    start(state)
    calls.calls, calls.kill_at, calls.kill_before = 0, kill_at, kill_before
    with suppress(Killed):
        recover(aws, environment)
    count, calls.kill_at = calls.calls, None
    recover(aws, environment)
    return count


LAST: Mapping[str, int] = {"refused": 4, "kept": 4, "undeletable": 4, "replacing": 2, "stuck": 3}


@pytest.mark.parametrize("state", LAST)
def test_it_makes_just_these_calls(environment: Environment, state: str) -> None:
    assert killed(environment, state, None, kill_before=True) == LAST[state]


PLACES = [
    (state, call, before) for state, last in LAST.items() for call in range(1, last + 1) for before in (True, False)
]
QUICK = {("refused", 1, False), ("refused", 2, False), ("refused", 3, False), ("replacing", 1, False)}


@pytest.mark.parametrize(
    ("state", "call", "before"),
    [pytest.param(*place, marks=[] if place in QUICK else pytest.mark.thorough) for place in PLACES],
)
def test_killed_at_any_call_and_run_again_it_comes_to_the_same_end(
    environment: Environment, state: str, call: int, *, before: bool
) -> None:
    start(state)
    others = {identity: one for identity, one in states().items() if identity not in set(running())}
    assert killed(environment, state, call, kill_before=before) == call
    assert find_failed_launches(clients(), environment) == ()
    is_update = STATES[state].startswith("UPDATE")
    assert status_of(clients(), STACK) == ("UPDATE_ROLLBACK_COMPLETE" if is_update else None)
    assert {identity: states()[identity] for identity in others} == others
    assert [one for one in states().values() if one == "WAITING"] == ["WAITING"] * is_update


@pytest.fixture
def world(environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Return an operator's checkout of the environment, whose launch of three primaries has failed."""
    start("refused", ())
    world = World(tmp_path)
    install_world(world, monkeypatch)
    world.file("A").parent.mkdir()
    world.file("A").write_text(Path(environment.source).read_text())
    return world


def test_status_and_a_dry_run_name_it_and_change_nothing(world: World) -> None:
    [cluster] = running()
    shown = " ".join(world.run("A", "status", "ENV").text.split())
    assert f"failed the launch of cluster blue failed: {cluster} is TERMINATING" in shown
    document = json.loads(world.run("A", "status", "ENV", "--output", "json").text)
    assert [one["cluster"] for one in document["failed_launches"]] == [cluster]
    for command, code in (("deploy", 3), ("destroy", 0)):
        dry = world.run("A", command, "ENV", "--dry-run")
        assert dry.code == code, dry.text
        assert f"proposed  end {cluster}, whose launch failed" in dry.text
    assert states()[cluster] == "TERMINATING"
    assert "`warmbase deploy dev` asks, ends it, and launches again" in " ".join(
        world.run("A", "deploy", "ENV", "--dry-run").text.split()
    )


def test_a_teardown_and_a_pin_lead_to_the_way_out(world: World) -> None:
    [cluster] = running()
    refused = world.run("A", "teardown", "ENV", "blue")
    assert refused.code == 3
    assert "never started, so there is nothing to shut down" in refused.text
    assert "warmbase deploy dev ends it" in refused.text
    in_state(cluster, "BOOTSTRAPPING")
    assert "warmbase deploy dev" in world.run("A", "pin", "ENV").text
    assert states()[cluster] == "BOOTSTRAPPING"


def test_deploy_asks_ends_it_and_launches_again(world: World) -> None:
    [cluster] = running()
    done = world.run("A", "deploy", "ENV")
    assert done.code == 0, done.text
    assert states()[cluster] == "TERMINATED"
    [second] = world.running()
    assert (world.record("A"), world.claim(), world.violations) == (second, second, [])
    assert clients().emr.describe_cluster(ClusterId=second)["Cluster"]["TerminationProtected"]


def test_destroy_ends_it_and_the_stacks_without_data(world: World) -> None:
    done = world.run("A", "destroy", "ENV", "--yes")
    assert done.code == 0, done.text
    assert (world.running(), world.launches) == ([], [])
    left = [stack["StackName"] for stack in clients().cloudformation.describe_stacks()["Stacks"]]
    assert left == ["warmbase-dev-storage"]


def test_a_no_changes_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(click, "confirm", lambda *_, **__: False)
    assert "you did not confirm, so nothing was changed" in world.run("A", "deploy", "ENV").text
    assert list(states().values()) == ["TERMINATING"]
