"""Dynamic references of a template, resolved as CloudFormation does when it creates a resource."""

from __future__ import annotations

import json
import re

from botocore.exceptions import ClientError
from moto.cloudformation.exceptions import ValidationError

from local_aws import api
from local_aws.moto_internals import Untyped

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
    if service == "ssm":
        return _parameter(name, region)
    if service == "secretsmanager":
        return _secret(name, region)
    raise ValidationError(message=f"the local AWS does not resolve {{{{resolve:{service}:…}}}}")


def _parameter(name: str, region: str) -> str:
    try:
        return str(api.call("ssm", region, "get_parameter", Name=name)["Parameter"]["Value"])
    except ClientError as error:
        raise ValidationError(
            message=f"Parameters: [ssm:{name}] cannot be found. (Service: AWSSimpleSystemsManagement)",
        ) from error


def _secret(reference: str, region: str) -> str:
    """Return the secret's text, or the value of the key that the reference names."""
    match = SECRET.fullmatch(reference)
    if match is None:
        raise ValidationError(message=f"Invalid dynamic reference: secretsmanager:{reference}")
    try:
        text = str(api.call("secretsmanager", region, "get_secret_value", SecretId=match["id"])["SecretString"])
    except ClientError as error:
        raise ValidationError(message="Secrets Manager can't find the specified secret.") from error
    if not match["key"]:
        return text
    try:
        return str(json.loads(text)[match["key"]])
    except (ValueError, KeyError, TypeError) as error:
        raise ValidationError(message=f"Could not find a value associated with JSONKey {match['key']}") from error
