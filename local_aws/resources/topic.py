"""SNS topics, the policies on them, and their subscriptions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from moto.sns.models import Topic

from local_aws import api
from local_aws.resource_type import ApiResource, ApiType, MotoType

if TYPE_CHECKING:
    from local_aws.moto_internals import Untyped
    from local_aws.resource_type import ResourceRequest

ATTRIBUTES: Final = ("DisplayName", "KmsMasterKeyId", "SignatureVersion", "TracingConfig")


class TopicType(MotoType):
    """A topic, with its attributes, tags and the subscriptions written inside it."""

    def __init__(self) -> None:
        super().__init__(Topic)

    def has_attribute(self, name: str) -> bool:
        """Return whether Fn::GetAtt knows the name; moto knows TopicName only."""
        return name in {"TopicArn", "TopicName"}

    def create(self, request: ResourceRequest) -> Untyped:
        """Return the new topic."""
        attributes = {name: str(request.properties[name]) for name in ATTRIBUTES if name in request.properties}
        topic = {"Name": self.name(request), "Attributes": attributes, "Tags": request.properties.get("Tags", [])}
        arn = api.call("sns", request.region, "create_topic", **topic)["TopicArn"]
        for one in request.properties.get("Subscription", []):
            subscribe(arn, request.region, one["Protocol"], one["Endpoint"])
        return ApiResource(physical_resource_id=arn, attributes={"TopicArn": arn, "TopicName": self.name(request)})

    def update(self, resource: Untyped, request: ResourceRequest) -> Untyped:
        """Return the same topic with the requested attributes and tags."""
        arn = resource.physical_resource_id
        for name in ATTRIBUTES:
            value = str(request.properties.get(name, ""))
            parameters = {"TopicArn": arn, "AttributeName": name, "AttributeValue": value}
            api.call("sns", request.region, "set_topic_attributes", **parameters)
        api.call("sns", request.region, "tag_resource", ResourceArn=arn, Tags=request.properties.get("Tags", []))
        return resource

    def delete(self, resource: Untyped, request: ResourceRequest) -> None:
        """Delete the topic."""
        api.call("sns", request.region, "delete_topic", TopicArn=resource.physical_resource_id)


class TopicPolicy(ApiType):
    """One policy on one or more topics, which stays when it is deleted because a topic always has a policy."""

    def create(self, request: ResourceRequest) -> ApiResource:
        """Put the policy on every topic and return it."""
        document = json.dumps(request.properties["PolicyDocument"])
        for topic in request.properties["Topics"]:
            parameters = {"TopicArn": topic, "AttributeName": "Policy", "AttributeValue": document}
            api.call("sns", request.region, "set_topic_attributes", **parameters)
        return ApiResource(physical_resource_id=request.generated_name)

    def update(self, resource: ApiResource, request: ResourceRequest) -> ApiResource:
        """Put the policy again and return it."""
        self.create(request)
        return resource


class Subscription(ApiType):
    """One subscription of a topic; an e-mail address is pending until it is confirmed."""

    def create(self, request: ResourceRequest) -> ApiResource:
        """Return the new subscription."""
        properties = request.properties
        arn = subscribe(properties["TopicArn"], request.region, properties["Protocol"], properties["Endpoint"])
        return ApiResource(physical_resource_id=arn)

    def delete(self, resource: ApiResource, request: ResourceRequest) -> None:
        """End the subscription."""
        api.call("sns", request.region, "unsubscribe", SubscriptionArn=resource.physical_resource_id)


def subscribe(topic: str, region: str, protocol: str, endpoint: str) -> str:
    """Return the ARN of a new subscription."""
    parameters = {"TopicArn": topic, "Protocol": protocol, "Endpoint": endpoint, "ReturnSubscriptionArn": True}
    return str(api.call("sns", region, "subscribe", **parameters)["SubscriptionArn"])
