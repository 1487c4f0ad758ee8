"""An existing bucket gets what dashboards, alarms and the bill need, and all else in it stays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from moto import mock_aws

from local_aws.extension import install
from tests.operations.mocked_aws import clients
from warmbase.environments.environment import Root
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.root_bucket import needs, set_up

A = Root(bucket="our-data", prefix="hbase-a", existing=True)
B = Root(bucket="our-data", prefix="hbase-b", existing=True)


@pytest.fixture
def aws() -> Iterator[Aws]:
    install()
    with mock_aws():
        services = clients()
        services.s3.create_bucket(Bucket="our-data")
        yield services


def put_rules(aws: Aws, *rules: Any) -> None:
    aws.s3.put_bucket_lifecycle_configuration(Bucket="our-data", LifecycleConfiguration={"Rules": list(rules)})


def rules(aws: Aws) -> list[Any]:
    return list(aws.s3.get_bucket_lifecycle_configuration(Bucket="our-data")["Rules"])


def metrics(aws: Aws) -> dict[str, Any]:
    """Return the filter of each id of request metrics."""
    listed = aws.s3.list_bucket_metrics_configurations(Bucket="our-data")["MetricsConfigurationList"]
    return {configuration["Id"]: configuration["Filter"] for configuration in listed}


def uploads_rule(identity: str, prefix: str, days: int = 3) -> dict[str, Any]:
    """Return a rule that deletes incomplete uploads."""
    return {
        "ID": identity,
        "Status": "Enabled",
        "Filter": {"Prefix": prefix},
        "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": days},
    }


def test_an_existing_bucket_gets_missing_rules_and_keeps_its_own(aws: Aws) -> None:
    put_rules(aws, {"ID": "theirs", "Status": "Enabled", "Filter": {"Prefix": "x/"}, "Expiration": {"Days": 9}})
    root = Root(bucket="our-data", prefix="teams/hbase", existing=True)
    assert len(list(needs(aws, root))) == 2
    assert set_up(aws, root, lambda _: None) == "2 set"
    assert list(needs(aws, root)) == []
    assert set_up(aws, root, lambda _: None) == "already configured"
    assert [rule["ID"] for rule in rules(aws)] == ["theirs", "warmbase-incomplete-uploads.teams.hbase"]
    assert metrics(aws) == {"hbase-root.teams.hbase": {"Prefix": "teams/hbase/"}}


@pytest.mark.parametrize(
    ("prefix", "other"), [("hbase-a", "hbase-b"), ("a/b", "a-b"), ("hbase", "hbase-root"), ("x" * 250, "x" * 251)]
)
def test_two_environments_in_one_bucket_do_not_undo_each_other(aws: Aws, prefix: str, other: str) -> None:
    """Alarms of one root must not count the requests to the other."""
    mine, theirs = (Root(bucket="our-data", prefix=name, existing=True) for name in (prefix, other))
    set_up(aws, mine, lambda _: None)
    set_up(aws, theirs, lambda _: None)
    assert list(needs(aws, mine)) == list(needs(aws, theirs)) == []
    assert sorted(found["Prefix"] for found in metrics(aws).values()) == sorted([f"{prefix}/", f"{other}/"])
    assert sorted(rule["Filter"]["Prefix"] for rule in rules(aws)) == sorted([f"{prefix}/", f"{other}/"])


def test_request_metrics_of_earlier_versions_stay(aws: Aws) -> None:
    """Another environment in the bucket may still read them."""
    old: Any = {"Id": "hbase-root", "Filter": {"Prefix": "hbase-a/"}}
    aws.s3.put_bucket_metrics_configuration(Bucket="our-data", Id="hbase-root", MetricsConfiguration=old)
    assert "request metrics hbase-root.hbase-a for hbase-a/" in "".join(needs(aws, A))
    set_up(aws, A, lambda _: None)
    set_up(aws, B, lambda _: None)
    assert metrics(aws) == {
        "hbase-root": {"Prefix": "hbase-a/"},
        "hbase-root.hbase-a": {"Prefix": "hbase-a/"},
        "hbase-root.hbase-b": {"Prefix": "hbase-b/"},
    }


@pytest.mark.parametrize("identity", ["warmbase-incomplete-uploads-hbase-a", "their-own"])
def test_a_rule_with_the_same_effect_counts_whatever_its_id(aws: Aws, identity: str) -> None:
    put_rules(aws, uploads_rule(identity, "hbase-a/"))
    assert not any("uploads" in need for need in needs(aws, A))
    set_up(aws, A, lambda _: None)
    assert [rule["ID"] for rule in rules(aws)] == [identity]


@pytest.mark.parametrize(
    ("rule", "stays"),
    [
        (uploads_rule("warmbase-incomplete-uploads-a-b", "a/b/", days=9), False),
        (uploads_rule("warmbase-incomplete-uploads.a.b", "elsewhere/"), False),
        (uploads_rule("warmbase-incomplete-uploads-a-b", "a-b/"), True),
        (uploads_rule("their-own", "a/b/", days=9), True),
        ({**uploads_rule("their-own", "a/b/"), "Status": "Disabled"}, True),
    ],
)
def test_only_a_rule_of_the_same_root_makes_way(aws: Aws, rule: dict[str, Any], *, stays: bool) -> None:
    """Earlier versions called the rules of `a/b` and of `a-b` the same."""
    put_rules(aws, rule)
    root = Root(bucket="our-data", prefix="a/b", existing=True)
    assert any("uploads" in need for need in needs(aws, root))
    set_up(aws, root, lambda _: None)
    expected = uploads_rule("warmbase-incomplete-uploads.a.b", "a/b/")
    assert rules(aws) == ([rule, expected] if stays else [expected])


def test_nothing_is_needed_in_a_bucket_that_the_storage_stack_creates(aws: Aws) -> None:
    assert list(needs(aws, Root(bucket="our-data", prefix="hbase"))) == []
