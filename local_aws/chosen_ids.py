"""Ids of new resources that the caller chooses, so that a resource can stand in for one that exists elsewhere.

A request to the served local AWS states the id in a header, such as `x-local-aws-vpc`. AWS has no such header.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from flask import has_request_context, request
from moto.ec2.models import route_tables, security_groups, subnets, vpcs
from moto.kms import models as keys

from local_aws.moto_internals import wrap
from local_aws.server import ID_HEADER

if TYPE_CHECKING:
    from collections.abc import Callable

    from local_aws.moto_internals import Untyped

GENERATORS: Final = {
    "vpc": (vpcs, "random_vpc_id"),
    "subnet": (subnets, "random_subnet_id"),
    "rtb": (route_tables, "random_route_table_id"),
    "sg": (security_groups, "random_security_group_id"),
    "key": (keys, "generate_key_id"),
}
"""moto's function that makes up the id of each kind of resource, by the prefix of the ids."""


def install() -> None:
    """Let each of these functions return the id in the header of the request."""
    for kind, (module, name) in GENERATORS.items():
        wrap(module, name, _chosen(ID_HEADER + kind))


def _chosen(header: str) -> Callable[..., Untyped]:
    def identity(original: Callable[..., Untyped], *arguments: Untyped) -> Untyped:
        wanted = request.headers.get(header) if has_request_context() else None
        return wanted or original(*arguments)

    return identity
