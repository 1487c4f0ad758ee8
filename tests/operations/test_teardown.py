"""A teardown goes by the launch record and not by today's file, and refuses to begin without one."""

from __future__ import annotations

import ast
import json
import re
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import click
import pytest
from click.testing import CliRunner
from moto import mock_aws
from moto.cloudformation.models import cloudformation_backends
from moto.emr.models import emr_backends

from local_aws.extension import install
from tests.operations.deployed import PROJECT, Cut, Deployed, deployed, record_of_another
from tests.operations.mocked_aws import clients
from warmbase.cli.operate.destroy import destroy
from warmbase.emr import cluster_state
from warmbase.emr.cluster_state import has_ended
from warmbase.ground.errors import InvalidInput, Refused
from warmbase.operations.aws.node_command import PrimaryShell
from warmbase.operations.aws.progress import carry_out
from warmbase.operations.cluster.alarms import mute
from warmbase.operations.cluster.protection import SHUTDOWN, mark_complete, protect
from warmbase.operations.cluster.stack import environment_cluster
from warmbase.operations.deploy.teardown import Consent, check_log, destruction, teardown

TOPIC = {"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}}


def begun(here: Deployed) -> list[str]:
    return [step.title for step in teardown(here.aws, here.environment, "blue")]


def test_an_active_cluster_is_flushed_before_it_ends(here: Deployed) -> None:
    assert begun(here)[:5] == [
        "disable every table",
        "flush hbase:meta and hbase:namespace",
        "mute the notifications of its alarms",
        "stop HBase",
        "check that the write-ahead log is empty",
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  blue:", "  green: {role: active, primaries: 1}\n  blue:\n    role: replica"),
        ("clusters:", "storage: {wal: emr-wal}\nclusters:"),
        ("clusters:", "storage: {mode: s3-plain}\nclusters:"),
        ("clusters:", "storage: {root: s3://elsewhere/hbase/}\nclusters:"),
    ],
)
def test_a_file_that_says_otherwise_by_now_is_not_gone_by(here: Deployed, old: str, new: str) -> None:
    here.edit(old, new)
    with pytest.raises(InvalidInput, match="cannot be changed on a running cluster"):
        begun(here)


def test_without_a_record_nothing_that_runs_is_ended(here: Deployed) -> None:
    shutil.rmtree(here.file.with_suffix(".launch"))
    with pytest.raises(Refused, match=r"cluster blue  runs as j-\w+, and has no launch record(.|\n)*warmbase pin dev"):
        begun(here)


def test_a_record_of_another_cluster_is_not_gone_by(here: Deployed) -> None:
    runs = record_of_another(here)
    with pytest.raises(Refused, match=rf"runs as {runs}, and its launch record is of j-OTHER(.|\n)*warmbase pin dev"):
        begun(here)


def test_the_cluster_is_known_by_its_stack_and_without_one_by_its_record(here: Deployed) -> None:
    own = here.cluster_id
    here.aws.ssm.delete_parameter(Name="/warmbase/dev/blue/cluster-id")
    known = environment_cluster(here.aws, here.environment, "blue")
    assert known is not None
    assert (known.id, known.state) == (own, "WAITING")
    with pytest.raises(Refused, match=f"cluster blue  is running: {own} is WAITING"):
        list(destruction(here.aws, here.environment))


def test_while_a_stack_is_being_made_nobody_says_that_there_is_no_cluster(here: Deployed) -> None:
    stacks = cloudformation_backends["123456789012"]["us-east-1"].stacks.values()
    [stack] = [each for each in stacks if each.name == "warmbase-dev-blue-cluster"]
    stack.status = "CREATE_IN_PROGRESS"
    with pytest.raises(Refused, match="the id of its cluster is not known yet"):
        begun(here)


def test_hdfs_is_not_torn_down_without_an_export(tmp_path: Path) -> None:
    install()
    with mock_aws():
        hdfs = deployed(clients(), tmp_path, "storage: {mode: hdfs}\n")
        with pytest.raises(Refused, match="has the only copy of the data") as refused:
            list(teardown(hdfs.aws, hdfs.environment, "blue"))
        assert "--exported s3://" in refused.value.problems[0].fix
        assert list(teardown(hdfs.aws, hdfs.environment, "blue", Consent(exported="s3://our-backups/hbase/")))


def ended_by_itself(here: Deployed) -> str:
    """Terminates the cluster as somebody else would, and returns its id."""
    own = here.cluster_id
    here.aws.emr.set_termination_protection(JobFlowIds=[own], TerminationProtected=False)
    here.aws.emr.terminate_job_flows(JobFlowIds=[own])
    return own


@pytest.mark.parametrize(
    ("storage", "loss"),
    [
        ("", "every write since the last flush"),
        ("storage: {mode: hdfs}\n", "all its data was on its nodes"),
        ("storage: {wal: emr-wal}\n", None),
    ],
)
def test_data_that_ended_with_a_cluster_is_named_before_it_is_cleared_away(
    storage: str, loss: str | None, tmp_path: Path
) -> None:
    install()
    with mock_aws():
        here = deployed(clients(), tmp_path, storage)
        own = ended_by_itself(here)
        if loss is not None:
            with pytest.raises(Refused, match=rf"{loss}(.|\n)*--accept-loss {own}"):
                begun(here)
            with pytest.raises(Refused, match=loss):
                list(teardown(here.aws, here.environment, "blue", Consent(lost_cluster="j-OTHER")))
        assert list(teardown(here.aws, here.environment, "blue", Consent(lost_cluster=own)))


@pytest.mark.parametrize("way_back", ["protected", "forgotten"])
def test_the_mark_of_an_abandoned_teardown_hides_no_later_loss(here: Deployed, way_back: str) -> None:
    """The teardown stops before EMR terminates the cluster, which then serves again and ends much later."""
    mark_complete(here.aws, here.cluster_id)
    if way_back == "protected":
        protect(here.aws, "dev", "blue")
    else:
        key, earlier = SHUTDOWN, datetime.now(UTC) - timedelta(hours=5)
        here.aws.emr.add_tags(ResourceId=here.cluster_id, Tags=[{"Key": key, "Value": earlier.isoformat()}])
    own = ended_by_itself(here)
    with pytest.raises(Refused, match=f"--accept-loss {own}"):
        begun(here)


def test_a_teardown_that_was_cut_after_its_request_continues(here: Deployed) -> None:
    mark_complete(here.aws, here.cluster_id)
    ended_by_itself(here)
    assert begun(here)


@pytest.mark.parametrize("is_destroyed", [False, True], ids=["teardown", "destroy"])
def test_the_next_cluster_of_that_name_is_not_muted(here: Deployed, is_destroyed: bool) -> None:  # noqa: FBT001
    mute(here.aws, "dev", "blue")
    if is_destroyed:
        ended_by_itself(here)
    stages = destruction(here.aws, here.environment) if is_destroyed else teardown(here.aws, here.environment, "blue")
    [stage] = [stage for stage in stages if stage.title.endswith("blue-monitoring")]
    stage.act(lambda _: None)
    assert here.aws.cloudwatch.list_alarm_mute_rules()["AlarmMuteRuleSummaries"] == []
    assert stage.act(lambda _: None) == "there is none"


def test_a_cluster_that_ends_while_it_is_torn_down_takes_nothing_unnoticed(here: Deployed) -> None:
    stages = list(teardown(here.aws, here.environment, "blue"))
    ended_by_itself(here)
    with pytest.raises(Refused, match="every write since the last flush"):
        stages[0].act(print)


def test_a_cluster_that_somebody_is_terminating_takes_nothing_unnoticed(here: Deployed) -> None:
    """While EMR still says TERMINATING, the cluster has not ended, and no program runs on it any more."""
    own = here.cluster_id
    here.aws.emr.set_termination_protection(JobFlowIds=[own], TerminationProtected=False)
    emr_backends["123456789012"]["us-east-1"].clusters[own].state = "TERMINATING"
    stages = {stage.title: stage for stage in teardown(here.aws, here.environment, "blue")}
    *before, last = list(stages)[: list(stages).index(f"terminate {own}") + 1]
    for title in before:
        stages[title].act(print)
    here.aws.emr.terminate_job_flows(JobFlowIds=[own])
    with pytest.raises(Refused, match=rf"every write since the last flush(.|\n)*--accept-loss {own}"):
        stages[last].act(print)


def test_a_teardown_that_verified_the_data_continues_after_the_end(here: Deployed) -> None:
    carry_out(list(teardown(here.aws, here.environment, "blue"))[-6:-4], Cut())
    assert begun(here)


def test_a_cluster_that_emr_cannot_have_forgotten_is_not_gone(here: Deployed) -> None:
    """Its record is new, so an unknown id means other credentials or another region."""
    own = here.cluster_id
    emr_backends["123456789012"]["us-east-1"].clusters.pop(own)
    with pytest.raises(Refused, match=rf"cluster {own}  is not known to EMR in account 123456789012, region us-east-1"):
        begun(here)
    with pytest.raises(Refused, match="is not known to EMR"):
        list(destruction(here.aws, here.environment))


@pytest.mark.parametrize(
    ("state", "launched_at", "ended"),
    [
        (None, "2026-11-01T00:00:00+00:00", False),
        (None, "2026-08-01T00:00:00+00:00", True),
        (None, "", False),
        (None, "yesterday", False),
        ("TERMINATED", "", True),
        ("TERMINATED_WITH_ERRORS", "", True),
        *((state, "2020-01-01T00:00:00+00:00", False) for state in ("RESIZING", "SUSPENDED", "", "TERMINATING")),
    ],
)
def test_only_states_of_the_list_and_forgotten_clusters_have_ended(
    state: str | None,
    launched_at: str,
    ended: bool,  # noqa: FBT001
) -> None:
    assert has_ended(state, launched_at, datetime(2026, 11, 23, tzinfo=UTC)) is ended


def test_node_and_command_line_agree_about_the_end_of_a_cluster() -> None:
    program = (PROJECT / "bootstrap-actions/programs/claim_root.py").read_text()
    [states] = re.findall(r"^ENDED = (\(.*\))$", program, re.MULTILINE)
    assert set(ast.literal_eval(states)) == cluster_state.ENDED
    [days] = re.findall(r"^MEMORY_SECONDS = (\d+) \* 86_400$", program, re.MULTILINE)
    assert int(days) == cluster_state.MEMORY.days


def test_another_environment_whose_name_begins_alike_does_not_block_a_destruction(here: Deployed) -> None:
    ended_by_itself(here)
    for stack in ("warmbase-dev-eu-blue-cluster", "warmbase-dev-2-network"):
        here.aws.cloudformation.create_stack(StackName=stack, TemplateBody=json.dumps(TOPIC))
    assert list(destruction(here.aws, here.environment))
    here.aws.cloudformation.create_stack(StackName="warmbase-dev-green-cluster", TemplateBody=json.dumps(TOPIC))
    with pytest.raises(Refused, match="does not list clusters that are deployed: warmbase-dev-green-cluster"):
        list(destruction(here.aws, here.environment))


def test_a_cluster_that_a_colleague_deploys_during_the_question_stops_the_destruction(
    here: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended_by_itself(here)
    deployed_stacks = set()

    def confirm(*_: object, **__: object) -> bool:
        here.aws.cloudformation.create_stack(StackName="warmbase-dev-green-cluster", TemplateBody=json.dumps(TOPIC))
        deployed_stacks.update(stacks(here))
        return True

    monkeypatch.setattr("warmbase.cli.operate.destroy.environment_aws", lambda *_: here.aws)
    monkeypatch.setattr(click, "confirm", confirm)
    answer = CliRunner().invoke(destroy, [str(here.file)])
    assert isinstance(answer.exception, Refused)
    assert "does not list clusters that are deployed: warmbase-dev-green-cluster" in str(answer.exception)
    assert stacks(here) == deployed_stacks


def stacks(here: Deployed) -> set[tuple[str, str]]:
    return {(stack["StackName"], stack["StackStatus"]) for stack in here.aws.cloudformation.describe_stacks()["Stacks"]}


class Primary:
    """A primary node that gives one answer to every program."""

    def __init__(self, **answer: Any) -> None:
        self.answer = answer

    def run(self, *_: object) -> dict[str, Any]:
        return self.answer


def test_a_log_with_edits_is_not_given_up() -> None:
    log = {"down": True, "directory": "/user/hbase/WAL"}
    with pytest.raises(Refused, match="/user/hbase/WAL  is not empty: it holds s1"):
        check_log(cast("PrimaryShell", Primary(**log, files=["s1"])), print)
    with pytest.raises(Refused, match="is running again after it was stopped"):
        check_log(cast("PrimaryShell", Primary(**log | {"down": False}, files=[])), print)
    assert check_log(cast("PrimaryShell", Primary(**log, files=[])), print)
