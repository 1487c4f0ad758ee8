"""A template: its text, its parameters, the order in which its resources are created, and their resolved properties.

A resource type is found in this package first, then in moto, then among the types that create nothing. Dynamic
references are resolved as CloudFormation does when it creates a resource.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date
from functools import cache
from graphlib import CycleError, TopologicalSorter
from typing import Final
from urllib.parse import unquote, urlparse

from botocore.exceptions import ClientError
from moto.cloudformation import models, parsing, responses, utils
from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.models import Stack
from moto.cloudformation.parsing import get_model_map
from moto.s3.models import s3_backends
from moto.ssm.models import ssm_backends

from local_aws import moto_internals
from local_aws.moto_internals import Json, Untyped, replace, resolvable_names
from local_aws.resources import MotoType, ResourceType
from local_aws.resources.ec2 import (
    FlowLogType,
    RouteTableType,
    SecurityGroupRule,
    SecurityGroupType,
    SubnetRouteTableAssociation,
    SubnetType,
    VpcEndpointType,
    VpcType,
)
from local_aws.resources.emr import ClusterType, SecurityConfiguration, WalWorkspace
from local_aws.resources.iam import InstanceProfileType, RoleType
from local_aws.resources.s3 import BucketPolicy, BucketType
from local_aws.resources.simple import (
    AlarmType,
    Blank,
    Dashboard,
    FunctionType,
    KeyType,
    LogGroupType,
    Parameter,
    ScheduleGroupType,
    Subscription,
    TopicPolicy,
    TopicType,
)

OWN_TYPES: Final[dict[str, ResourceType]] = {
    "AWS::CloudWatch::Alarm": AlarmType("put_metric_alarm"),
    "AWS::CloudWatch::CompositeAlarm": AlarmType("put_composite_alarm"),
    "AWS::CloudWatch::Dashboard": Dashboard(),
    "AWS::EC2::FlowLog": FlowLogType(),
    "AWS::EC2::RouteTable": RouteTableType(),
    "AWS::EC2::SecurityGroup": SecurityGroupType(),
    "AWS::EC2::SecurityGroupEgress": SecurityGroupRule("egress"),
    "AWS::EC2::SecurityGroupIngress": SecurityGroupRule("ingress"),
    "AWS::EC2::Subnet": SubnetType(),
    "AWS::EC2::SubnetRouteTableAssociation": SubnetRouteTableAssociation(),
    "AWS::EC2::VPC": VpcType(),
    "AWS::EC2::VPCEndpoint": VpcEndpointType(),
    "AWS::EMR::Cluster": ClusterType(),
    "AWS::EMR::SecurityConfiguration": SecurityConfiguration(),
    "AWS::EMR::WALWorkspace": WalWorkspace(),
    "AWS::IAM::InstanceProfile": InstanceProfileType(),
    "AWS::IAM::Role": RoleType(),
    "AWS::KMS::Key": KeyType(),
    "AWS::Lambda::Function": FunctionType(),
    "AWS::Logs::LogGroup": LogGroupType(),
    "AWS::S3::Bucket": BucketType(),
    "AWS::S3::BucketPolicy": BucketPolicy(),
    "AWS::Scheduler::ScheduleGroup": ScheduleGroupType(),
    "AWS::SNS::Subscription": Subscription(),
    "AWS::SNS::Topic": TopicType(),
    "AWS::SNS::TopicPolicy": TopicPolicy(),
    "AWS::SSM::Parameter": Parameter(),
}
# They create nothing in AWS.
HARMLESS = frozenset({"AWS::CDK::Metadata", "AWS::CloudFormation::WaitConditionHandle"})


@cache
def find_resource_type(name: str) -> ResourceType:
    """Return the resource type of this name; raises ValidationError for one that the local AWS cannot create."""
    if name in OWN_TYPES:
        return OWN_TYPES[name]
    if name in HARMLESS:
        return Blank()
    if name in get_model_map():
        return MotoType(get_model_map()[name])
    raise ValidationError(message=f"Template format error: Unrecognized resource types: [{name}]")


REFERENCE = re.compile(r"\{\{resolve:([a-z-]+):([^{}]+)\}\}")
# CloudFormation User Guide, dynamic-references-secretsmanager: an ARN has seven parts, and a name has no colon.
SECRET = re.compile(r"(?P<id>arn(?::[^:]*){6}|[^:]+)(?::SecretString(?::(?P<key>[^:]*)(?::[^:]*){0,2})?)?")


def with_dynamic_references(value: Untyped, region: str) -> Untyped:
    """Return the value with each dynamic reference resolved; raises ValidationError for one that cannot be."""
    if isinstance(value, dict):
        return {key: with_dynamic_references(inner, region) for key, inner in value.items()}
    if isinstance(value, list):
        return [with_dynamic_references(inner, region) for inner in value]
    if isinstance(value, str) and "{{resolve:" in value:
        return REFERENCE.sub(lambda match: _resolved(match[1], match[2], region), value)
    return value


def _resolved(service: str, name: str, region: str) -> str:
    """Return a parameter's value, a secret's text, or the value of the key that the reference to a secret names."""
    if service == "ssm":
        try:
            return str(moto_internals.call("ssm", region, "get_parameter", Name=name)["Parameter"]["Value"])
        except ClientError as error:
            raise ValidationError(
                message=f"Parameters: [ssm:{name}] cannot be found. (Service: AWSSimpleSystemsManagement)",
            ) from error
    if service != "secretsmanager":
        raise ValidationError(message=f"the local AWS does not resolve {{{{resolve:{service}:…}}}}")
    match = SECRET.fullmatch(name)
    if match is None:
        raise ValidationError(message=f"Invalid dynamic reference: secretsmanager:{name}")
    try:
        answer = moto_internals.call("secretsmanager", region, "get_secret_value", SecretId=match["id"])
    except ClientError as error:
        raise ValidationError(message="Secrets Manager can't find the specified secret.") from error
    text = str(answer["SecretString"])
    if not match["key"]:
        return text
    try:
        return str(json.loads(text)[match["key"]])
    except (ValueError, KeyError, TypeError) as error:
        raise ValidationError(message=f"Could not find a value associated with JSONKey {match['key']}") from error


SUBSTITUTION = re.compile(r"\$\{([^!}.]+)(?:\.[^}]*)?\}")


def check_resource_types(template: Json) -> None:
    """Raise ValidationError, as CloudFormation does, for types that the local AWS cannot create: none is skipped."""
    types = {definition["Type"] for definition in template["Resources"].values()}
    unknown = sorted(types - OWN_TYPES.keys() - HARMLESS - get_model_map().keys())
    if unknown:
        raise ValidationError(
            message=f"Template format error: Unrecognized resource types: [{', '.join(unknown)}]"
            " (the local AWS has no model of them)",
        )


def parsed_template(text: str) -> Json:
    """Return the template's parts, from JSON or YAML; YAML's dates stay text, as in `Version: 2012-10-17`."""

    def dates_as_text(value: Untyped) -> Untyped:
        if isinstance(value, dict):
            return {key: dates_as_text(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [dates_as_text(inner) for inner in value]
        return value.isoformat() if isinstance(value, date) else value

    try:
        parsed: Json = json.loads(text)
    except ValueError:
        parsed = dates_as_text(Stack.parse_template(text))
    return parsed


def check_shape(template: object) -> None:
    """Raise ValidationError for a template without a map of resources that each have a type."""
    resources = template.get("Resources") if isinstance(template, dict) else None
    if not isinstance(resources, dict) or not resources:
        raise ValidationError(message="Template format error: At least one Resources member must be defined.")
    untyped = sorted(name for name, body in resources.items() if not isinstance(body, dict) or "Type" not in body)
    if untyped:
        raise ValidationError(
            message=f"Template format error: [/Resources/{untyped[0]}] Every Resources object must contain a Type."
        )


def creation_order(template: Json) -> list[str]:
    """Return the logical ids, each after those that it refers to or depends on, otherwise in the template's order."""
    definitions = template["Resources"]
    graph = {name: sorted(set(references(body)) & definitions.keys()) for name, body in definitions.items()}
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError as cycle:
        raise ValidationError(
            message=f"Circular dependency between resources: [{', '.join(sorted(set(cycle.args[1])))}]",
        ) from cycle


def references(node: object) -> Iterator[str]:
    """Yield every logical id or parameter name that a part of a template refers to."""
    if isinstance(node, list):
        for inner in node:
            yield from references(inner)
    elif isinstance(node, dict):
        for key, inner in node.items():
            if key == "Ref" and isinstance(inner, str):
                yield inner
            elif key == "Fn::GetAtt":
                yield str(inner[0] if isinstance(inner, list) else str(inner).split(".", maxsplit=1)[0])
            elif key == "DependsOn":
                yield from [inner] if isinstance(inner, str) else list(inner or [])
            else:
                if key == "Fn::Sub":
                    yield from SUBSTITUTION.findall(str(inner[0] if isinstance(inner, list) else inner))
                yield from references(inner)


def resource_map(stack: Untyped, template: Json, parameters: dict[str, str]) -> Untyped:
    """Return moto's resolver for this template and these parameters, with no resource in it yet."""
    fresh = parsing.ResourceMap(
        stack.stack_id,
        stack.name,
        parameters,
        stack.tags,
        account_id=stack.account_id,
        region_name=stack.region_name,
        template=template,
        cross_stack_resources=stack.cross_stack_resources,
    )
    resolvable_names(fresh)["AWS::NotificationARNs"] = stack.notification_arns
    fresh.load_mapping()
    fresh.transform_mapping()
    fresh.load_parameters()
    fresh.load_conditions()
    return fresh


def is_wanted(definition: Json, names: Untyped) -> bool:
    """Return whether the resource's condition holds, or it has none."""
    condition = definition.get("Condition")
    return condition is None or bool(names.lazy_condition_map[condition])


def resolved_properties(definition: Json, names: Untyped, region: str) -> Json:
    """Return the properties with every intrinsic function and dynamic reference resolved."""
    resolved: Json = with_dynamic_references(
        _present(parsing.clean_json(definition.get("Properties") or {}, names)), region
    )
    return resolved


def _present(value: Untyped) -> Untyped:
    """Return the value without absent parts. Raises ValidationError for a function that moto has not resolved."""
    if isinstance(value, dict):
        present = {key: inner for key, inner in value.items() if inner is not None}
        if len(present) == 1 and str(function := next(iter(present))).startswith("Fn::"):
            raise ValidationError(
                message=f"Template error: the local AWS cannot resolve {function}: {present[function]}"
            )
        return {key: _present(inner) for key, inner in present.items()}
    if isinstance(value, list):
        return [_present(inner) for inner in value if inner is not None]
    return value


def raw_parameters(entries: list[Json], previous: dict[str, str], previous_template: Json) -> dict[str, str]:
    """Return the raw parameter values: for the type AWS::SSM::Parameter::Value<…> the name, not the value behind it."""
    values = {}
    for entry in entries:
        key, value = entry["ParameterKey"], entry.get("ParameterValue")
        if str(entry.get("UsePreviousValue")).lower() != "true":
            values[key] = str(entry["ParameterValue"])
            continue
        if value:
            raise ValidationError(
                message=f"Invalid input for parameter key {key}. Cannot specify usePreviousValue as true and"
                " non empty value for a parameter",
            )
        declared = previous_template.get("Parameters", {}).get(key, {})
        value = previous.get(key, declared.get("Default"))
        if value is None:
            raise ValidationError(message=f"Invalid parameter input for key {key}: there is no previous value to use")
        values[key] = str(value)
    return values


def check_parameters(template: Json, parameters: dict[str, str]) -> None:
    """Raise ValidationError for unknown or missing parameters, and for values that the template does not allow."""
    declared: Json = template.get("Parameters") or {}
    unknown = sorted(parameters.keys() - declared.keys())
    if unknown:
        raise ValidationError(message=f"Parameters: [{', '.join(unknown)}] do not exist in the template")
    missing = [key for key, body in declared.items() if key not in parameters and "Default" not in body]
    if missing:
        raise ValidationError(message=f"Parameters: [{', '.join(missing)}] must have values")
    for key, body in declared.items():
        value = str(parameters.get(key, body.get("Default")))
        if "AllowedValues" in body and value not in {str(allowed) for allowed in body["AllowedValues"]}:
            raise ValidationError(message=f"Parameter '{key}' must be one of AllowedValues")


def parameter_store_value(resource_map: Untyped, name: str, value_type: str) -> str | list[str]:
    """Return the Parameter Store's value of the name; raises ValidationError for an unknown name."""
    account, region = resource_map["AWS::AccountId"], resource_map["AWS::Region"]
    parameter = ssm_backends[account][region].get_parameter(name)
    if parameter is None:
        raise ValidationError(
            message=f"Unable to fetch parameters [{name}] from parameter store for this account.",
        )
    return str(parameter.value).split(",") if "List" in value_type else str(parameter.value)


PATH_STYLE_HOSTS = ("127.0.0.1", "localhost", "[::1]")


def install() -> None:
    """Make every reader of template URLs understand path-style and virtual-hosted URLs."""
    for module in (models, responses, utils):
        replace(module, "get_stack_from_s3_url", template_from_url)


def template_from_url(template_url: str, account_id: str, partition: str) -> str:
    """Return the text of the object that the URL names, path-style or virtual-hosted."""
    parts = urlparse(template_url)
    host = parts.netloc.rsplit(":", maxsplit=1)[0]
    bucket, key = host.split(".", maxsplit=1)[0], unquote(parts.path.lstrip("/"))
    if host in PATH_STYLE_HOSTS or host.startswith(("s3.", "s3-")):
        bucket, _, key = key.partition("/")
    stored: Untyped = s3_backends[account_id][partition].get_object(bucket, key)
    return str(stored.value.decode("utf-8"))
