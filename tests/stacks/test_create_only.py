"""Our table of properties that replace is the one in CloudFormation's schemas."""

from __future__ import annotations

import pytest

from local_aws.property_changes import Recreation, property_changes
from stacks.create_only import CREATE_ONLY, GROUP_IN_PLACE, INSTANCE_GROUPS, INSTANCES_IN_PLACE
from stacks.resource_schemas import create_only_pointers, resource_schema


@pytest.mark.parametrize("resource_type", sorted(CREATE_ONLY))
def test_table_is_the_schema(resource_type: str) -> None:
    assert CREATE_ONLY[resource_type] == create_only_pointers(resource_type)


@pytest.mark.parametrize("resource_type", sorted(CREATE_ONLY))
def test_schema_is_the_one_cfn_lint_uses(resource_type: str) -> None:
    manager = pytest.importorskip("cfnlint.schema.manager").PROVIDER_SCHEMA_MANAGER
    pointers = manager.get_resource_schema("us-east-1", resource_type).schema["createOnlyProperties"]
    assert {pointer.removeprefix("/properties/") for pointer in pointers} == CREATE_ONLY[resource_type]


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
