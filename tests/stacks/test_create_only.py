"""Which changes replace a cluster, by CloudFormation's schema and documentation."""

from __future__ import annotations

import pytest

from local_aws.cloudformation.stack_update import Recreation, property_changes
from warmbase.stacks.references import (
    GROUP_IN_PLACE,
    INSTANCE_GROUPS,
    INSTANCES_IN_PLACE,
    create_only_pointers,
    resource_schema,
)

REPLACING = frozenset(
    [
        "AdditionalInfo",
        "Applications",
        "AutoScalingRole",
        "BootstrapActions",
        "Configurations",
        "CustomAmiId",
        "EbsRootVolumeIops",
        "EbsRootVolumeSize",
        "EbsRootVolumeThroughput",
        "JobFlowRole",
        "KerberosAttributes",
        "LogEncryptionKmsKeyId",
        "LogUri",
        "Name",
        "OSReleaseLabel",
        "PlacementGroupConfigs",
        "ReleaseLabel",
        "ScaleDownBehavior",
        "SecurityConfiguration",
        "ServiceRole",
        "Steps",
    ]
)
"""The properties whose change replaces a cluster. A launch record holds them, so cfn-lint must keep them."""


def test_properties_that_replace_a_cluster_are_known() -> None:
    assert create_only_pointers("AWS::EMR::Cluster") == REPLACING


def test_schema_is_the_one_cfn_lint_uses() -> None:
    manager = pytest.importorskip("cfnlint.schema.manager").PROVIDER_SCHEMA_MANAGER
    pointers = manager.get_resource_schema("us-east-1", "AWS::EMR::Cluster").schema["createOnlyProperties"]
    assert {pointer.removeprefix("/properties/") for pointer in pointers} == REPLACING


def test_instances_names_exist_in_the_schema() -> None:
    definitions = resource_schema("AWS::EMR::Cluster")["definitions"]
    assert definitions["JobFlowInstancesConfig"]["properties"].keys() >= INSTANCES_IN_PLACE | INSTANCE_GROUPS
    assert definitions["InstanceGroupConfig"]["properties"].keys() >= GROUP_IN_PLACE


@pytest.mark.parametrize(
    ("old", "new", "recreation"),
    [
        ({"TerminationProtected": True}, {"TerminationProtected": False}, Recreation.NEVER),
        ({"UnhealthyNodeReplacement": True}, {}, Recreation.NEVER),
        (
            {"CoreInstanceGroup": {"InstanceCount": 1}},
            {"CoreInstanceGroup": {"InstanceCount": 2}},
            Recreation.CONDITIONALLY,
        ),
        ({"CoreInstanceGroup": {"InstanceType": "a"}}, {"CoreInstanceGroup": {"InstanceType": "b"}}, Recreation.ALWAYS),
        ({"CoreInstanceGroup": {}}, {"CoreInstanceGroup": {"Configurations": []}}, Recreation.ALWAYS),
        (
            {"TaskInstanceGroups": [{"InstanceCount": 1}]},
            {"TaskInstanceGroups": [{"InstanceCount": 2}]},
            Recreation.CONDITIONALLY,
        ),
        ({"TaskInstanceGroups": []}, {"TaskInstanceGroups": [{"InstanceCount": 2}]}, Recreation.ALWAYS),
        ({"Ec2SubnetId": "a"}, {"Ec2SubnetId": "b"}, Recreation.ALWAYS),
    ],
)
def test_change_inside_instances(old: dict[str, object], new: dict[str, object], recreation: Recreation) -> None:
    changes = property_changes("AWS::EMR::Cluster", {"Instances": old}, {"Instances": new})
    assert [change.recreation for change in changes] == [recreation]


def test_equal_properties_are_no_change() -> None:
    assert property_changes("AWS::EMR::Cluster", {"Name": "a"}, {"Name": "a"}) == []
