"""The canary: each stage saves its answers, schedules end its clusters, and nothing is left behind."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from moto import mock_aws

from local_aws import controls, schedules
from local_aws.extension import install
from tests.operations.canary_world import canary_of, launch, local_nodes, without_cdk
from tests.operations.deployed import Cut
from tests.operations.killable import Killed
from tests.operations.mocked_aws import ASSETS, VARIABLES, clients
from warmbase.cli.commands import warmbase
from warmbase.environments.names import CANARY_TAG
from warmbase.ground.errors import Drifted
from warmbase.operations.aws.clients import Aws
from warmbase.operations.canary import STAGES, stage_answers
from warmbase.operations.canary.backstop import Backstop

BOOTSTRAP = "/cdk-bootstrap/hnb659fds/version"


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Aws]:
    install()
    controls.reset()
    without_cdk(monkeypatch)
    monkeypatch.setattr(schedules, "OPTIMIZING", [timedelta()])
    with mock_aws(), local_nodes():
        made = clients()
        made.s3.create_bucket(Bucket=ASSETS)
        made.ssm.put_parameter(Name=BOOTSTRAP, Value="28", Type="String")
        yield made
    controls.reset()


def states(aws: Aws) -> dict[str, str]:
    return {one["Id"]: one["Status"]["State"] for one in aws.emr.list_clusters()["Clusters"]}


def remaining_stacks(aws: Aws) -> set[str]:
    stacks = aws.cloudformation.describe_stacks()["Stacks"]
    return {stack["StackName"] for stack in stacks if stack["StackStatus"] != "DELETE_COMPLETE"}


@pytest.mark.thorough
def test_stages_from_the_first_free_call_to_nothing_left(aws: Aws, tmp_path: Path) -> None:
    canary = canary_of(aws, tmp_path, Cut())
    answers = list(stage_answers(canary, tuple(STAGES)))
    zero, one, _, three, four, five = answers
    assert [answer.failure for answer in answers] == [""] * 6
    assert [result.check for result in zero.results if result.good is None] == ["permissions"]
    assert ", 1 without an answer: credentials, " in zero.lines[0]
    assert one.lines == ("WAITING; harvested 1 nodes (15 files)",)
    assert three.lines[0] == "6 of 7 operations succeeded", "\n".join(three.lines)
    assert three.lines[-1].startswith("kill:"), "what the stand-ins do not play"
    assert four.lines[0] == "a second cluster was refused, and was removed"
    assert [result.good for result in four.results] == [True, True]
    assert "protected, 5 nodes; On the master" in four.results[1].found
    assert four.results[1].found.endswith("its stack is ROLLBACK_FAILED")
    assert five.lines[0].startswith("0 clusters, 0 instances, 0 volumes; what stays costs $1.00 a month")
    assert [line.partition(":")[0] for line in five.lines[1:]] == ["stacks", "buckets", "keys"]
    assert remaining_stacks(aws) == {"warmbase-dev-canary-storage"}
    assert not aws.ec2.describe_vpcs(Filters=[{"Name": f"tag:{CANARY_TAG}", "Values": ["dev-canary"]}])["Vpcs"]
    buckets = {bucket["Name"] for bucket in aws.s3.list_buckets()["Buckets"]} - {ASSETS}
    assert {name.split("-")[3] for name in buckets} == {"root", "logs"}


def test_the_schedules_exist_before_the_first_node(aws: Aws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a backstop that can be read again, no cluster is launched."""
    monkeypatch.setattr(Backstop, "fires_at", lambda _: None)
    [answer] = stage_answers(canary_of(aws, tmp_path, Cut()), (1,))
    assert "has no schedule that would end the clusters" in answer.failure
    assert states(aws) == {}


def test_a_laptop_that_never_comes_back_leaves_no_cluster(aws: Aws, tmp_path: Path) -> None:
    """The schedules end the cluster, although it is protected; another cluster of the account goes on."""
    canary = canary_of(aws, tmp_path, Cut())
    [answer] = stage_answers(canary, (1,))
    assert not answer.failure, answer.failure
    first = canary.running_cluster().id
    assert aws.emr.describe_cluster(ClusterId=first)["Cluster"]["TerminationProtected"]
    second, untagged = launch(aws, "warmbase-dev-canary-green"), launch(aws, "warmbase-dev-canary-other", "")
    controls.advance(89 * 60)
    assert states(aws) == {first: "WAITING", second: "WAITING", untagged: "WAITING"}
    controls.advance(2 * 60)
    assert states(aws) == {first: "TERMINATED", second: "TERMINATED", untagged: "WAITING"}
    [late] = stage_answers(canary, (2,))
    assert "does not run: TERMINATED" in late.failure
    [end] = stage_answers(canary, (5,))
    assert not end.failure, end.failure
    assert remaining_stacks(aws) == {"warmbase-dev-canary-storage"}


@pytest.mark.thorough
def test_a_canary_that_is_killed_after_every_step_continues_and_leaves_nothing(aws: Aws, tmp_path: Path) -> None:
    """Never more than one cluster at the root, and never a cluster without schedules that end it."""
    step, saved, kills = 0, 0, 0
    while True:
        canary = canary_of(aws, tmp_path, Cut(step, "end"))
        try:
            answers = list(stage_answers(canary, tuple(STAGES)))
            break
        except Killed:
            kills += 1
            backstop = Backstop(aws=aws, environment=canary.run.name)
            assert not backstop.running() or backstop.fires_at() is not None
            done = len(canary.run.answers())
            step, saved = (0, done) if done > saved else (step + 1, saved)
    assert [answer.failure for answer in answers] == [""] * len(STAGES)
    assert kills > 20
    assert set(states(aws).values()) == {"TERMINATED"}
    assert remaining_stacks(aws) == {"warmbase-dev-canary-storage"}


@pytest.mark.usefixtures("aws")
def test_the_command_prints_the_price_first_and_the_count_of_rows_last(tmp_path: Path) -> None:
    variables = {**VARIABLES, "AWS_DEFAULT_REGION": "us-east-1"}
    arguments = ["canary", "dev", "--directory", str(tmp_path), "--stages", "0"]
    asked = CliRunner().invoke(warmbase, arguments, input="n\n", env=variables)
    assert asked.exit_code == 3
    assert "Stages without a node on account 123456789012, us-east-1: less than a cent." in asked.stdout
    assert list(tmp_path.iterdir()) == []
    answer = CliRunner().invoke(warmbase, [*arguments, "--yes"], env=variables)
    assert isinstance(answer.exception, Drifted), answer.output
    lines = answer.stdout.splitlines()
    assert any(line.startswith("0  free calls ") for line in lines)
    assert lines[-2] == f"report: {next(tmp_path.glob('*/report.md'))}"
    assert lines[-1].startswith("docs/unconfirmed.md: 2 confirmed, 1 refuted, ")
    report = next(tmp_path.glob("*/report.md")).read_text()
    assert "| statement | if it is wrong | verdict |" in report
    full = CliRunner().invoke(warmbase, [*arguments[:-1], "0-5"], input="n\n", env=variables)
    assert "at most 3 + 5 nodes, $1." in full.stdout
