"""Stack policies: what they allow and deny, and that updates obey them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local_aws.cloudformation.stack_update import PolicyQuestion, UpdateAction, denial
from tests.local_aws.aws_bench import Bench, client, cluster_template, parameter

ALLOW_ALL = {"Effect": "Allow", "Action": "Update:*", "Principal": "*", "Resource": "*"}
GUARD = {
    "Effect": "Deny",
    "Action": ["Update:Replace", "Update:Delete"],
    "Principal": "*",
    "Resource": "LogicalResourceId/Cluster",
}


def policy(*statements: dict[str, Any]) -> str:
    return json.dumps({"Statement": list(statements)})


def deny(**changes: Any) -> dict[str, Any]:
    statement = {**GUARD, **changes}
    return {key: value for key, value in statement.items() if value is not None}


def type_is(operator: str, pattern: Any) -> dict[str, Any]:
    return deny(Resource="*", Condition={operator: {"ResourceType": pattern}})


REPLACE, DELETE, MODIFY = UpdateAction.REPLACE, UpdateAction.DELETE, UpdateAction.MODIFY


@pytest.mark.parametrize(
    ("body", "action", "denied"),
    [
        (None, REPLACE, False),
        ("", REPLACE, False),
        (policy(ALLOW_ALL), REPLACE, False),
        (policy(ALLOW_ALL, GUARD), REPLACE, True),
        (policy(GUARD, ALLOW_ALL), DELETE, True),
        (policy(ALLOW_ALL, GUARD), MODIFY, False),
        (policy(GUARD), MODIFY, True),  # what nothing allows is denied
        (policy(ALLOW_ALL, deny(Action="Update:*")), MODIFY, True),
        (policy(ALLOW_ALL, deny(Resource="LogicalResourceId/Clu*")), REPLACE, True),
        (policy(ALLOW_ALL, deny(Resource="LogicalResourceId/Other")), REPLACE, False),
        (policy(ALLOW_ALL, deny(Resource=None, NotResource="LogicalResourceId/Other")), REPLACE, True),
        (policy(ALLOW_ALL, deny(Resource=None, NotResource="LogicalResourceId/Cluster")), REPLACE, False),
        (policy(ALLOW_ALL, deny(Action=None, NotAction="Update:Modify")), REPLACE, True),
        (policy(ALLOW_ALL, deny(Action=None, NotAction="Update:Modify")), MODIFY, False),
        (policy(ALLOW_ALL, type_is("StringEquals", ["AWS::EMR::Cluster"])), REPLACE, True),
        (policy(ALLOW_ALL, type_is("StringEquals", "AWS::EMR::*")), REPLACE, False),
        (policy(ALLOW_ALL, type_is("StringLike", "AWS::EMR::*")), REPLACE, True),
        (policy(ALLOW_ALL, type_is("StringLike", ["AWS::S3::*"])), REPLACE, False),
    ],
)
def test_policy_decides(body: str | None, action: UpdateAction, *, denied: bool) -> None:
    question = PolicyQuestion(action=action, logical_id="Cluster", resource_type="AWS::EMR::Cluster")
    assert (denial(body, question) is not None) is denied


@pytest.mark.parametrize(
    "body", ["no json", "[]", "{}", policy({"Effect": "Perhaps"}), policy({**ALLOW_ALL, "Extra": 1})]
)
def test_what_is_no_policy_is_refused(aws: Bench, body: str) -> None:
    aws.create({"Resources": {"A": parameter("1")}})
    with pytest.raises(ClientError, match="stack policy"):
        aws.cloudformation.set_stack_policy(StackName="stack", StackPolicyBody=body)


def test_policy_is_stored_and_returned(aws: Bench) -> None:
    aws.create({"Resources": {"A": parameter("1")}}, StackPolicyBody=policy(ALLOW_ALL))
    assert aws.cloudformation.get_stack_policy(StackName="stack")["StackPolicyBody"] == policy(ALLOW_ALL)
    aws.cloudformation.set_stack_policy(StackName="stack", StackPolicyBody=policy(GUARD))
    assert aws.cloudformation.get_stack_policy(StackName="stack")["StackPolicyBody"] == policy(GUARD)


def test_denied_replacement_rolls_back_and_touches_nothing(aws: Bench) -> None:
    aws.create(cluster_template(), StackPolicyBody=policy(ALLOW_ALL, GUARD))
    old = aws.physical_id("Cluster")
    assert aws.update(cluster_template("Name", "green")) == "UPDATE_ROLLBACK_COMPLETE"
    assert aws.cluster_states() == {old: "WAITING"}
    denied = "Action denied by stack policy: Statement [#2] does not allow [Update:Replace]"
    assert f"{denied} for resource [LogicalResourceId/Cluster]" in aws.reasons("Cluster")


def test_denied_deletion_rolls_back(aws: Bench) -> None:
    template = cluster_template(A=parameter("1"))
    aws.create(template, StackPolicyBody=policy(ALLOW_ALL, GUARD))
    assert aws.update({"Resources": {"A": parameter("1")}}) == "UPDATE_ROLLBACK_COMPLETE"
    assert list(aws.cluster_states().values()) == ["WAITING"]


def test_allowed_change_in_place_passes(aws: Bench) -> None:
    aws.create(cluster_template(), StackPolicyBody=policy(ALLOW_ALL, GUARD))
    assert aws.update(cluster_template("StepConcurrencyLevel", 2)) == "UPDATE_COMPLETE"


def test_policy_during_update_counts_for_that_update_only(aws: Bench) -> None:
    aws.create(cluster_template(), StackPolicyBody=policy(ALLOW_ALL, GUARD))
    during = {"StackPolicyDuringUpdateBody": policy(ALLOW_ALL)}
    assert aws.update(cluster_template("Name", "green"), **during) == "UPDATE_COMPLETE"
    assert aws.update(cluster_template("Name", "red")) == "UPDATE_ROLLBACK_COMPLETE"


def test_policy_passed_with_an_update_stays(aws: Bench) -> None:
    aws.create({"Resources": {"A": parameter("1")}})
    deny_all = deny(Action="Update:*", Resource="*")
    assert aws.update({"Resources": {"A": parameter("2")}}, StackPolicyBody=policy(deny_all)) == "UPDATE_COMPLETE"
    assert aws.update({"Resources": {"A": parameter("3")}}) == "UPDATE_ROLLBACK_COMPLETE"
    assert client("ssm").get_parameter(Name="/a")["Parameter"]["Value"] == "2"


def test_policy_holds_for_change_sets(aws: Bench) -> None:
    aws.create(cluster_template(), StackPolicyBody=policy(ALLOW_ALL, GUARD))
    aws.changes(cluster_template("Name", "green"))
    aws.cloudformation.execute_change_set(StackName="stack", ChangeSetName="plan")
    assert aws.status() == "UPDATE_ROLLBACK_COMPLETE"


def test_policy_never_forbids_new_resources_or_the_stacks_deletion(aws: Bench) -> None:
    aws.create({"Resources": {"A": parameter("1")}}, StackPolicyBody=policy(deny(Action="Update:*", Resource="*")))
    assert aws.update({"Resources": {"A": parameter("1"), "B": parameter("1", "/b")}}) == "UPDATE_COMPLETE"
    aws.cloudformation.delete_stack(StackName="stack")
    with pytest.raises(ClientError, match="does not exist"):
        aws.status()
