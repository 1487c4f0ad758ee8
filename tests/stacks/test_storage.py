"""The storage stack: what outlives every stack, and what the root bucket forgets."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from moto import mock_aws

from local_aws.extension import install
from tests.operations.mocked_aws import clients
from tests.shipped import ENVIRONMENTS
from tests.stacks.template import Templates, only
from warmbase.operations.cluster.stack import status_of
from warmbase.operations.deploy.change_set import losses

STORAGE = "warmbase-dev-storage"


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_root_its_key_and_the_logs_outlive_the_stacks_and_nothing_else(
    name: str, templates: Callable[[str], Templates]
) -> None:
    kept = [
        (stack, resource["Type"], resource["DeletionPolicy"], resource["UpdateReplacePolicy"])
        for stack, template in templates(name).items()
        for resource in template["Resources"].values()
        if resource.get("DeletionPolicy", "Delete") != "Delete" or resource.get("UpdateReplacePolicy") == "Retain"
    ]
    storage = f"warmbase-{name}-storage"
    assert sorted(kept) == [
        (storage, each, "RetainExceptOnCreate", "Retain")
        for each in ("AWS::KMS::Key", "AWS::S3::Bucket", "AWS::S3::Bucket")
    ]


def test_the_root_bucket_forgets_old_versions_broken_uploads_and_delete_markers(
    templates: Callable[[str], Templates],
) -> None:
    root = only(templates("prod")["warmbase-prod-storage"], "AWS::S3::Bucket", "Root")
    [rule] = root["LifecycleConfiguration"]["Rules"]
    assert root["VersioningConfiguration"] == {"Status": "Enabled"}
    assert rule["NoncurrentVersionExpiration"] == {"NoncurrentDays": 3}
    assert rule["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 3}
    assert rule["ExpiredObjectDeleteMarker"] is True
    assert root["MetricsConfigurations"] == [{"Id": "hbase-root", "Prefix": "hbase/"}]


def test_a_first_storage_stack_that_fails_leaves_nothing_that_stops_the_second(
    templates: Callable[[str], Templates],
) -> None:
    template = templates("dev")[STORAGE]
    broken = {"Type": "AWS::S3::BucketPolicy", "Properties": {"Bucket": "no-such-bucket", "PolicyDocument": {}}}
    last = {**broken, "DependsOn": list(template["Resources"])}
    failing = {**template, "Resources": {**template["Resources"], "Broken": last}}
    install()
    with mock_aws():
        aws = clients()
        aws.cloudformation.create_stack(StackName=STORAGE, TemplateBody=json.dumps(failing))
        assert status_of(aws, STORAGE) == "ROLLBACK_COMPLETE"
        assert aws.s3.list_buckets()["Buckets"] == []
        [key] = aws.keys.list_keys()["Keys"]
        assert aws.keys.describe_key(KeyId=key["KeyId"])["KeyMetadata"]["KeyState"] == "PendingDeletion"
        aws.cloudformation.delete_stack(StackName=STORAGE)
        aws.cloudformation.create_stack(StackName=STORAGE, TemplateBody=json.dumps(template))
        assert status_of(aws, STORAGE) == "CREATE_COMPLETE"


def test_a_storage_stack_of_an_earlier_version_is_changed_without_a_loss_and_its_deletion_retains_the_data(
    templates: Callable[[str], Templates],
) -> None:
    template = templates("dev")[STORAGE]
    earlier = json.dumps(template).replace('"RetainExceptOnCreate"', '"Retain"')
    install()
    with mock_aws():
        aws = clients()
        aws.cloudformation.create_stack(StackName=STORAGE, TemplateBody=earlier)
        buckets = [bucket["Name"] for bucket in aws.s3.list_buckets()["Buckets"]]
        assert len(buckets) == 2
        name: Any = {"StackName": STORAGE, "ChangeSetName": "later"}
        aws.cloudformation.create_change_set(**name, TemplateBody=json.dumps(template))
        changes = aws.cloudformation.describe_change_set(**name)["Changes"]
        assert [change["ResourceChange"]["Scope"] for change in changes] == [["DeletionPolicy"]] * 3
        assert list(losses(changes)) == []  # type: ignore[arg-type]
        aws.cloudformation.execute_change_set(**name)
        assert status_of(aws, STORAGE) == "UPDATE_COMPLETE"
        aws.cloudformation.delete_stack(StackName=STORAGE)
        assert [bucket["Name"] for bucket in aws.s3.list_buckets()["Buckets"]] == buckets
