"""Protection that is missing is shown by every command that looks at a cluster, and a deployment restores it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.operations.deployed import Deployed
from warmbase.operations.cluster.drift import protection_compared
from warmbase.operations.cluster.protection import POLICY, protect, protect_stack, read_protection
from warmbase.operations.cluster.state import state

STACKS = {f"warmbase-dev-{name}" for name in ("network", "storage", "blue-cluster", "blue-monitoring")}


def missing(here: Deployed) -> tuple[str, ...]:
    return read_protection(here.aws, "dev", "blue").missing


def unprotected_cluster(here: Deployed) -> str:
    here.aws.emr.set_termination_protection(JobFlowIds=[here.cluster_id], TerminationProtected=False)
    return f"termination protection of cluster {here.cluster_id}"


def deletable_stack(here: Deployed) -> str:
    stack = "warmbase-dev-storage"
    here.aws.cloudformation.update_termination_protection(StackName=stack, EnableTerminationProtection=False)
    return f"termination protection of stack {stack}"


def weakened_policy(here: Deployed) -> str:
    stack = "warmbase-dev-blue-cluster"
    policy = {"Statement": POLICY["Statement"][:1]}
    here.aws.cloudformation.set_stack_policy(StackName=stack, StackPolicyBody=json.dumps(policy))
    return f"policy of stack {stack}"


def test_the_policies_of_all_stacks_are_restored(here: Deployed) -> None:
    for stack in STACKS:
        body = json.dumps({"Statement": POLICY["Statement"][:1]})
        here.aws.cloudformation.set_stack_policy(StackName=stack, StackPolicyBody=body)
    assert {name for name in missing(here) if name.startswith("policy")} == {
        f"policy of stack {name}" for name in STACKS
    }
    protect(here.aws, "dev", "blue")
    assert missing(here) == ()


@pytest.mark.parametrize("weaken", [unprotected_cluster, deletable_stack, weakened_policy])
def test_every_look_at_a_cluster_shows_what_is_missing(here: Deployed, weaken: Callable[[Deployed], str]) -> None:
    name = weaken(here)
    assert missing(here) == (name,)
    [cluster] = state(here.aws, here.environment).clusters
    assert cluster.unprotected == (name,)
    compared = protection_compared(here.aws, here.launch)
    assert compared.differences == (f"{name}: rendered True, found False",)
    protect(here.aws, "dev", "blue")
    assert missing(here) == ()


@pytest.mark.parametrize(
    "statement",
    [
        {"Effect": "Deny", "Action": "Update:*", "Principal": "*", "Resource": "*"},
        {"Effect": "Deny", "Action": ["Update:Delete", "Update:Replace"], "Principal": "*", "Resource": "*"},
    ],
)
def test_a_stricter_policy_protects_as_well_and_stays(here: Deployed, statement: dict[str, object]) -> None:
    stack, body = "warmbase-dev-storage", json.dumps({"Statement": [POLICY["Statement"][0], statement]})
    here.aws.cloudformation.set_stack_policy(StackName=stack, StackPolicyBody=body)
    assert missing(here) == ()
    protect_stack(here.aws, stack)
    assert here.aws.cloudformation.get_stack_policy(StackName=stack)["StackPolicyBody"] == body


ROLES = {"Effect": "Deny", "Action": "Update:*", "Principal": "*", "Resource": "LogicalResourceId/Roles*"}


@pytest.mark.parametrize("statements", [[POLICY["Statement"][0], ROLES], ROLES], ids=["several", "one alone"])
def test_what_others_deny_stays_when_protection_is_added(here: Deployed, statements: object) -> None:
    stack = "warmbase-dev-blue-cluster"
    here.aws.cloudformation.set_stack_policy(StackName=stack, StackPolicyBody=json.dumps({"Statement": statements}))
    assert missing(here) == (f"policy of stack {stack}",)
    protect_stack(here.aws, stack)
    policy = json.loads(here.aws.cloudformation.get_stack_policy(StackName=stack)["StackPolicyBody"])
    before = statements if isinstance(statements, list) else [statements]
    assert policy["Statement"] == [*before, POLICY["Statement"][1]]
    assert missing(here) == ()


def test_a_stack_that_is_absent_lacks_nothing(here: Deployed) -> None:
    here.aws.cloudformation.delete_stack(StackName="warmbase-dev-blue-monitoring")
    assert missing(here) == ()
    protect_stack(here.aws, "warmbase-dev-blue-cluster")
