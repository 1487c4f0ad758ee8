"""AWS::S3::BucketPolicy."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from local_aws import api
from local_aws.api_resource import ApiResource, ApiType

if TYPE_CHECKING:
    from local_aws.stack_resource import ResourceRequest


class BucketPolicy(ApiType):
    """The one policy of a bucket."""

    def create(self, request: ResourceRequest) -> ApiResource:
        """The policy, put."""
        bucket = request.properties["Bucket"]
        document = json.dumps(request.properties["PolicyDocument"])
        api.call("s3", request.region, "put_bucket_policy", Bucket=bucket, Policy=document)
        return ApiResource(physical_resource_id=bucket)

    def update(self, resource: ApiResource, request: ResourceRequest) -> ApiResource:  # noqa: ARG002 - a put replaces
        """The policy, put again."""
        return self.create(request)

    def delete(self, resource: ApiResource, request: ResourceRequest) -> None:
        """Takes the policy off the bucket."""
        api.call("s3", request.region, "delete_bucket_policy", Bucket=resource.physical_resource_id)
