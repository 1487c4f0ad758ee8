"""A stack as the local AWS keeps it: its template and parameters, resources, status and events, and its drift.

Drift detection finds resources that differ from their state right after the stack's last operation. AWS compares with
the values of the template; here what a resource was described as when an operation had ended stands for them, so that
only an edit by hand is drift. Types without a reader are NOT_CHECKED, as many are in AWS.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from botocore.exceptions import ClientError
from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.models import Event
from moto.cloudformation.parsing import OutputMap
from moto.cloudformation.responses import CloudFormationResponse
from moto.core.responses import ActionResult
from moto.core.utils import utcnow
from msgspec import Struct, field

from local_aws.cloudformation.template import (
    check_parameters,
    check_resource_types,
    check_shape,
    parsed_template,
    resource_map,
)
from local_aws.moto_internals import Json, Untyped, call, replace, request_parameter, stack_event
from local_aws.resources import ResourceRequest


class StackContents(Struct, frozen=True, kw_only=True):
    """A template with its parameters, checked, with no resource made yet."""

    text: str
    template: Json
    parameters: dict[str, str]
    names: Untyped


def stack_contents(stack: Untyped, text: str, parameters: dict[str, str]) -> StackContents:
    """Return the contents for this stack; raises ValidationError for what CloudFormation refuses before it starts."""
    template = parsed_template(text)
    check_shape(template)
    check_resource_types(template)
    check_parameters(template, parameters)
    names = resource_map(stack, template, parameters)
    return StackContents(text=text, template=template, parameters=parameters, names=names)


def current_contents(stack: Untyped) -> StackContents:
    """Return the stack's current contents."""
    return StackContents(
        text=stack.template,
        template=stack.template_dict,
        parameters=stack.parameters,
        names=stack.resource_map,
    )


def place(stack: Untyped, contents: StackContents) -> None:
    """Replace the stack's template, parameters and outputs with the contents."""
    stack.template, stack.template_dict = contents.text, contents.template
    stack.description = contents.template.get("Description")
    stack.parameters = contents.parameters
    stack.resource_map = contents.names
    stack.output_map = OutputMap(contents.names, contents.template, stack.stack_id)


class StackResource(Struct, kw_only=True, eq=False):
    """A resource of a stack, with its request, its definition and its status."""

    request: ResourceRequest
    definition: Json
    resource: Untyped = None
    status: str = "CREATE_IN_PROGRESS"
    reason: str | None = None
    updated: datetime = field(default_factory=utcnow)

    @property
    def logical_id(self) -> str:
        """Return the name in the template."""
        return self.request.logical_id

    @property
    def physical_id(self) -> str:
        """Return the value of Ref; empty before the resource exists."""
        return "" if self.resource is None else str(self.resource.physical_resource_id)

    @property
    def is_retained_on_deletion(self) -> bool:
        """Return whether DeletionPolicy retains it when its stack is deleted."""
        return self.definition.get("DeletionPolicy") in {"Retain", "RetainExceptOnCreate"}

    @property
    def is_retained_on_rollback(self) -> bool:
        """Return whether it outlives the failed operation that created it."""
        return bool(self.definition.get("DeletionPolicy") == "Retain")

    @property
    def is_retained_on_replacement(self) -> bool:
        """Return whether UpdateReplacePolicy retains it when another resource replaces it."""
        return bool(self.definition.get("UpdateReplacePolicy") == "Retain")


class StackState(Struct):
    """The resources by logical id, in the order of their creation.

    `described`: how each was described when the last operation had ended, None for a type that nobody reads;
    `detection`: the id of the last drift detection; `drifts`: how it found each resource. `undone`: the steps that a
    failed rollback has not undone yet.
    """

    resources: dict[str, StackResource] = field(default_factory=dict)
    described: dict[str, Json | None] = field(default_factory=dict)
    detection: str = ""
    drifts: list[Json] = field(default_factory=list)
    undone: list[Untyped] = field(default_factory=list)


def state(stack: Untyped) -> StackState:
    """Return the record of this stack, which is created on first use and ends with moto's stack."""
    stack_state: StackState = stack.__dict__.setdefault("local_state", StackState())
    return stack_state


def stack_reaches(stack: Untyped, status: str, reason: str | None = None) -> None:
    """Set the stack's status, as describe_stacks reports it, and add an event."""
    stack.status = status
    stack.stack_status_reason = reason
    if not status.startswith(("CREATE", "REVIEW")):
        stack.last_updated_time = utcnow()
    stack_event(stack, status, reason)
    _put_in_order(stack)


def resource_reaches(stack: Untyped, resource: StackResource, status: str, reason: str | None = None) -> None:
    """Set a resource's status and add an event to its stack."""
    resource.status, resource.reason, resource.updated = status, reason, utcnow()
    event = Event(
        stack_id=stack.stack_id,
        stack_name=stack.name,
        logical_resource_id=resource.logical_id,
        physical_resource_id=resource.physical_id,
        resource_type=resource.request.resource_type,
        resource_status=status,
        resource_status_reason=reason,
        resource_properties=json.dumps(resource.request.properties, default=str),
    )
    event.sendToSns(stack.account_id, stack.region_name, stack.notification_arns)
    stack.events.append(event)
    _put_in_order(stack)


def _put_in_order(stack: Untyped) -> None:
    """Date the last event after the previous one: readers sort by time, and a step here takes no time."""
    if len(stack.events) > 1:
        earlier, last = stack.events[-2:]
        last.timestamp = max(last.timestamp, earlier.timestamp + timedelta(milliseconds=1))


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
    described = state(stack).described
    state(stack).drifts = [_drift(stack, one, described.get(name)) for name, one in state(stack).resources.items()]
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
    [description] = call("ec2", region, "describe_security_groups", GroupIds=[group])["SecurityGroups"]
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
    iam = partial(call, "iam", region, RoleName=name)
    return {
        "AssumeRolePolicyDocument": iam("get_role")["Role"]["AssumeRolePolicyDocument"],
        "ManagedPolicyArns": sorted(one["PolicyArn"] for one in iam("list_attached_role_policies")["AttachedPolicies"]),
        "Policies": {
            policy: iam("get_role_policy", PolicyName=policy)["PolicyDocument"]
            for policy in sorted(iam("list_role_policies")["PolicyNames"])
        },
    }


def _bucket(region: str, name: str) -> Json:
    s3 = partial(call, "s3", region, Bucket=name)

    def setting(operation: str, key: str) -> Untyped:
        """Return a setting of the bucket; None where it has none, which S3 reports as an error."""
        try:
            return s3(operation)[key]
        except ClientError as error:
            if error.response["Error"]["Code"] == "NoSuchBucket":
                raise
            return None

    return {
        "VersioningConfiguration": s3("get_bucket_versioning").get("Status"),
        "LifecycleConfiguration": setting("get_bucket_lifecycle_configuration", "Rules"),
        "BucketEncryption": setting("get_bucket_encryption", "ServerSideEncryptionConfiguration"),
        "PublicAccessBlockConfiguration": setting("get_public_access_block", "PublicAccessBlockConfiguration"),
    }


def _alarm(region: str, name: str) -> Json | None:
    alarms = call("cloudwatch", region, "describe_alarms", AlarmNames=[name])["MetricAlarms"]
    compared = ("Threshold", "EvaluationPeriods", "ComparisonOperator", "AlarmActions", "ActionsEnabled")
    return {key: alarms[0].get(key) for key in compared} if alarms else None


READERS: Final[dict[str, Callable[[str, str], Json | None]]] = {
    "AWS::CloudWatch::Alarm": _alarm,
    "AWS::EC2::SecurityGroup": _security_group,
    "AWS::IAM::Role": _role,
    "AWS::S3::Bucket": _bucket,
}
