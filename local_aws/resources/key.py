"""AWS::KMS::Key: moto makes it, and here it changes in place."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from moto.kms.models import Key

from local_aws import api
from local_aws.moto_type import MotoType

if TYPE_CHECKING:
    from local_aws.moto_border import Untyped
    from local_aws.stack_resource import ResourceRequest


class KeyType(MotoType):
    """A key whose policy and rotation follow the template."""

    def __init__(self) -> None:
        super().__init__(Key)

    def has_attribute(self, name: str) -> bool:
        """Return whether Fn::GetAtt knows the name."""
        return name in {"Arn", "KeyId"}

    def create(self, request: ResourceRequest) -> Untyped:
        """The new key. Its tags are put by KMS, which spells them in a way of its own that moto's model does not."""
        properties = {name: value for name, value in request.properties.items() if name != "Tags"}
        return self.update(super().create(replace(request, properties=properties)), request)

    def update(self, resource: Untyped, request: ResourceRequest) -> Untyped:
        """Return the same key with the requested policy, description, rotation and tags."""
        key, properties = resource.id, request.properties
        policy = json.dumps(properties["KeyPolicy"])
        api.call("kms", request.region, "put_key_policy", KeyId=key, PolicyName="default", Policy=policy)
        described = properties.get("Description", "")
        api.call("kms", request.region, "update_key_description", KeyId=key, Description=described)
        rotated = str(properties.get("EnableKeyRotation", False)).lower() == "true"
        operation = "enable_key_rotation" if rotated else "disable_key_rotation"
        api.call("kms", request.region, operation, KeyId=key)
        self._tag(key, request)
        return resource

    def _tag(self, key: str, request: ResourceRequest) -> None:
        old = [tag["TagKey"] for tag in api.call("kms", request.region, "list_resource_tags", KeyId=key)["Tags"]]
        api.call("kms", request.region, "untag_resource", KeyId=key, TagKeys=old)
        tags = [{"TagKey": tag["Key"], "TagValue": tag["Value"]} for tag in request.properties.get("Tags", [])]
        api.call("kms", request.region, "tag_resource", KeyId=key, Tags=tags)

    def delete(self, resource: Untyped, request: ResourceRequest) -> None:
        """Schedules the key's deletion, as CloudFormation does."""
        days = request.properties.get("PendingWindowInDays", 30)
        api.call("kms", request.region, "schedule_key_deletion", KeyId=resource.id, PendingWindowInDays=days)
