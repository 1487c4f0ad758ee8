"""AWS::S3::Bucket and AWS::S3::BucketPolicy: each property is set by S3's own call; one without a call is an error."""

from __future__ import annotations

import json
import re
from collections.abc import Set as AbstractSet
from typing import Final

from moto.cloudformation.exceptions import ValidationError
from moto.s3.models import FakeBucket, s3_backends

from local_aws.moto_internals import Json, Untyped
from local_aws.resources import ApiResource, ApiType, MotoType, ResourceRequest

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
    """A type that creates buckets and keeps their whole configuration."""

    model = FakeBucket

    def create(self, request: ResourceRequest) -> Untyped:
        """Return the new bucket."""
        name = self.name(request)
        _check_properties(request.properties)
        location = {"CreateBucketConfiguration": {"LocationConstraint": request.region}}
        placed = {} if request.region == "us-east-1" else location
        request.call("s3", "create_bucket", Bucket=name, **placed)
        _configure(name, request)
        return s3_backends[request.account_id]["aws"].get_bucket(name)

    def update(self, resource: Untyped, request: ResourceRequest) -> Untyped:
        """Return the same bucket with the requested properties; others are removed."""
        _check_properties(request.properties)
        for key, (_, _, removal) in OPERATIONS.items():
            if removal and key not in request.properties:
                request.call("s3", removal, Bucket=resource.name)
        listed = request.call("s3", "list_bucket_metrics_configurations", Bucket=resource.name)
        wanted = {one["Id"] for one in request.properties.get("MetricsConfigurations", [])}
        for metrics in listed.get("MetricsConfigurationList", []):
            if metrics["Id"] not in wanted:
                parameters = {"Bucket": resource.name, "Id": metrics["Id"]}
                request.call("s3", "delete_bucket_metrics_configuration", **parameters)
        _configure(resource.name, request)
        return resource

    def delete(self, resource: Untyped, request: ResourceRequest) -> None:
        """Delete the bucket; S3 refuses while it holds an object."""
        request.call("s3", "delete_bucket", Bucket=resource.name)


def _check_properties(properties: Json, names: AbstractSet[str] = OPERATIONS.keys() | OTHERS) -> None:
    unknown = sorted(properties.keys() - names)
    if unknown:
        raise ValidationError(message=f"the local AWS does not keep these properties of a bucket: {', '.join(unknown)}")


def _configure(name: str, request: ResourceRequest) -> None:
    for key in sorted(OPERATIONS.keys() & request.properties.keys(), key=lambda one: FIRST.get(one, 1)):
        operation, argument, _ = OPERATIONS[key]
        value = {argument: _argument(key, request.properties[key])}
        request.call("s3", operation, Bucket=name, **value)
    if "AccessControl" in request.properties:
        canned = re.sub(r"(?<!^)(?=[A-Z])", "-", request.properties["AccessControl"]).lower()
        request.call("s3", "put_bucket_acl", Bucket=name, ACL=canned)
    for metrics in request.properties.get("MetricsConfigurations", []):
        _check_properties(metrics, {"Id", "Prefix"})
        prefix = {"Filter": {"Prefix": metrics["Prefix"]}} if "Prefix" in metrics else {}
        configuration = {"Id": metrics["Id"], **prefix}
        parameters = {"Bucket": name, "Id": metrics["Id"], "MetricsConfiguration": configuration}
        request.call("s3", "put_bucket_metrics_configuration", **parameters)


def _argument(key: str, value: Untyped) -> Untyped:
    if key == "BucketEncryption":
        rules = [dict(rule) for rule in value["ServerSideEncryptionConfiguration"]]
        for rule in rules:
            rule["ApplyServerSideEncryptionByDefault"] = rule.pop("ServerSideEncryptionByDefault")
        return {"Rules": rules}
    if key == "LifecycleConfiguration":
        return {"Rules": [_rule(rule) for rule in value["Rules"]]}
    if key == "LoggingConfiguration":
        target = value.get("DestinationBucketName")
        return (
            {"LoggingEnabled": {"TargetBucket": target, "TargetPrefix": value.get("LogFilePrefix", "")}}
            if target
            else {}
        )
    return {"TagSet": value} if key == "Tags" else value


# Properties of a rule that S3 puts inside a structure: property: (structure, member).
INSIDE = {
    "ExpirationInDays": ("Expiration", "Days"),
    "ExpiredObjectDeleteMarker": ("Expiration", "ExpiredObjectDeleteMarker"),
}
SAME = frozenset({"AbortIncompleteMultipartUpload", "NoncurrentVersionExpiration", "Status"})


def _rule(properties: Json) -> Json:
    """Return a rule as PutBucketLifecycleConfiguration takes it. Raises ValidationError for any other part."""
    _check_properties(properties, INSIDE.keys() | SAME | {"Id", "Prefix"})
    rule: Json = {key: value for key, value in properties.items() if key in SAME}
    if "Id" in properties:
        rule["ID"] = properties["Id"]
    for key, (structure, member) in INSIDE.items():
        if key in properties:
            rule.setdefault(structure, {})[member] = properties[key]
    rule["Filter"] = {"Prefix": properties.get("Prefix", "")}
    return rule


class BucketPolicy(ApiType):
    """The bucket policy, of which each bucket has at most one."""

    def create(self, request: ResourceRequest) -> ApiResource:
        """Put the policy on its bucket and return it."""
        bucket = request.properties["Bucket"]
        document = json.dumps(request.properties["PolicyDocument"])
        request.call("s3", "put_bucket_policy", Bucket=bucket, Policy=document)
        return ApiResource(physical_resource_id=bucket)

    def update(self, resource: ApiResource, request: ResourceRequest) -> ApiResource:  # noqa: ARG002 - a put replaces
        """Put the policy again and return it."""
        return self.create(request)

    def delete(self, resource: ApiResource, request: ResourceRequest) -> None:
        """Remove the policy from the bucket."""
        request.call("s3", "delete_bucket_policy", Bucket=resource.physical_resource_id)
