"""Access to moto's internals, and calls of AWS APIs through boto3 clients whose requests moto intercepts.

`Untyped` marks what comes from moto, which has no types.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import boto3
from botocore.config import Config
from botocore.model import ListShape, MapShape, Shape, StructureShape
from moto.core.models import botocore_stubber

Untyped: TypeAlias = Any
Json: TypeAlias = dict[str, Any]


def replace(owner: Untyped, name: str, replacement: Callable[..., Any]) -> Callable[..., Any] | None:
    """Replace owner.name; return its earlier value, None if there was none."""
    original: Callable[..., Any] | None = getattr(owner, name, None)
    setattr(owner, name, replacement)
    return original


def wrap(owner: Untyped, name: str, wrapper: Callable[..., Any]) -> None:
    """Replace owner.name with a function that calls wrapper(original, ...); owner.name must exist."""
    original = getattr(owner, name)

    def wrapped(*arguments: Untyped, **options: Untyped) -> Untyped:
        return wrapper(original, *arguments, **options)

    setattr(owner, name, wrapped)


def request_parameter(response: Untyped, name: str, default: object = None) -> Untyped:
    """Return one parameter of the API call that a moto response object answers."""
    return response._get_param(name, default)  # noqa: SLF001 - moto offers no public reader


def request_flag(response: Untyped, name: str) -> bool:
    """Return one boolean parameter of the API call; absent means False."""
    return bool(response._get_bool_param(name, if_none=False))  # noqa: SLF001 - moto offers no public reader


def request_action(response: Untyped) -> str:
    """Return the name of the API operation that a moto response object answers."""
    return str(response._get_action())  # noqa: SLF001 - moto offers no public reader


def template_at(response: Untyped, url: str) -> str:
    """Return the text that a TemplateURL or StackPolicyURL of the API call points to."""
    return str(response._get_stack_from_s3_url(url))  # noqa: SLF001 - moto offers no public reader


def resolvable_names(resource_map: Untyped) -> dict[str, Any]:
    """Return everything that Ref can resolve without creating anything: parameters, mappings and existing resources."""
    names: dict[str, Any] = resource_map._parsed_resources  # noqa: SLF001 - moto offers no public reader
    return names


def stack_event(stack: Untyped, status: str, reason: str | None) -> None:
    """Add an event of the stack itself, and notify the stack's topics."""
    stack._add_stack_event(status, resource_status_reason=reason)  # noqa: SLF001 - moto offers no public writer


ACCOUNT = "123456789012"  # moto.core.DEFAULT_ACCOUNT_ID
OWN_CALLS = "local-aws"
"""Marks the requests of the local AWS to itself."""
SECRET = "local"  # noqa: S105 - a dummy: nothing checks it


@cache
def client(service: str, region: str) -> Untyped:
    """Return a boto3 client whose requests never leave this process, whatever the environment says."""
    make: Untyped = boto3.client  # its stubs know each service by a literal name
    return make(
        service,
        region_name=region,
        endpoint_url=None if service != "s3" else f"https://s3.{region}.amazonaws.com",
        aws_access_key_id="local",
        aws_secret_access_key=SECRET,
        config=Config(user_agent_extra=OWN_CALLS),
    )


def call(service: str, region: str, operation: str, **parameters: object) -> Json:
    """Make one API call and return its answer; template values (text for numbers, for instance) are converted first.

    Raises botocore's ClientError when the service refuses.
    """
    if not botocore_stubber.enabled:
        raise RuntimeError("no moto mock is active in this process, so this call would reach the network")
    chosen = client(service, region)
    shape = chosen.meta.service_model.operation_model(chosen.meta.method_to_api_mapping[operation]).input_shape
    answer: Json = getattr(chosen, operation)(**conformed(shape, parameters))
    return answer


def conformed(shape: Shape | None, value: Untyped) -> Untyped:
    """Return the value with its scalars in the declared types: templates may write "3" for 3."""
    if isinstance(shape, StructureShape) and isinstance(value, dict):
        return {name: conformed(shape.members.get(name), inner) for name, inner in value.items()}
    if isinstance(shape, ListShape) and isinstance(value, list):
        return [conformed(shape.member, inner) for inner in value]
    if isinstance(shape, MapShape) and isinstance(value, dict):
        return {str(name): conformed(shape.value, inner) for name, inner in value.items()}
    return value if shape is None else scalar(shape.type_name, value)


def scalar(type_name: str, value: Untyped) -> Untyped:
    """Return the value as the named botocore type; a value that does not fit stays, for botocore to refuse."""
    if type_name == "string" and isinstance(value, bool | int | float):
        return str(value).lower() if isinstance(value, bool) else str(value)
    if type_name == "boolean" and value in {"true", "false"}:
        return value == "true"
    if type_name in {"integer", "long"} and isinstance(value, str) and value.lstrip("-").isdigit():
        return int(value)
    if type_name in {"float", "double"} and isinstance(value, str):
        return float(value)
    return value
