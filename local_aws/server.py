"""A local AWS in its own process: it starts on a free loopback port and ends with the caller."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from ipaddress import ip_address
from pathlib import Path
from typing import Final
from urllib.parse import urlparse

from msgspec import Struct

from warmbase.ground.errors import InvalidInput, OperationFailed

ACCOUNT: Final = "123456789012"  # moto's own account, the only one whose resources can refer to each other
HOST: Final = "127.0.0.1"
# judgement: an idle machine needs 1.5 s, a loaded one with two cores needed 9; this ends only what hangs.
START_SECONDS: Final = 600.0
STOP_SECONDS: Final = 10.0
HEALTH_SECONDS: Final = 20.0
# An address where nothing answers (port 1 is reserved for tcpmux), for calls that must not reach any AWS.
NOWHERE: Final = f"http://{HOST}:1"
# Variables that could send a client to a real account, to other credentials, or that stand for an option of the CDK
# command line: CDK_PROFILE is its --profile.
FOREIGN: Final = ("AWS_", "CDK_")
STAY: Final = "stay"
"""The text on standard input that tells a server to outlive that input."""
ID_HEADER: Final = "x-local-aws-"
"""Begins the header in which a request states the id of the resource that it creates, such as `x-local-aws-vpc`."""
ACCOUNT_HEADER: Final = "x-moto-account-id"
"""The header in which a request states the account that it is of."""
PROJECT: Final = Path(__file__).parents[1]


class LocalAws(Struct, frozen=True, kw_only=True):
    """A local AWS: its address, and the id of its process, None where somebody else started it."""

    endpoint: str
    region: str
    process_id: int | None

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of an AWS client or of the CDK CLI: this process's own, bound to the local AWS."""
        return local_environment(self.endpoint, self.region, os.environ)


def local_environment(endpoint: str, region: str, inherited: Mapping[str, str]) -> dict[str, str]:
    """Return the inherited variables without those of AWS or the CDK, plus those that lead to the endpoint."""
    refuse_remote(endpoint)
    variables = {name: value for name, value in inherited.items() if not name.startswith(FOREIGN)}
    return variables | {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
        "AWS_ACCOUNT_ID": ACCOUNT,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "CDK_DEFAULT_ACCOUNT": ACCOUNT,
        "CDK_DEFAULT_REGION": region,
        "NO_PROXY": f"{HOST},localhost",
        "no_proxy": f"{HOST},localhost",
    }


def refuse_remote(endpoint: str) -> None:
    """Raise InvalidInput for an endpoint that is not on this machine: the demo must never reach a real account."""
    host = urlparse(endpoint).hostname
    with suppress(ValueError):  # a name other than localhost
        if host == "localhost" or ip_address(host or "").is_loopback:
            return
    raise InvalidInput.of(
        where=endpoint or "(no endpoint)",
        what="is not on this machine",
        why=f"its host, {host or '(none)'}, is not a loopback address, so a real account could be reached",
        fix="start the local AWS with `python -m local_aws` and use the endpoint it prints",
    )


@contextmanager
def local_aws(
    region: str = "us-east-1",
    *,
    start_seconds: float = START_SECONDS,
    keep: bool = False,
    readings: str = "usual",
) -> Iterator[LocalAws]:
    """Run an empty local AWS on a free loopback port within the block.

    It also ends when this process dies, however it dies: the server watches the pipe on its standard input. With `keep`
    it stays up once the block has ended well, until somebody ends its process. Raises OperationFailed when it does not
    answer in time.
    """
    # In its own session, so that Ctrl-C reaches only this process, which ends the server last.
    process = subprocess.Popen(
        [sys.executable, "-m", "local_aws", "--port", "0", "--until-stdin-closes", "--readings", readings],
        cwd=PROJECT,
        env={name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    assert process.stdout is not None  # noqa: S101 - it was made with a pipe
    stays = False
    try:
        deadline = time.monotonic() + start_seconds
        ready, _, _ = select.select([process.stdout], [], [], start_seconds)
        line = process.stdout.readline() if ready else ""
        if not line.startswith("http://"):
            raise _not_started(f"it printed {line!r} instead of its endpoint, exit status {process.poll()}")
        endpoint = line.strip()
        while not is_healthy(endpoint):
            if time.monotonic() > deadline:
                raise _not_started(f"{endpoint} did not answer in time")
            time.sleep(0.05)
        yield LocalAws(endpoint=endpoint, region=region, process_id=process.pid)
        if keep:
            _let_stay(process)
            stays = True
    finally:
        if not stays:
            stop(process)


@contextmanager
def running_aws(endpoint: str, region: str) -> Iterator[LocalAws]:
    """Use a local AWS that somebody else started. Raises InvalidInput for a remote endpoint or where none answers."""
    refuse_dead(endpoint)
    yield LocalAws(endpoint=endpoint, region=region, process_id=None)


def refuse_dead(endpoint: str) -> None:
    """Raise InvalidInput for an endpoint that is not on this machine, or where no local AWS answers."""
    if not is_healthy(endpoint):
        raise InvalidInput.of(
            where=endpoint,
            what="no local AWS",
            why="no local AWS answers there",
            fix="leave out the endpoint to start a new local AWS",
        )


def _let_stay(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None  # noqa: S101 - it was made with a pipe
    try:
        process.stdin.write(STAY)
        process.stdin.close()
    except BrokenPipeError:
        raise OperationFailed.of(
            where="the local AWS",
            what="has ended by itself, so it cannot stay",
            why="",
            fix="run the same command again",
        ) from None
    if process.stdout:
        process.stdout.close()


def stop(process: subprocess.Popen[str]) -> None:
    """Terminate the process, and kill it after a time limit."""
    if process.stdin:
        process.stdin.close()
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(STOP_SECONDS)
    if process.stdout:
        process.stdout.close()


def is_healthy(endpoint: str) -> bool:
    """Return whether a local AWS answers there."""
    refuse_remote(endpoint)
    try:
        parts = urlparse(endpoint)
        connection = HTTPConnection(parts.hostname or HOST, parts.port, timeout=HEALTH_SECONDS)
    except ValueError:  # an invalid port
        return False
    try:
        # This page stays short however much is deployed; moto answers it with the status Created.
        connection.request("GET", "/moto-api/config")
        answer = connection.getresponse()
        return answer.status in {HTTPStatus.OK, HTTPStatus.CREATED} and isinstance(json.load(answer), dict)
    except (OSError, HTTPException, ValueError):  # nothing listens there, or another protocol
        return False
    finally:
        connection.close()


def _not_started(why: str) -> OperationFailed:
    return OperationFailed.of(
        where="the local AWS",
        what="did not start",
        why=why,
        fix="run `python -m local_aws` by itself and read what it prints",
    )
