"""cdk-nag's AwsSolutions pack: nothing found that is not acknowledged with a reason."""

from __future__ import annotations

import json
from pathlib import Path

import aws_cdk as cdk
import cdk_nag
import pytest

from warmbase import app
from warmbase.environments.reader import read_environment
from warmbase.operations.canary.run import open_run
from warmbase.stacks.nag_suppressions import OBJECTS_OF_A_PREFIX, REASONS, suppress, suppress_objects


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["dev", "prod"])
def test_aws_solutions_pack_finds_nothing_unacknowledged(name: str, tmp_path: Path) -> None:
    built = app.environment_app(name, str(tmp_path / "cdk.out"))
    cdk.Validations.of(built).add_plugins(cdk_nag.AwsSolutionsChecks(built, verbose=False))
    built.synth()


def test_the_backstop_of_a_canary_may_end_only_its_own_clusters(tmp_path: Path) -> None:
    """The pack accepts its stack, and the one statement that ends clusters asks for the canary's tag."""
    run = open_run(read_environment("prod"), tmp_path, "2026-12-01")
    run.begin(read_environment("prod"))
    built = app.environment_app(str(run.file), str(tmp_path / "cdk.out"))
    cdk.Validations.of(built).add_plugins(cdk_nag.AwsSolutionsChecks(built, verbose=False))
    built.synth()
    template = json.loads((tmp_path / "cdk.out/warmbase-prod-canary-backstop.template.json").read_text())
    statements = [
        statement
        for policy in template["Resources"].values()
        if policy["Type"] == "AWS::IAM::Policy"
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
    ]
    [ending] = [one for one in statements if "elasticmapreduce:TerminateJobFlows" in one["Action"]]
    assert ending["Condition"] == {"StringEquals": {"elasticmapreduce:ResourceTag/warmbase-canary": "prod-canary"}}
    assert {one["Sid"] for one in statements} == {"BackstopList", "BackstopEnd", "BackstopLog", "BackstopInvoke"}


def test_every_acknowledgement_has_a_reason() -> None:
    assert all(reason.strip() for reason in (*REASONS.values(), OBJECTS_OF_A_PREFIX))


def test_a_rule_without_a_reason_is_not_acknowledged() -> None:
    with pytest.raises(KeyError, match="EMR1"):
        suppress(cdk.Stack(), "EMR1")


def test_objects_of_a_prefix_are_acknowledged_with_their_own_reason() -> None:
    stack = cdk.Stack()
    suppress_objects(stack, "bucket-${AWS::AccountId}/hbase/*")
    [acknowledged] = [each.data for each in stack.node.metadata if each.type == "aws:cdk:acknowledged-rules"]
    [reason] = acknowledged.values()
    assert reason == OBJECTS_OF_A_PREFIX
