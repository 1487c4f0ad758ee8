"""AWS refusing, at each call of each operation: an error that says how to go on, nothing lost, and it goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError, EndpointConnectionError
from moto import mock_aws

from local_aws.extension import install
from tests.operations.deployed import Cut, Deployed, deployed
from tests.operations.mocked_aws import clients
from warmbase.environments.launch_record import launch_records
from warmbase.ground.errors import OperationFailed
from warmbase.operations.aws.clients import PATIENT
from warmbase.operations.aws.progress import carry_out
from warmbase.operations.cluster import stack
from warmbase.operations.cluster.claims import release
from warmbase.operations.cluster.drift import cluster_drift
from warmbase.operations.cluster.state import state
from warmbase.operations.deploy import tuning
from warmbase.operations.deploy.pinning import check_pinned
from warmbase.operations.deploy.preflight import preflight
from warmbase.operations.deploy.teardown import Consent, teardown
from warmbase.operations.deploy.tuning import reconfiguration

RETRIES = vars(PATIENT)["retries"]
FIXES = {
    "ExpiredToken": "get new credentials",
    "AccessDeniedException": "allow these credentials the action named above",
    "ThrottlingException": "wait a minute, and run the same command again",
}

READS = ("Describe", "List", "Get", "Head", "Lookup", "Filter", "Simulate")
OTHER_CODES = ("ExpiredToken", "ThrottlingException")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployed]:
    for module in (tuning, stack):
        monkeypatch.setattr(module, "FIRST_POLL_SECONDS", 0.0)
        monkeypatch.setattr(module, "POLL_SECONDS", 0.0)
    install()
    with mock_aws():
        yield deployed(clients(), tmp_path)


def run_preflight(here: Deployed) -> None:
    list(preflight(here.aws, here.environment, {"blue": here.launch}, launch_records(here.environment)))


def whole_status(here: Deployed) -> None:
    """Read the state; what AWS refuses of it is one part, which names the call and not the fix."""
    now = state(here.aws, here.environment)
    unread = [*now.unread.values(), *(why for cluster in now.clusters for why in cluster.unread.values())]
    if unread:
        raise OperationFailed.of(where="status", what="; ".join(unread), why="", fix="")


def reconfigured(here: Deployed) -> None:
    carry_out(reconfiguration(here.aws, here.tuning()), Cut())


def torn_down(here: Deployed) -> None:
    """Return what is left of a cluster that is gone."""
    record = launch_records(here.environment).get("blue")
    consent = Consent(lost_cluster=record.cluster_id if record else None)
    carry_out(teardown(here.aws, here.environment, "blue", consent), Cut())


OPERATIONS: dict[str, Callable[[Deployed], object]] = {
    "preflight": run_preflight,
    "status": whole_status,
    "drift": lambda here: cluster_drift(here.aws, here.launch),
    "pin --check": lambda here: check_pinned(here.aws, here.environment, "blue"),
    "claim --take": lambda here: release(here.aws, here.environment, None),
    "reconfigure": reconfigured,
    "teardown": torn_down,
}


def prepared(here: Deployed, operation: str) -> None:
    if operation == "reconfigure":
        here.edit("clusters:", "overrides: {hbase-site: {hbase.regionserver.handler.count: '77'}}\nclusters:")
    if operation == "teardown":
        here.aws.emr.set_termination_protection(JobFlowIds=[here.cluster_id], TerminationProtected=False)
        here.aws.emr.terminate_job_flows(JobFlowIds=[here.cluster_id])


class Failing:
    """Lets so many calls of AWS's APIs pass, and refuses the next."""

    def __init__(self, original: Callable[..., Any], error: Callable[[str], Exception]) -> None:
        self.original, self.error = original, error
        self.left, self.refused, self.forever = -1, "", False
        self.answers: dict[str, Any] | None = {}

    def __call__(self, client: BaseClient, operation: str, parameters: Any) -> Any:
        """As botocore's client calls. The local AWS asks itself as well, by clients of its own: these pass."""
        if vars(client.meta.config).get("retries") != RETRIES:
            return self.original(client, operation, parameters)
        if self.left == 0:
            self.left, self.refused = 0 if self.forever else -1, operation
            raise self.error(operation)
        self.left -= 1
        return self.answer(client, operation, parameters)

    def answer(self, client: BaseClient, operation: str, parameters: Any) -> Any:
        """Return what AWS answers. Until a call changes something, it gives the same answer to the same question.

        An operation of 100 calls is begun 100 times, so that most of its questions have been answered before.
        """
        if not operation.startswith(READS):
            self.answers = None
        if self.answers is None:
            return self.original(client, operation, parameters)
        question = repr((client.meta.service_model.service_name, operation, parameters))
        if question not in self.answers:
            answer = self.original(client, operation, parameters)
            if "Body" in answer:  # is read but once
                return answer
            self.answers[question] = answer
        return deepcopy(self.answers[question])


def failure_of(operation: Callable[[Deployed], object], here: Deployed) -> str | None:
    """Return what it says; None where it succeeds."""
    try:
        operation(here)
    except OperationFailed as failure:
        return str(failure)
    return None


def installed(failing: Failing, monkeypatch: pytest.MonkeyPatch) -> None:
    def called(client: BaseClient, operation: str, parameters: Any) -> Any:
        return failing(client, operation, parameters)

    monkeypatch.setattr(BaseClient, "_make_api_call", called)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(
    "code", ["AccessDeniedException", *(pytest.param(code, marks=pytest.mark.thorough) for code in OTHER_CODES)]
)
def test_each_call_that_is_refused_says_how_to_go_on(
    operation: str, code: str, here: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The calls are counted as they come: however many an operation makes, each is refused once."""
    prepared(here, operation)

    def refusal(called: str) -> ClientError:
        return ClientError({"Error": {"Code": code, "Message": "no"}}, called)

    failing = Failing(BaseClient._make_api_call, refusal)  # type: ignore[attr-defined]
    installed(failing, monkeypatch)
    passed, refused, ignored = 0, 0, []
    while True:
        failing.left, failing.refused = passed, ""
        said = failure_of(OPERATIONS[operation], here)
        if said is not None:
            assert said.startswith("status  ") or FIXES[code] in said, f"{failing.refused}: {said}"
            assert failing.refused in said
            refused += 1
        if not failing.refused:
            break
        states = list(here.aws.emr.list_clusters()["Clusters"])
        assert len(states) == 1, "never a second cluster"
        ignored += [failing.refused] if refused == 0 else []
        passed += 1
    assert refused >= 1
    # What may go unread without an error: a quota, how much of a cache is kept, and who is notified (status says so).
    assert passed - refused <= 5, ignored


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_aws_that_does_not_answer_is_said_not_to(
    operation: str, here: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared(here, operation)
    failing = Failing(
        BaseClient._make_api_call,  # type: ignore[attr-defined]
        lambda _: EndpointConnectionError(endpoint_url="https://nowhere"),
    )
    installed(failing, monkeypatch)
    failing.left, failing.forever = 0, True
    with pytest.raises(OperationFailed, match=r"^AWS  .*could not (.|\n)*fix: check that this machine reaches"):
        OPERATIONS[operation](here)
