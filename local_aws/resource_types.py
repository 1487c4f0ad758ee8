"""Every resource type that stacks may have here: our own first, then moto's, then those known to be harmless."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.parsing import get_model_map

from local_aws.moto_type import MotoType
from local_aws.resources.blank import Blank
from local_aws.resources.catalogue import OWN_TYPES

if TYPE_CHECKING:
    from local_aws.stack_resource import ResourceType

# They make nothing in AWS that anybody could miss.
HARMLESS = frozenset({"AWS::CDK::Metadata", "AWS::CloudFormation::WaitConditionHandle"})


def exists(name: str) -> bool:
    """Return whether the local AWS can make resources of this type."""
    return name in OWN_TYPES or name in HARMLESS or name in get_model_map()


@cache
def find(name: str) -> ResourceType:
    """The resource type of this name; raises ValidationError for one the local AWS cannot make."""
    if name in OWN_TYPES:
        return OWN_TYPES[name]
    if name in HARMLESS:
        return Blank()
    if name in get_model_map():
        return MotoType(get_model_map()[name])
    raise ValidationError(message=f"Template format error: Unrecognized resource types: [{name}]")
