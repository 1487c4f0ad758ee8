"""AWS::S3::Bucket: each property by S3's own call for it; a property without one here is an error, not a silence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from moto.cloudformation.exceptions import ValidationError
from moto.s3.models import FakeBucket, s3_backends

from local_aws import api
from local_aws.moto_type import MotoType
from local_aws.resources.lifecycle import api_lifecycle

if TYPE_CHECKING:
    from local_aws.moto_border import Json, Untyped
    from local_aws.stack_resource import ResourceRequest

# Property: the operation that puts it, its argument, and the operation that removes it (None: it cannot be removed).
OPERATIONS: Final = {
    "BucketEncryption": ("put_bucket_encryption", "ServerSideEncryptionConfiguration", "delete_bucket_encryption"),
    "LifecycleConfiguration": (
        "put_bucket_lifecycle_configuration",
        "LifecycleConfiguration",
        "delete_bucket_lifecycle",
    ),
    "LoggingConfiguration": ("put_bucket_logging", "BucketLoggingStatus", None),
    "OwnershipControls": ("put_bucket_ownership_controls", "OwnershipControls", "delete_bucket_ownership_controls"),
    "PublicAccessBlockConfiguration": (
        "put_public_access_block",
        "PublicAccessBlockConfiguration",
        "delete_public_access_block",
    ),
    "Tags": ("put_bucket_tagging", "Tagging", "delete_bucket_tagging"),
    "VersioningConfiguration": ("put_bucket_versioning", "VersioningConfiguration", None),
}
OTHERS: Final = frozenset({"AccessControl", "BucketName", "MetricsConfigurations"})
FIRST: Final = {"VersioningConfiguration": 0, "OwnershipControls": 0}


class BucketType(MotoType):
    """Makes buckets and keeps their whole configuration."""

    def __init__(self) -> None:
        super().__init__(FakeBucket)

    def create(self, request: ResourceRequest) -> Untyped:
        """The new bucket."""
        name = self.name(request)
        _check_properties(request.properties)
        location = {} if request.region == "us-east-1" else {"LocationConstraint": request.region}
        placed = {"CreateBucketConfiguration": location} if location else {}
        api.call("s3", request.region, "create_bucket", Bucket=name, **placed)
        _configure(name, request)
        return s3_backends[request.account_id]["aws"].get_bucket(name)

    def update(self, resource: Untyped, request: ResourceRequest) -> Untyped:
        """The same bucket with the requested properties; what is no longer requested is removed."""
        _check_properties(request.properties)
        for key, (_, _, removal) in OPERATIONS.items():
            if removal and key not in request.properties:
                api.call("s3", request.region, removal, Bucket=resource.name)
        _remove_metrics(resource.name, request)
        _configure(resource.name, request)
        return resource

    def delete(self, resource: Untyped, request: ResourceRequest) -> None:
        """Deletes the bucket; S3 refuses while there is an object in it."""
        api.call("s3", request.region, "delete_bucket", Bucket=resource.name)


def _check_properties(properties: Json) -> None:
    unknown = sorted(properties.keys() - OPERATIONS.keys() - OTHERS)
    if unknown:
        raise ValidationError(message=f"the local AWS does not keep these properties of a bucket: {', '.join(unknown)}")


def _configure(name: str, request: ResourceRequest) -> None:
    for key in sorted(OPERATIONS.keys() & request.properties.keys(), key=lambda one: FIRST.get(one, 1)):
        operation, argument, _ = OPERATIONS[key]
        value = {argument: _argument(key, request.properties[key])}
        api.call("s3", request.region, operation, Bucket=name, **value)
    if "AccessControl" in request.properties:
        canned = re.sub(r"(?<!^)(?=[A-Z])", "-", request.properties["AccessControl"]).lower()
        api.call("s3", request.region, "put_bucket_acl", Bucket=name, ACL=canned)
    for metrics in request.properties.get("MetricsConfigurations", []):
        asked = {"Bucket": name, "Id": metrics["Id"], "MetricsConfiguration": _metrics(metrics)}
        api.call("s3", request.region, "put_bucket_metrics_configuration", **asked)


def _remove_metrics(name: str, request: ResourceRequest) -> None:
    listed = api.call("s3", request.region, "list_bucket_metrics_configurations", Bucket=name)
    wanted = {one["Id"] for one in request.properties.get("MetricsConfigurations", [])}
    for metrics in listed.get("MetricsConfigurationList", []):
        if metrics["Id"] not in wanted:
            api.call("s3", request.region, "delete_bucket_metrics_configuration", Bucket=name, Id=metrics["Id"])


def _argument(key: str, value: Untyped) -> Untyped:
    if key == "BucketEncryption":
        rules = [dict(rule) for rule in value["ServerSideEncryptionConfiguration"]]
        for rule in rules:
            rule["ApplyServerSideEncryptionByDefault"] = rule.pop("ServerSideEncryptionByDefault")
        return {"Rules": rules}
    if key == "LifecycleConfiguration":
        return api_lifecycle(value)
    if key == "LoggingConfiguration":
        target = value.get("DestinationBucketName")
        return (
            {"LoggingEnabled": {"TargetBucket": target, "TargetPrefix": value.get("LogFilePrefix", "")}}
            if target
            else {}
        )
    return {"TagSet": value} if key == "Tags" else value


def _metrics(properties: Json) -> Json:
    conditions: Json = {}
    if "Prefix" in properties:
        conditions["Prefix"] = properties["Prefix"]
    tags = properties.get("TagFilters", [])
    if len(tags) + len(conditions) > 1:
        return {"Id": properties["Id"], "Filter": {"And": {**conditions, "Tags": tags}}}
    if tags:
        conditions["Tag"] = tags[0]
    return {"Id": properties["Id"], "Filter": conditions} if conditions else {"Id": properties["Id"]}
