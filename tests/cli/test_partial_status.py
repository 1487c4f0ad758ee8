"""`warmbase status` and `warmbase warm status` show what they can, whichever permission is missing."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.cli.test_warm import publish
from tests.operations.deployed import Deployed
from tests.operations.mocked_aws import VARIABLES
from tests.operations.test_permissions import requested_actions
from warmbase.cli.operate import running
from warmbase.cli.operate import status as status_module
from warmbase.cli.operate.status import status
from warmbase.cli.operate.warm import warm
from warmbase.ground.errors import OperationFailed
from warmbase.operations.aws.clients import Aws, any_call
from warmbase.operations.aws.errors import IAM_NAMES, PREFIXES
from warmbase.operations.cluster.boost import cluster_boost
from warmbase.operations.cluster.drift import read_running_cluster
from warmbase.operations.verify.check import Check, CheckResult, read_findings

OF_CLUSTER = {"cluster", "caches", "boost", "differences", "unfinished", "standard_support_until"}
FIELDS = {
    "claim": {"claim", "claim_why"},
    "failed": {"failed_launches"},
    "cluster": {*OF_CLUSTER, "past_standard_support"},
    "drift": {"differences"},
    "mails": {"topics"},
    "missing": {"unprotected"},
}
"""The keys of the JSON that a part fills, if there are more than the one that bears its name."""


class Denying:
    """Clients of AWS whose calls of one action are refused, and the actions that were called."""

    def __init__(self) -> None:
        self.aws = Aws(VARIABLES, any_call)
        self.denied, self.code = "", "AccessDeniedException"
        self.called = set[str]()
        self.aws._session.events.register("before-call", self._refuse)

    def _refuse(self, *, model: Any, **_: object) -> Any:
        prefix = model.service_model.signing_name
        action = f"{PREFIXES.get(prefix, prefix)}:{model.name}"
        action = IAM_NAMES.get(action, action)
        self.called.add(action)
        if action != self.denied:
            return None
        error = {"Code": self.code, "Message": "no"}
        return SimpleNamespace(status_code=403), {"Error": error, "ResponseMetadata": {"HTTPStatusCode": 403}}

    @contextmanager
    def without(self, action: str) -> Iterator[None]:
        """Refuse the calls of an action within the block."""
        self.denied = action
        yield
        self.denied = ""


@pytest.fixture
def denying(here: Deployed, monkeypatch: pytest.MonkeyPatch) -> Denying:
    del here
    clients = Denying()
    for module in (status_module, running):
        monkeypatch.setattr(module, "environment_aws", lambda *_: clients.aws)
    return clients


def status_json(here: Deployed) -> tuple[int, dict[str, Any]]:
    """Return the exit code and the document; the fields of the only cluster are those of the environment."""
    result = CliRunner().invoke(status, [str(here.file), "--output", "json"])
    assert result.stdout, result.exception
    document = json.loads(result.stdout)
    [cluster] = document.pop("clusters")
    # The figures of caches follow the time of day.
    cluster["caches"] = cluster["caches"] and len(cluster["caches"]["servers"])
    unread = {**document.pop("unread"), **cluster.pop("unread")}
    return result.exit_code, {**document, **cluster, "unread": unread, "at": ""}


def test_each_permission_that_is_missing_costs_its_parts_of_the_status(here: Deployed, denying: Denying) -> None:
    publish(here, 0.25, 0.5)
    control = cluster_boost(here.aws, here.launch, read_running_cluster(here.aws, here.launch).cluster)
    control.schedule(min(control.state().volumes), control.launch_provision, (time.time() + 3600,))
    code, whole = status_json(here)
    assert (code, whole["unread"], whole["caches"]) == (0, {}, 2)
    used = denying.called - {"sts:GetCallerIdentity"}
    assert used < set(requested_actions())
    assert {"cloudwatch:GetMetricData", "scheduler:GetSchedule"} < used
    for action in sorted(used):
        with denying.without(action):
            code, partial = status_json(here)
            page = " ".join(CliRunner().invoke(status, [str(here.file)]).stdout.split())
        unread = partial["unread"]
        assert code == 1, action
        assert unread, action
        lost = set[str]().union(*(FIELDS.get(part, {part}) for part in unread), {"unread"})
        assert {key: value for key, value in partial.items() if key not in lost} == {
            key: value for key, value in whole.items() if key not in lost
        }, action
        for part, why in unread.items():
            assert why == f"these credentials lack the permission {action}"
            assert page.count(f" {part} unknown: {why}") == 1, page
        assert f"Next: `warmbase explore {here.environment.name}`" in page


def test_the_page_says_what_aws_says_of_another_failure(here: Deployed, denying: Denying) -> None:
    denying.code = "InternalFailure"
    with denying.without("scheduler:ListSchedules"):
        result = CliRunner().invoke(status, [str(here.file)])
    assert result.exit_code == 1
    shown = " ".join(result.stdout.split())
    assert "boost unknown: An error occurred (InternalFailure) when calling the ListSchedules operation" in shown
    assert "alarms none" in shown


def test_expired_credentials_end_the_command(here: Deployed, denying: Denying) -> None:
    denying.code = "ExpiredTokenException"
    with denying.without("scheduler:ListSchedules"):
        result = CliRunner().invoke(status, [str(here.file)])
    assert isinstance(result.exception, OperationFailed)
    assert "get new credentials" in str(result.exception)


def test_each_permission_that_is_missing_costs_its_part_of_the_warm_status(here: Deployed, denying: Denying) -> None:
    def shown() -> Result:
        return CliRunner().invoke(warm, ["status", str(here.file)])

    CliRunner().invoke(status, [str(here.file)])
    of_any_part = denying.called.copy()
    denying.called.clear()
    assert shown().exit_code == 0
    parts = {
        "cloudwatch:ListMetrics": "caches",
        "elasticmapreduce:ListInstances": "caches",
        "ec2:DescribeVolumes": "boost",
        "ec2:DescribeVolumesModifications": "boost",
        "scheduler:ListSchedules": "boost",
    }
    assert parts.keys() <= denying.called <= of_any_part
    for action in sorted(denying.called - {"sts:GetCallerIdentity"}):
        with denying.without(action):
            result = shown()
        if action not in parts:
            # Without the description of the cluster, nothing else can be read.
            assert isinstance(result.exception, OperationFailed), action
            assert f"the action {action}" in str(result.exception)
            continue
        page = " ".join(result.stdout.split())
        assert result.exit_code == 1, action
        assert f" {parts[action]} unknown: these credentials lack the permission {action}" in page
        assert page.startswith("blue: j-")


def test_a_check_that_aws_refuses_is_unknown_and_names_the_permission(denying: Denying) -> None:
    def volume_checks(aws: Aws) -> Iterator[CheckResult]:
        yield Check("first", "", "", "").result("seen", good=True)
        aws.ec2.describe_volumes()
        yield Check("second", "", "", "").result("seen", good=True)

    check: Callable[[Aws], Iterator[CheckResult]] = volume_checks
    assert [finding.check for finding in read_findings(check, denying.aws)] == ["first", "second"]
    with denying.without("ec2:DescribeVolumes"):
        first, last = read_findings(check, denying.aws)
    assert (first.check, last.check, last.good) == ("first", "volume checks", None)
    assert last.found == "these credentials lack the permission ec2:DescribeVolumes"
