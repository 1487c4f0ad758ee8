"""One command at a time changes an environment, and a command that has lost its lock changes nothing more."""

from __future__ import annotations

import ast
import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import boto3
import click
import pytest
from botocore.exceptions import ClientError, ConnectionClosedError, EndpointConnectionError
from click.testing import CliRunner
from moto import mock_aws
from msgspec.structs import asdict

from local_aws.extension import install
from tests.operations.deployed import PROJECT
from tests.operations.mocked_aws import operator
from warmbase.cli.operate.unlock import unlock
from warmbase.cli.signals import Stopped
from warmbase.cli.terminal import print_json_error, print_notes
from warmbase.environments.environment import Environment
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import InvalidInput, OperationFailed, Refused
from warmbase.operations.aws import lock as module
from warmbase.operations.aws.clients import Aws, examining, is_reading, only_reading
from warmbase.operations.aws.lock import LockContent, current_lock, environment_lock, holder_text, remove_lock

PARAMETER = "/warmbase/dev/lock"


@pytest.fixture
def aws() -> Iterator[Aws]:
    install()
    with mock_aws():
        yield operator("A")


@pytest.fixture
def dev() -> Environment:
    return read_environment("dev")


def change(aws: Aws) -> None:
    """Makes a call that changes something."""
    aws.s3.create_bucket(Bucket="anything")


def refusal(code: str, operation: str) -> Callable[..., None]:
    """Return a call that AWS refuses with this code."""

    def refuse(**_: object) -> None:
        raise ClientError({"Error": {"Code": code, "Message": "refused"}}, operation)

    return refuse


def lock_content(aws: Aws) -> LockContent:
    """Return the content of the lock, which somebody must hold."""
    lock = current_lock(aws, "dev")
    assert lock is not None
    return lock


def written(aws: Aws, **changes: str) -> None:
    """Overwrites the lock with one of another command."""
    text = aws.lock_client.get_parameter(Name=PARAMETER)["Parameter"]["Value"]
    aws.lock_client.put_parameter(Name=PARAMETER, Value=json.dumps(json.loads(text) | changes), Overwrite=True)


def test_changes_pass_only_while_the_lock_is_held(aws: Aws, dev: Environment) -> None:
    with pytest.raises(Refused, match="AWS CreateBucket  was not called"):
        change(aws)
    assert aws.s3.list_buckets()["Buckets"] == []
    with environment_lock(aws, dev, "deploy") as lock:
        assert current_lock(aws, "dev") == lock.content
        change(aws)
    assert current_lock(aws, "dev") is None
    with pytest.raises(Refused, match="was not called"):
        aws.s3.delete_bucket(Bucket="anything")


def test_a_second_command_is_refused_and_names_the_first(aws: Aws, dev: Environment) -> None:
    other = operator("B")
    with (
        environment_lock(aws, dev, "reconfigure"),
        pytest.raises(Refused, match=r"held by `warmbase reconfigure` of arn:aws:sts.*\n  fix: .*warmbase unlock dev"),
        environment_lock(other, dev, "deploy"),
    ):
        raise AssertionError
    with environment_lock(other, dev, "deploy"):
        pass


def test_the_lock_is_released_after_an_error_and_after_a_signal(aws: Aws, dev: Environment) -> None:
    for error in (ValueError(), Stopped(2)):
        with pytest.raises(type(error)), environment_lock(aws, dev, "deploy"):
            raise error
        assert current_lock(aws, "dev") is None


@pytest.mark.parametrize("taken", [False, True], ids=["removed", "taken by another"])
def test_a_command_whose_lock_was_removed_changes_nothing_more(taken: bool, aws: Aws, dev: Environment) -> None:  # noqa: FBT001
    other = operator("B")
    with environment_lock(aws, dev, "deploy") as lock:
        remove_lock(other, "dev", lock.content.token)
        if taken:
            with environment_lock(other, dev, "teardown"), pytest.raises(Refused, match="held by `warmbase teardown`"):
                change(aws)
        with pytest.raises(Refused, match="is no longer locked by this command"):
            change(aws)
        assert aws.s3.list_buckets()["Buckets"] == []
        aws.lock_client.put_parameter(Name=PARAMETER, Value=json.dumps(asdict(lock.content)), Type="String")


def test_the_end_of_a_command_leaves_the_lock_of_another(aws: Aws, dev: Environment) -> None:
    with (
        pytest.raises(Refused, match="is no longer locked by this command"),
        environment_lock(aws, dev, "deploy"),
    ):
        written(aws, token="another")
    assert current_lock(aws, "dev") is not None


def test_where_the_lock_cannot_be_read_nothing_is_changed(
    aws: Aws, dev: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    with environment_lock(aws, dev, "deploy"), monkeypatch.context() as patch:
        patch.setattr(aws.lock_client, "get_parameter", refusal("ThrottlingException", "GetParameter"))
        with pytest.raises(OperationFailed, match="could not read the lock"):
            change(aws)


def test_any_call_renews_and_only_the_lock_of_its_own_command(
    aws: Aws, dev: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RENEWAL_SECONDS", -1.0)
    monkeypatch.setattr(module, "_now", lambda: "later")
    with environment_lock(aws, dev, "deploy") as lock:
        assert "last renewed" not in holder_text(aws, "dev", lock.content)
        aws.s3.list_buckets()
        assert holder_text(aws, "dev", lock.content).endswith(", last renewed at later")
        written(aws, token="another")
        monkeypatch.setattr(module, "_now", lambda: "later still")
        aws.s3.list_buckets()
        assert "later still" not in holder_text(aws, "dev", lock.content)
        assert "last renewed" not in holder_text(aws, "dev", lock_content(aws))
        with pytest.raises(Refused, match="since later\n"), environment_lock(operator("B"), dev, "pin"):
            raise AssertionError
        written(aws, token=lock.content.token)
    assert aws.lock_client.describe_parameters()["Parameters"] == []


def test_a_change_is_not_tried_again_once_the_lock_is_another_commands(
    aws: Aws, dev: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A laptop sleeps after a failed attempt, somebody removes its lock, and it wakes up."""
    monkeypatch.setattr(time, "sleep", lambda _: None)
    other, second, attempts = operator("B"), ExitStack(), list[str]()

    def sleep(operation_name: str = "", **_: object) -> None:
        attempts.append(operation_name)
        assert remove_lock(other, "dev", lock_content(other).token)
        second.enter_context(environment_lock(other, dev, "teardown"))
        raise ConnectionClosedError(endpoint_url="https://s3")

    aws.s3.meta.events.register_first("before-send.s3.CreateBucket", sleep)
    with pytest.raises(Refused, match="held by `warmbase teardown`"), environment_lock(aws, dev, "deploy"):
        change(aws)
    aws.s3.meta.events.unregister("before-send.s3.CreateBucket", sleep)
    assert len(attempts) == 1
    assert other.s3.list_buckets()["Buckets"] == []
    second.close()


def test_a_renewal_revives_no_lock_that_was_removed_meanwhile(
    aws: Aws, dev: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another command takes the lock between the two calls of a renewal."""
    monkeypatch.setattr(module, "RENEWAL_SECONDS", -1.0)
    other, read, second = operator("B"), module.current_lock, ExitStack()

    def overtaken(*where: Any) -> LockContent | None:
        before = read(*where)
        assert before is not None
        monkeypatch.setattr(module, "current_lock", read)
        assert remove_lock(other, "dev", before.token)
        second.enter_context(environment_lock(other, dev, "pin"))
        return before

    def deploy() -> None:
        with environment_lock(aws, dev, "deploy"):
            monkeypatch.setattr(module, "current_lock", overtaken)
            aws.s3.list_buckets()
            change(aws)

    with pytest.raises(Refused, match="held by `warmbase pin`"):
        deploy()
    assert lock_content(aws).command == "warmbase pin"
    assert "last renewed" not in holder_text(aws, "dev", lock_content(aws))
    change(other)
    second.close()
    assert current_lock(aws, "dev") is None


@pytest.mark.parametrize(
    "error_of",
    [lambda: EndpointConnectionError(endpoint_url="https://ssm"), lambda: Stopped(2)],
    ids=["the network fails", "a signal comes"],
)
@pytest.mark.parametrize("is_back", [True, False], ids=["a moment later AWS answers", "AWS stays silent"])
def test_a_command_that_ends_while_it_takes_the_lock_leaves_none_unnoticed(
    error_of: Callable[[], BaseException],
    is_back: bool,  # noqa: FBT001
    aws: Aws,
    dev: Environment,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The parameter exists when its first reading fails, or when a signal ends the command."""
    read, failures = aws.lock_client.get_parameter, 0

    def fail(**names: Any) -> Any:
        nonlocal failures
        failures += 1
        if failures == 1:
            raise error_of()
        if not is_back:
            raise EndpointConnectionError(endpoint_url="https://ssm")
        return read(**names)

    with monkeypatch.context() as patch:
        patch.setattr(aws.lock_client, "get_parameter", fail)
        with pytest.raises((OperationFailed, Stopped)) as caught, environment_lock(aws, dev, "deploy"):
            raise AssertionError
    remains = current_lock(aws, "dev")
    assert (remains is None) is is_back
    notes = getattr(caught.value, "__notes__", [])
    assert [bool(remains and note.endswith(f"warmbase unlock dev --token {remains.token}")) for note in notes] == (
        [] if is_back else [True]
    )
    assert aws.gate is only_reading


class TestExpired:
    """The credentials of a command expire while it holds the lock."""

    @pytest.fixture
    def deploy(
        self, aws: Aws, dev: Environment, monkeypatch: pytest.MonkeyPatch
    ) -> Callable[[BaseException | None], None]:
        """Return a command whose lock cannot be removed, and which may also fail."""

        def run(cause: BaseException | None) -> None:
            with environment_lock(aws, dev, "deploy"):
                change(aws)
                refuse = refusal("ExpiredTokenException", "DeleteParameter")
                monkeypatch.setattr(aws.lock_client, "delete_parameter", refuse)
                if cause is not None:
                    raise cause

        return run

    @pytest.mark.parametrize("cause", [OperationFailed.of(where="x", what="y", why="", fix="z"), Stopped(2)])
    def test_the_cause_stays_the_error_and_names_the_lock(
        self, cause: BaseException, deploy: Callable[..., None], aws: Aws, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(type(cause)) as caught:
            deploy(cause)
        assert caught.value is cause
        print_notes(cause)
        note = capsys.readouterr().err
        assert re.fullmatch(
            f"environment dev is still locked: .* warmbase unlock dev --token {lock_content(aws).token}\n", note
        )
        if isinstance(cause, OperationFailed):
            # A program reads the same lines as a person does; an error without notes has no key for them.
            print_json_error(click.Context(click.Command("deploy")), cause)
            error = json.loads(capsys.readouterr().out)["error"]
            assert (error["notes"], error["kind"], error["exit_code"]) == ([note.rstrip()], "operation_failed", 1)
            assert "notes" not in OperationFailed.of(where="x", what="y", why="", fix="z").document()["error"]

    def test_a_command_that_is_done_names_the_lock_that_stays(self, deploy: Callable[..., None], aws: Aws) -> None:
        with pytest.raises(OperationFailed) as caught:
            deploy(None)
        [problem] = caught.value.problems
        assert problem.what == "is still locked, although the command has finished its changes"
        assert problem.why.endswith("refused")
        assert problem.fix.endswith(f"warmbase unlock dev --token {lock_content(aws).token}")
        assert aws.gate is only_reading


def test_a_parameter_that_was_deleted_a_moment_ago_is_waited_for(
    aws: Aws, dev: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Systems Manager may show a deletion or a creation late."""
    monkeypatch.setattr(module, "FIRST_POLL_SECONDS", 0.0)
    monkeypatch.setattr(module, "POLL_SECONDS", 0.0)
    read, late = module.current_lock, [None, None]
    monkeypatch.setattr(module, "current_lock", lambda *where: late.pop() if late else read(*where))
    with environment_lock(aws, dev, "deploy"):
        change(aws)
    assert late == []


def test_a_lock_of_another_form_is_held_too(aws: Aws, dev: Environment) -> None:
    aws.lock_client.put_parameter(Name=PARAMETER, Value="by hand", Type="String")
    with pytest.raises(Refused, match="`unknown` of unknown"), environment_lock(aws, dev, "deploy"):
        raise AssertionError
    assert LockContent.parse("[]").token == "[]"


def test_every_operation_that_is_not_a_closed_list_of_readings_is_a_change() -> None:
    changing = ("CreateBucket", "PutObject", "ModifyInstanceGroups", "SetStackPolicy", "TerminateJobFlows", "Getaway")
    reading = ("GetObject", "DescribeCluster", "ListObjectsV2", "HeadBucket", "DetectStackDrift")
    assert [is_reading(name) for name in (*changing, *reading)] == [False] * 6 + [True] * 5
    for name in ("AddJobFlowSteps", "SendCommand", "CancelSteps"):
        examining(name)
        with pytest.raises(Refused):
            only_reading(name)
    with pytest.raises(Refused):
        examining("TerminateJobFlows")
    # By AWS's own naming, operations that begin with these words only read, in the services that we use.
    for service in ("emr", "cloudformation", "cloudwatch", "s3", "ssm", "ec2", "service-quotas", "pricing"):
        operations = boto3.client(service, region_name="us-east-1").meta.service_model.operation_names
        for name in filter(is_reading, operations):
            assert name.startswith(("Describe", "Get", "List", "Head", "BatchGet", "DetectStackDrift"))


def test_only_the_emulator_and_the_lock_avoid_the_gate() -> None:
    """The client without a gate is the lock's own, and the gate that lets everything pass is for this machine."""
    allowed = {"lock_client": {"clients.py", "lock.py"}, "any_call": {"clients.py", "demo.py"}}
    for room in ("warmbase", "lab"):
        for file in sorted((PROJECT / room).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text())):
                name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
                assert file.name in allowed.get(str(name), {file.name}), file


class TestUnlock:
    """The command shows who holds the lock, and removes only the lock that was shown."""

    @pytest.fixture(autouse=True)
    def _clients(self, aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("warmbase.cli.operate.unlock.environment_aws", lambda *_: aws)

    def test_an_environment_without_a_lock_stays_so(self) -> None:
        assert CliRunner().invoke(unlock, ["dev"]).output == "environment dev is not locked\n"

    def test_yes_needs_the_token_of_the_lock(self, aws: Aws, dev: Environment) -> None:
        with environment_lock(aws, dev, "teardown blue") as lock:
            for arguments in (["--yes"], ["--yes", "--token", "another"], ["--token", "another"]):
                answer = CliRunner().invoke(unlock, ["dev", *arguments])
                assert isinstance(answer.exception, InvalidInput)
                assert current_lock(aws, "dev") == lock.content
            answer = CliRunner().invoke(unlock, ["dev", "--yes", "--token", lock.content.token])
            assert (answer.exit_code, current_lock(aws, "dev")) == (0, None)
            aws.lock_client.put_parameter(Name=PARAMETER, Value=json.dumps(asdict(lock.content)), Type="String")

    def test_it_shows_the_holder_and_asks(self, aws: Aws, dev: Environment) -> None:
        with environment_lock(aws, dev, "teardown blue") as lock:
            answer = CliRunner().invoke(unlock, ["dev"], input="n\n")
            assert (answer.exit_code, current_lock(aws, "dev")) == (3, lock.content)
            for words in ("warmbase teardown blue", "risk ", lock.content.since, lock.content.token):
                assert words in answer.output
            assert CliRunner().invoke(unlock, ["dev"], input="y\n").exit_code == 0
            assert current_lock(aws, "dev") is None
            aws.lock_client.put_parameter(Name=PARAMETER, Value=json.dumps(asdict(lock.content)), Type="String")
