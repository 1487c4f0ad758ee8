"""Drift detection: it finds resources that differ from their state right after the stack's last operation.

AWS compares with the values of the template; here what a resource was described as when an operation had ended stands
for them, so that only an edit by hand is drift. Types without a reader are NOT_CHECKED, as many are in AWS.
"""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Final

from botocore.exceptions import ClientError
from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.responses import CloudFormationResponse
from moto.core.responses import ActionResult
from moto.core.utils import utcnow

from local_aws import api
from local_aws.moto_internals import Json, Untyped, replace, request_parameter
from local_aws.stack_state import state

if TYPE_CHECKING:
    from collections.abc import Callable

    from local_aws.stack_state import StackResource

IN_SYNC: Final = "IN_SYNC"
MODIFIED: Final = "MODIFIED"
DELETED: Final = "DELETED"
NOT_CHECKED: Final = "NOT_CHECKED"


def install() -> None:
    """Add the operations, which moto lacks."""
    for operation in (detect_stack_drift, describe_stack_drift_detection_status, describe_stack_resource_drifts):
        replace(CloudFormationResponse, operation.__name__, operation)


def remember(stack: Untyped) -> None:
    """Store the current description of each resource, at the end of an operation."""
    stack_state = state(stack)
    stack_state.described = {name: _described(stack, one) for name, one in stack_state.resources.items()}


def detect_stack_drift(response: Untyped) -> Untyped:
    """Answer DetectStackDrift; the detection has ended by then."""
    stack = response.cloudformation_backend.get_stack(request_parameter(response, "StackName"))
    state(stack).detection = str(uuid.uuid4())
    state(stack).drifts = _drifts(stack)
    return ActionResult({"StackDriftDetectionId": state(stack).detection})


def describe_stack_drift_detection_status(response: Untyped) -> Untyped:
    """Answer DescribeStackDriftDetectionStatus."""
    wanted = request_parameter(response, "StackDriftDetectionId")
    for stack in response.cloudformation_backend.stacks.values():
        if state(stack).detection == wanted:
            drifted = [one for one in state(stack).drifts if one["StackResourceDriftStatus"] in {MODIFIED, DELETED}]
            answer = {
                "StackId": stack.stack_id,
                "StackDriftDetectionId": wanted,
                "StackDriftStatus": "DRIFTED" if drifted else IN_SYNC,
                "DetectionStatus": "DETECTION_COMPLETE",
                "DriftedStackResourceCount": len(drifted),
                "Timestamp": utcnow(),
            }
            return ActionResult(answer)
    raise ValidationError(message=f"No drift detection has the id {wanted}")


def describe_stack_resource_drifts(response: Untyped) -> Untyped:
    """Answer DescribeStackResourceDrifts, as the last detection found them."""
    stack = response.cloudformation_backend.get_stack(request_parameter(response, "StackName"))
    wanted = request_parameter(response, "StackResourceDriftStatusFilters", [])
    drifts = [one for one in state(stack).drifts if not wanted or one["StackResourceDriftStatus"] in wanted]
    return ActionResult({"StackResourceDrifts": drifts})


def _drifts(stack: Untyped) -> list[Json]:
    stack_state = state(stack)
    return [_drift(stack, one, stack_state.described.get(name)) for name, one in stack_state.resources.items()]


def _drift(stack: Untyped, resource: StackResource, expected: Json | None) -> Json:
    answer: Json = {
        "StackId": stack.stack_id,
        "LogicalResourceId": resource.logical_id,
        "PhysicalResourceId": resource.physical_id,
        "ResourceType": resource.request.resource_type,
        "Timestamp": utcnow(),
    }
    if expected is None:
        return answer | {"StackResourceDriftStatus": NOT_CHECKED}
    actual = _described(stack, resource)
    if actual is None:
        return answer | {"StackResourceDriftStatus": DELETED}
    differences = [
        {
            "PropertyPath": f"/{name}",
            "ExpectedValue": _text(expected[name]),
            "ActualValue": _text(actual[name]),
            "DifferenceType": "NOT_EQUAL",
        }
        for name in expected
        if expected[name] != actual[name]
    ]
    return answer | {
        "ExpectedProperties": _text(expected),
        "ActualProperties": _text(actual),
        "PropertyDifferences": differences,
        "StackResourceDriftStatus": MODIFIED if differences else IN_SYNC,
    }


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _described(stack: Untyped, resource: StackResource) -> Json | None:
    """Return the service's current description; None where no reader exists, or the resource is gone."""
    reader = READERS.get(resource.request.resource_type)
    if reader is None:
        return None
    try:
        return reader(stack.region_name, resource.physical_id)
    except ClientError:
        return None


def _security_group(region: str, group: str) -> Json:
    [description] = api.call("ec2", region, "describe_security_groups", GroupIds=[group])["SecurityGroups"]
    return {
        "SecurityGroupIngress": _in_order(description["IpPermissions"]),
        "SecurityGroupEgress": _in_order(description["IpPermissionsEgress"]),
    }


def _in_order(value: Untyped) -> Untyped:
    """Return the value with its lists sorted: EC2 lists rules and peers in any order."""
    if isinstance(value, dict):
        return {key: _in_order(inner) for key, inner in value.items()}
    return sorted((_in_order(item) for item in value), key=_text) if isinstance(value, list) else value


def _role(region: str, name: str) -> Json:
    role = api.call("iam", region, "get_role", RoleName=name)["Role"]
    attached = api.call("iam", region, "list_attached_role_policies", RoleName=name)["AttachedPolicies"]
    names = api.call("iam", region, "list_role_policies", RoleName=name)["PolicyNames"]
    inline = {
        policy: api.call("iam", region, "get_role_policy", RoleName=name, PolicyName=policy)["PolicyDocument"]
        for policy in sorted(names)
    }
    return {
        "AssumeRolePolicyDocument": role["AssumeRolePolicyDocument"],
        "ManagedPolicyArns": sorted(policy["PolicyArn"] for policy in attached),
        "Policies": inline,
    }


def _bucket(region: str, name: str) -> Json:
    return {
        "VersioningConfiguration": api.call("s3", region, "get_bucket_versioning", Bucket=name).get("Status"),
        "LifecycleConfiguration": _setting(region, "get_bucket_lifecycle_configuration", name, "Rules"),
        "BucketEncryption": _setting(region, "get_bucket_encryption", name, "ServerSideEncryptionConfiguration"),
        "PublicAccessBlockConfiguration": _setting(
            region, "get_public_access_block", name, "PublicAccessBlockConfiguration"
        ),
    }


def _setting(region: str, operation: str, bucket: str, key: str) -> Untyped:
    """Return a setting of a bucket; None where it has none, which S3 reports as an error."""
    try:
        return api.call("s3", region, operation, Bucket=bucket)[key]
    except ClientError as error:
        if error.response["Error"]["Code"] == "NoSuchBucket":
            raise
        return None


def _alarm(region: str, name: str) -> Json | None:
    alarms = api.call("cloudwatch", region, "describe_alarms", AlarmNames=[name])["MetricAlarms"]
    compared = ("Threshold", "EvaluationPeriods", "ComparisonOperator", "AlarmActions", "ActionsEnabled")
    return {key: alarms[0].get(key) for key in compared} if alarms else None


READERS: Final[dict[str, Callable[[str, str], Json | None]]] = {
    "AWS::CloudWatch::Alarm": _alarm,
    "AWS::EC2::SecurityGroup": _security_group,
    "AWS::IAM::Role": _role,
    "AWS::S3::Bucket": _bucket,
}
