"""`{{resolve:ssm:NAME}}` and `{{resolve:ssm:NAME:VERSION}}` in property values → the parameter's value."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError
from moto.cloudformation.exceptions import ValidationError

from local_aws import api

if TYPE_CHECKING:
    from local_aws.moto_border import Untyped

REFERENCE = re.compile(r"\{\{resolve:([a-z-]+):([^{}]+)\}\}")


def with_dynamic_references(value: Untyped, region: str) -> Untyped:
    """The value with each dynamic reference resolved; raises ValidationError for one that cannot be."""
    if isinstance(value, dict):
        return {key: with_dynamic_references(inner, region) for key, inner in value.items()}
    if isinstance(value, list):
        return [with_dynamic_references(inner, region) for inner in value]
    if isinstance(value, str) and "{{resolve:" in value:
        return REFERENCE.sub(lambda match: _resolved(match[1], match[2], region), value)
    return value


def _resolved(service: str, name: str, region: str) -> str:
    if service != "ssm":
        raise ValidationError(message=f"the local AWS resolves ssm references only, not {{{{resolve:{service}:…}}}}")
    try:
        return str(api.call("ssm", region, "get_parameter", Name=name)["Parameter"]["Value"])
    except ClientError as error:
        raise ValidationError(
            message=f"Parameters: [ssm:{name}] cannot be found. (Service: AWSSimpleSystemsManagement)",
        ) from error
