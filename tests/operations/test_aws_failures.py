"""Every command that asks AWS, with everything that AWS can fail to do: a message with a fix, and no traceback."""

from __future__ import annotations

import importlib
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Timer
from typing import Literal, get_args

import click
import pytest
from _pytest.mark.structures import ParameterSet
from botocore.config import Config
from msgspec import Struct

import warmbase.operations.aws.clients
from tests.command import PROJECT, process_variables, run
from tests.operations.failing_aws import PAGE, PRINCIPAL, Answer, Fail, broken_off, failing_aws, fixed, refusal, silence
from tests.patience import HANG_SECONDS
from warmbase.cli.commands import COMMANDS, command_module, function_name
from warmbase.ground.errors import OperationFailed

ONCE = Config(retries={"total_max_attempts": 1}, connect_timeout=HANG_SECONDS, read_timeout=HANG_SECONDS)
IMPATIENT = ONCE.merge(Config(read_timeout=0.1))
"""The time-outs for a server that never answers; where the identity comes later than that, the message is the same."""

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret"}
NOT_OF_AWS = {
    "new",
    "plan",
    "explain",
    "explore",
    "compare",
    "lint",
    "render",
    "demo",
    "lab setup",
    "lab run",
    "lab scenarios",
    "lab up",
    "lab status",
    "lab down",
    "lab remove",
}
"""Commands that ask nothing of AWS. A new command belongs here, or fails as the table says."""
ARGUMENTS: Mapping[str, tuple[str, ...]] = {"root": ("s3://some-bucket/hbase/",), "against": ("live",)}
"""A valid value for each parameter that a command requires, by its name."""
NEEDED_FLAGS = {"canary": ("--stages", "0", "--yes"), "restart": ("--rolling",)}
"""Flags without which a command asks nothing of AWS."""
Depth = Literal["at once", "after identity"]
FLAGS = {"yes", "dry_run", "take", "check", "everything"}


class Failure(Struct, frozen=True, dict=True):
    """One way to fail: the server or the environment variables that fail, and what the message says."""

    why: str
    fix: str
    fail: Fail | None = None
    variables: Mapping[str, str] | None = None
    again: str = ""
    """The fix where the identity of the credentials is known already, if it is another."""
    cause: str = ""
    """The reason for an answer in JSON or an object of S3, if it differs."""


REACH = "check that this machine reaches that address"
DENIAL = refusal(403, "AccessDeniedException", "User: me is not authorized")
FAILURES = {
    "no profile": Failure(
        "profile (nope) could not be found", "to a profile of ~/.aws/config", None, {"AWS_PROFILE": "nope"}
    ),
    "no credentials": Failure("Unable to locate credentials", "set AWS_PROFILE or other credentials", None, {}),
    "refused connection": Failure(
        "Could not connect", REACH, None, {**CREDENTIALS, "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}
    ),
    "unknown host": Failure(
        "Could not connect", REACH, None, {**CREDENTIALS, "AWS_ENDPOINT_URL": "http://aws.invalid"}
    ),
    "page with 200": Failure("instead of an answer of", "check AWS_ENDPOINT_URL", fixed(200, "text/html", PAGE)),
    "page with 404": Failure(
        "instead of an answer of", "check AWS_ENDPOINT_URL", fixed(404, "text/html; charset=utf-8", PAGE)
    ),
    "text": Failure("instead of an answer of", "check AWS_ENDPOINT_URL", fixed(200, "text/plain", b"It works!")),
    "empty JSON": Failure(
        "instead of an answer of",
        "check AWS_ENDPOINT_URL",
        fixed(200, "application/json", b"{}"),
        cause="the endpoint answered without ",
    ),
    "expired token": Failure(
        "token expired", "get new credentials", refusal(400, "ExpiredTokenException", "token expired")
    ),
    "unknown key": Failure(
        "token is invalid", "get new credentials", refusal(400, "UnrecognizedClientException", "token is invalid")
    ),
    "clock": Failure(
        "Signature expired", "check the clock", refusal(403, "SignatureDoesNotMatch", "Signature expired")
    ),
    "denied": Failure(
        "is not authorized",
        "allow these credentials the action ",
        DENIAL,
        again=f"allow {PRINCIPAL} the action ",
    ),
    "throttled": Failure("Rate exceeded", "wait a minute", refusal(400, "ThrottlingException", "Rate exceeded")),
    "internal error": Failure("we failed", "wait a few minutes", refusal(500, "InternalFailure", "we failed")),
    "load balancer": Failure(
        "503", "wait a few minutes", fixed(503, "text/html", b"<html><b>Http/1.1 Service Unavailable</b></html>")
    ),
    "closed connection": Failure("Connection was closed", REACH, lambda _: None),
    "broken answer": Failure(
        "10 read, but total bytes expected is 110",
        "the connection was lost",
        broken_off,
        cause="IncompleteRead(10 bytes read",
    ),
    "silence": Failure("Read timeout", REACH, silence),
}


def leaves(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from leaves(inner, f"{path} {name}")
    else:
        yield path, command


def command_lines() -> Iterator[tuple[tuple[str, ...], bool]]:
    """Yield each command with what it requires, and again with each of the flags that change what it asks.

    Beside each line stands whether it has one of these flags.
    """
    for name in COMMANDS:
        for path, command in leaves(getattr(importlib.import_module(command_module(name)), function_name(name)), name):
            if path in NOT_OF_AWS:
                continue
            line = [*path.split(), *NEEDED_FLAGS.get(path, ())]
            for parameter in command.params:
                value = ARGUMENTS.get(parameter.name or "", ("ENV",) if parameter.name != "cluster_name" else ("blue",))
                if parameter.required:
                    line += [*(parameter.opts[:1] if isinstance(parameter, click.Option) else ()), *value]
            yield tuple(line), False
            for parameter in command.params:
                if parameter.name in FLAGS:
                    yield (*line, parameter.opts[0]), True


LINES = dict(sorted(command_lines()))


def cases() -> Iterator[ParameterSet]:
    """Yield each command with each failure, at its first request and where AWS has named the identity before.

    A diagonal of them is quick: each command with another failure, and each failure with another command. A line with
    a flag is in the diagonal alone, because a flag does not change how the error of a request is explained.
    """
    for number, (line, has_flag) in enumerate(LINES.items()):
        for place, (name, failure) in enumerate(FAILURES.items()):
            for depth in get_args(Depth) if failure.fail else ("at once",):
                is_quick = (number - place) % len(FAILURES) == 0 and (failure.fail is None or depth != "at once")
                if has_flag and not is_quick:
                    continue
                marks = () if is_quick else pytest.mark.thorough
                yield pytest.param(line, name, depth, marks=marks, id=f"{' '.join(line)}-{name}-{depth}")


@pytest.fixture
def environment(tmp_path: Path) -> str:
    file = tmp_path / "dev.yaml"
    file.write_text((PROJECT / "environments/dev.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    return str(file)


def ran(
    line: tuple[str, ...], failure: Failure, environment: str, monkeypatch: pytest.MonkeyPatch, *, identity: bool
) -> subprocess.CompletedProcess[str]:
    monkeypatch.setattr(warmbase.operations.aws.clients, "PATIENT", IMPATIENT if failure.fail is silence else ONCE)
    variables = {"HOME": str(Path(environment).parent), "AWS_EC2_METADATA_DISABLED": "true"}
    with ExitStack() as stack:
        if failure.fail is not None:
            aws = stack.enter_context(failing_aws(failure.fail, answers_identity=identity))
            variables |= {**CREDENTIALS, "AWS_ENDPOINT_URL": aws.url}
        arguments = [environment if word == "ENV" else word for word in line]
        return run(*arguments, variables={**variables, **(failure.variables or {})})


@pytest.mark.parametrize(("line", "name", "depth"), list(cases()))
def test_a_failure_of_aws_has_a_cause_and_a_fix(
    line: tuple[str, ...], name: str, depth: Depth, environment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    failure, identity = FAILURES[name], depth == "after identity"
    answer = ran(line, failure, environment, monkeypatch, identity=identity)
    assert answer.returncode == 1, f"{answer.stdout}{answer.stderr}"
    assert "Traceback" not in answer.stderr
    assert failure.why in answer.stderr or (failure.cause and failure.cause in answer.stderr)
    fix = (identity and failure.again) or failure.fix
    assert f"fix: {fix}" in answer.stderr or re.search(f"fix: .*{re.escape(fix)}", answer.stderr)


def test_the_other_commands_ask_nothing_of_aws() -> None:
    sources = {
        name.split()[0]: Path(f"{command_module(name.split()[0]).replace('.', '/')}.py").read_text()
        for name in NOT_OF_AWS
    }
    assert [name for name, text in sources.items() if re.search(r"operations\.(aws|identity)", text)] == []
    assert {line[0] for line in LINES} | {name.split()[0] for name in NOT_OF_AWS} == set(COMMANDS)


def test_an_endpoint_that_is_no_url_is_invalid_input(environment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    failure = Failure("it is not a URL", "unset it", None, {**CREDENTIALS, "AWS_ENDPOINT_URL": "nonsense"})
    answer = ran(("status", "ENV"), failure, environment, monkeypatch, identity=False)
    assert (answer.returncode, answer.stderr.splitlines()[0]) == (2, "AWS_ENDPOINT_URL  nonsense")


def test_a_throttled_call_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda _: None)
    with failing_aws(refusal(400, "Throttling", "Rate exceeded")) as aws:
        client = warmbase.operations.aws.clients.Aws(
            {**CREDENTIALS, "AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": aws.url}
        )
        with pytest.raises(OperationFailed, match="wait a minute"):
            assert client.caller
    assert aws.services == ["sts"] * 8


WATCH = (
    "import sys; from botocore.config import Config; from warmbase.operations.aws import clients;"
    " import warmbase.cli.operate.status;"
    " clients.PATIENT = Config(retries={'total_max_attempts': 1}, connect_timeout=60, read_timeout=2);"
    " sys.modules['warmbase.cli.operate.status'].WATCH_SECONDS = 0.05; from warmbase.cli.main import main; main()"
)


def nothing(service: str) -> Answer | None:
    """Answer as AWS does where an environment has no cluster: no parameter, no stack, and an empty list of clusters."""
    if service == "elasticmapreduce":
        return Answer(200, "application/x-amz-json-1.1", b'{"Clusters": []}')
    if service == "cloudformation":
        return refusal(400, "ValidationError", "Stack with id x does not exist")(service)
    return refusal(400, "ParameterNotFound", "none")(service)


IDLE = "no cluster runs"


@contextmanager
def watching(environment: str, variables: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
    """Run `status --watch` as a process, which must go on until a signal ends it, and print no traceback."""
    command = [sys.executable, "-u", "-c", WATCH, "status", environment, "--watch"]
    known = {**process_variables(), "HOME": "/nonexistent", "AWS_EC2_METADATA_DISABLED": "true", **variables}
    with subprocess.Popen(
        command, cwd=PROJECT, env=known, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        end = Timer(HANG_SECONDS, process.kill)
        end.start()
        try:
            yield process
            assert process.poll() is None
            process.send_signal(signal.SIGTERM)  # a shell makes its background jobs ignore SIGINT
            assert process.wait(HANG_SECONDS) == 128 + signal.SIGTERM
            assert process.stderr is not None
            assert "Traceback" not in process.stderr.read()
        finally:
            end.cancel()
            process.kill()


@pytest.mark.thorough
def test_status_goes_on_watching_while_aws_fails(environment: str) -> None:
    """Each failure comes and goes while one process watches; in between, AWS knows no cluster."""
    with (
        failing_aws(nothing, answers_identity=True) as aws,
        watching(environment, {**CREDENTIALS, "AWS_ENDPOINT_URL": aws.url}) as process,
    ):
        wait_for(process, IDLE)
        for name, failure in FAILURES.items():
            if failure.fail is not None:
                aws.fail, aws.answers_identity = failure.fail, False
                wait_for(process, failure.why)
                aws.fail, aws.answers_identity = nothing, True
                wait_for(process, IDLE)
                assert process.poll() is None, name


def test_status_watches_through_an_expired_token_at_the_start(environment: str) -> None:
    expired = FAILURES["expired token"]
    assert expired.fail is not None
    with (
        failing_aws(expired.fail) as aws,
        watching(environment, {**CREDENTIALS, "AWS_ENDPOINT_URL": aws.url}) as process,
    ):
        wait_for(process, expired.why)
        wait_for(process, f"fix: {expired.fix}")
        aws.fail, aws.answers_identity = nothing, True
        wait_for(process, IDLE)


@pytest.mark.thorough
def test_status_watches_while_the_network_is_away_at_the_start_and_in_the_middle(environment: str) -> None:
    """The address refuses connections, then a server listens there, and then it is away again."""
    with failing_aws(nothing) as aws:
        url = aws.url
    with watching(environment, {**CREDENTIALS, "AWS_ENDPOINT_URL": url}) as process:
        for _ in range(2):
            wait_for(process, FAILURES["refused connection"].why)
            wait_for(process, REACH)
            with failing_aws(nothing, answers_identity=True, port=int(url.rpartition(":")[2])):
                wait_for(process, IDLE)
        wait_for(process, FAILURES["refused connection"].why)


@pytest.mark.thorough
def test_status_watches_while_the_profile_is_missing_at_the_start_and_in_the_middle(
    environment: str, tmp_path: Path
) -> None:
    """Each turn reads the configuration again, so that the profile may be added, and removed, while it watches."""
    config = tmp_path / "config"
    profile = "[profile nope]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = secret\nregion = us-east-1\n"
    with failing_aws(nothing, answers_identity=True) as aws:
        variables = {"AWS_PROFILE": "nope", "AWS_CONFIG_FILE": str(config), "AWS_ENDPOINT_URL": aws.url}
        with watching(environment, variables) as process:
            for _ in range(2):
                wait_for(process, FAILURES["no profile"].why)
                wait_for(process, FAILURES["no profile"].fix)
                config.write_text(profile, encoding="utf-8")
                wait_for(process, IDLE)
                config.write_text("", encoding="utf-8")
            wait_for(process, FAILURES["no profile"].why)


def wait_for(process: subprocess.Popen[str], text: str) -> None:
    """Read the process's output until a line has the text, or the process ends."""
    assert process.stdout is not None
    assert any(text in line for line in process.stdout), f"ended without {text!r}"
