"""The permissions of every shape of a deployment: each has a reason, and wildcards are on a short list."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import aws_cdk as cdk
import cdk_nag
import pytest

from local_aws.template_lint import lint_errors
from tests.tiers import quick_where
from tools.permissions import (
    FLOW_LOG,
    ROLES,
    SHAPES,
    UNNAMED,
    Permission,
    endpoint_permissions,
    roles,
    shape_app,
    shape_templates,
)
from warmbase.stacks.network import REASONS as ENDPOINT_REASONS
from warmbase.stacks.roles import REASONS as ROLE_REASONS

# Each action or resource with a wildcard that a statement may have, and why no narrower one would do.
WILDCARDS = {
    (
        "VolumesBack",
        "arn:aws:ec2:REGION:ACCOUNT:volume/*",
    ): "only volumes that a boost has tagged; their ids are not known",
    ("Catalog", "arn:aws:glue:REGION:ACCOUNT:database/*"): "queries may name any database of the catalog",
    ("Catalog", "arn:aws:glue:REGION:ACCOUNT:table/*"): "queries may name any table of the catalog",
    ("Tables", "arn:aws:s3:::our-lake/tables/*"): "writers of tables name their files",
    ("ClaimHolder", "arn:aws:elasticmapreduce:REGION:ACCOUNT:cluster/*"): "the id of the holder is not known",
    ("Logs", "arn:aws:s3:::warmbase-env-logs-ACCOUNT-us-east-1/emr/*"): "EMR names the objects below its log URI",
    ("BackstopList", "*"): "IAM defines no resource for this action",
    (
        "BackstopEnd",
        "arn:aws:elasticmapreduce:REGION:ACCOUNT:cluster/*",
    ): "only clusters with the canary's tag; their ids are not known",
    ("Metrics", "*"): "a condition names the two namespaces; only OTLP data sets have ARNs",
    ("RootObjects", "arn:aws:s3:::our-data/hbase/*"): "HBase names its files",
    ("RootObjects", "arn:aws:s3:::warmbase-env-root-ACCOUNT-us-east-1/hbase/*"): "HBase names its files",
    **{
        (statement, f"arn:aws:s3:::{bucket}/hbase/{name}*"): reason
        for bucket in ("our-data", "warmbase-env-root-ACCOUNT-us-east-1")
        for statement, name, reason in (
            ("ReplicaRead", "", "HBase names its files"),
            ("ReplicaMeta", "archive/data/hbase/meta_j-", "EMR's id of the cluster is part of the name"),
            ("ReplicaMeta", "data/hbase/meta_j-", "EMR's id of the cluster is part of the name"),
            ("ReplicaMaster", "MasterData", "HBase gives it a suffix, and EMR may not"),
            ("ReplicaMaster", "archive/data/master/", "HBase names its files"),
            ("ReplicaTemporary", ".tmp", "HBase names its files"),
            ("ReplicaTemporary", ".hbase-snapshot/.tmp", "HBase names its files"),
        )
    },
    ("SessionChannels", "*"): "IAM defines no resources for these actions",
    ("SessionRegistration", "arn:aws:ec2:REGION:ACCOUNT:instance/*"): "the ids of nodes are not known",
    ("WriteAheadLog", "arn:aws:emrwal:*:ACCOUNT:workspace/warmbaseenv"): "EMR's documents leave the region out",
    ("WriteAheadLog", "arn:aws:emrwal:*:ACCOUNT:workspace/warmbaseenv/*"): "HBase names its logs",
    # Endpoints: a condition names the account, or the bucket is one of AWS.
    ("OwnBuckets", "s3:*"): "the role of a node limits what it does with its account's buckets",
    ("OwnBuckets", "*"): "a condition names the accounts",
    ("OwnCredentials", "*"): "a condition names the account; a role limits its actions",
    ("Packages", "arn:aws:s3:::al2023-repos-us-east-1-de612dc2/*"): "a public repository",
    ("Packages", "arn:aws:s3:::repo.us-east-1.emr.amazonaws.com/*"): "a public repository",
    ("Packages", "arn:aws:s3:::us-east-1.elasticmapreduce/*"): "a public repository",
    ("AgentFiles", "arn:aws:s3:::amazon-ssm-us-east-1/*"): "a public repository",
    ("AgentFiles", "arn:aws:s3:::aws-ssm-us-east-1/*"): "a public repository",
    ("SystemLogs", "arn:aws:s3:::aws157-logs-prod/*"): "EMR names its logs",
}
WITHOUT_CONDITION = {
    "BackstopList",
    "Catalog",
    "ClaimHolder",
    "SessionChannels",
    "SessionRegistration",
    "WriteAheadLog",
}


def permissions() -> Iterator[Permission]:
    for role in roles():
        yield from role.permissions
    for _, permission in endpoint_permissions():
        yield permission


def test_every_statement_has_a_reason_and_every_reason_a_statement() -> None:
    """A statement without a reason raises KeyError."""
    reasons = {permission.statement: permission.reason for permission in permissions()}
    assert all(reason.strip() for reason in reasons.values())
    assert reasons.keys() == ROLE_REASONS.keys() | ENDPOINT_REASONS.keys() | {UNNAMED}
    assert reasons[UNNAMED] == FLOW_LOG


def test_every_wildcard_is_on_the_list_and_the_list_has_no_other() -> None:
    wildcards = {
        (permission.statement, text)
        for permission in permissions()
        for text in (*permission.actions, *permission.resources)
        if "*" in text and not permission.denies
    }
    assert wildcards == WILDCARDS.keys()


def test_a_role_with_a_wildcard_of_every_account_has_a_condition() -> None:
    """Names of buckets are global, and `*` is everybody's: a condition limits them to one account or two namespaces."""
    free = {
        permission.statement
        for role in roles()
        for permission in role.permissions
        if any("*" in resource for resource in permission.resources)
        and not (permission.conditions or permission.denies)
    }
    assert free == WITHOUT_CONDITION


def test_the_service_role_alone_has_a_managed_policy() -> None:
    assert [role.managed for role in roles()] == [(), ("AmazonEMRServicePolicy_v2",), (), (), (), ()]


def test_the_page_has_every_role_of_every_shape() -> None:
    """A role that somebody adds would be missing from the page, and from the tests above."""
    for shape in SHAPES:
        for template in shape_templates(shape).values():
            for name, resource in template["Resources"].items():
                if resource["Type"] in {"AWS::IAM::Role", "AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"}:
                    assert name.startswith(tuple(ROLES)), name
                    assert "Policies" not in resource["Properties"], "a statement that the page does not show"


@pytest.mark.parametrize("shape", SHAPES)
def test_aws_solutions_pack_reports_nothing_unacknowledged(shape: str, tmp_path: Path) -> None:
    app = shape_app(shape, str(tmp_path / "cdk.out"))
    cdk.Validations.of(app).add_plugins(cdk_nag.AwsSolutionsChecks(app, verbose=False))
    app.synth()


@pytest.mark.parametrize("shape", quick_where(lambda shape: shape == "existing root", SHAPES))
@pytest.mark.thorough
def test_cfn_lint_reports_no_error(shape: str, tmp_path: Path) -> None:
    shape_app(shape, str(tmp_path / "cdk.out")).synth()
    templates, errors = lint_errors(tmp_path / "cdk.out")
    assert templates >= 4
    assert not errors
