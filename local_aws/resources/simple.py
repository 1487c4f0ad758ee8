"""Resources that a few API calls keep: alarms, dashboards, parameters, groups, functions, KMS keys and topics."""

from __future__ import annotations

import json
from typing import Final

from moto.kms.models import Key
from moto.logs.models import LogGroup
from moto.sns.models import Topic
from msgspec.structs import replace

from local_aws.moto_internals import Untyped
from local_aws.resources import ApiResource, ApiType, MotoType, ResourceRequest


class NamedType(ApiType):
    """A type whose resources one put operation both creates and changes, under a name that never changes."""

    name_property: str

    def create(self, request: ResourceRequest) -> ApiResource:
        """Return the new resource, under the template's name or a generated one."""
        return self.put(str(request.properties.get(self.name_property) or request.generated_name), request)

    def update(self, resource: ApiResource, request: ResourceRequest) -> ApiResource:
        """Return the same resource with the requested properties."""
        return self.put(resource.physical_resource_id, request)

    def put(self, name: str, request: ResourceRequest) -> ApiResource:
        """Put the requested properties under the name."""
        raise NotImplementedError


class AlarmType(NamedType):
    """A metric alarm or a composite alarm: only the operation that puts it differs."""

    attributes = frozenset({"Arn"})
    name_property = "AlarmName"

    def __init__(self, operation: str) -> None:
        self.operation = operation

    def put(self, name: str, request: ResourceRequest) -> ApiResource:
        """Pass every property unchanged to the API."""
        request.call("cloudwatch", self.operation, **{**request.properties, "AlarmName": name})
        arn = f"arn:aws:cloudwatch:{request.region}:{request.account_id}:alarm:{name}"
        return ApiResource(physical_resource_id=name, attributes={"Arn": arn})

    def delete(self, resource: ApiResource, request: ResourceRequest) -> None:
        """Delete the alarm."""
        request.call("cloudwatch", "delete_alarms", AlarmNames=[resource.physical_resource_id])


class Dashboard(NamedType):
    """A dashboard, whose body is kept and never drawn; moto would generate another name on an update."""

    name_property = "DashboardName"

    def put(self, name: str, request: ResourceRequest) -> ApiResource:
        """Put the body under the name."""
        body = request.properties["DashboardBody"]
        request.call("cloudwatch", "put_dashboard", DashboardName=name, DashboardBody=body)
        return ApiResource(physical_resource_id=name)

    def delete(self, resource: ApiResource, request: ResourceRequest) -> None:
        """Delete the dashboard."""
        names = [resource.physical_resource_id]
        request.call("cloudwatch", "delete_dashboards", DashboardNames=names)


class Parameter(ApiType):
    """An SSM parameter; its tags are a map in templates and a list in the API. moto would delete it on an update."""

    attributes = frozenset({"Type", "Value"})

    def create(self, request: ResourceRequest) -> ApiResource:
        """Return the new parameter; the Parameter Store refuses a name that exists."""
        name = str(request.properties.get("Name") or request.generated_name)
        tags = [{"Key": key, "Value": value} for key, value in request.properties.get("Tags", {}).items()]
        return self._put(name, request, Tags=tags)

    def update(self, resource: ApiResource, request: ResourceRequest) -> ApiResource:
        """Return the same parameter with the requested value, as its next version."""
        return self._put(resource.physical_resource_id, request, Overwrite=True)

    def delete(self, resource: ApiResource, request: ResourceRequest) -> None:
        """Delete the parameter."""
        request.call("ssm", "delete_parameter", Name=resource.physical_resource_id)

    @staticmethod
    def _put(name: str, request: ResourceRequest, **options: object) -> ApiResource:
        properties = {key: value for key, value in request.properties.items() if key not in {"Name", "Tags"}}
        request.call("ssm", "put_parameter", **{**properties, "Name": name, **options})
        attributes = {key: str(properties[key]) for key in ("Type", "Value")}
        return ApiResource(physical_resource_id=name, attributes=attributes)


class ScheduleGroupType(ApiType):
    """A group of EventBridge Scheduler, whose deletion deletes the schedules in it. Only its tags can change."""

    attributes = frozenset({"Arn"})

    def create(self, request: ResourceRequest) -> ApiResource:
        """Return the new group, under the template's name or a generated one."""
        name = str(request.properties.get("Name") or request.generated_name)
        tags = request.properties.get("Tags", [])
        arn = request.call("scheduler", "create_schedule_group", Name=name, Tags=tags)["ScheduleGroupArn"]
        return ApiResource(physical_resource_id=name, attributes={"Arn": arn})

    def update(self, resource: ApiResource, request: ResourceRequest) -> ApiResource:
        """Return the same group with the requested tags."""
        arn, tags = resource.attributes["Arn"], request.properties.get("Tags", [])
        listed = request.call("scheduler", "list_tags_for_resource", ResourceArn=arn)["Tags"]
        old = [tag["Key"] for tag in listed]
        request.call("scheduler", "untag_resource", ResourceArn=arn, TagKeys=old)
        request.call("scheduler", "tag_resource", ResourceArn=arn, Tags=tags)
        return resource

    def delete(self, resource: ApiResource, request: ResourceRequest) -> None:
        """Delete the group with its schedules."""
        request.call("scheduler", "delete_schedule_group", Name=resource.physical_resource_id)


class FunctionType(ApiType):
    """A function; its stack keeps the source."""

    attributes = frozenset({"Arn"})

    def create(self, request: ResourceRequest) -> ApiResource:
        """Return the new function, under the template's name or a generated one."""
        name = str(request.properties.get("FunctionName") or request.generated_name)
        arn = f"arn:aws:lambda:{request.region}:{request.account_id}:function:{name}"
        return ApiResource(physical_resource_id=name, attributes={"Arn": arn})

    def update(self, resource: ApiResource, request: ResourceRequest) -> ApiResource:  # noqa: ARG002 - the stack has it
        """Return the same function."""
        return resource


class LogGroupType(MotoType):
    """A log group that moto creates, and whose retention follows the template."""

    model = LogGroup

    def create(self, request: ResourceRequest) -> Untyped:
        """Return the new log group."""
        return self.update(super().create(request), request)

    def update(self, resource: Untyped, request: ResourceRequest) -> Untyped:
        """Return the same log group with the requested retention."""
        group, days = {"logGroupName": resource.name}, request.properties.get("RetentionInDays")
        if days:
            request.call("logs", "put_retention_policy", **group, retentionInDays=days)
        else:
            request.call("logs", "delete_retention_policy", **group)
        return resource


class KeyType(MotoType):
    """A key that moto creates, and whose policy, rotation and tags follow the template."""

    model = Key
    attributes = frozenset({"Arn", "KeyId"})

    def create(self, request: ResourceRequest) -> Untyped:
        """Return the new key. KMS spells tags in a way that moto's model does not read, so `update` puts them."""
        properties = {name: value for name, value in request.properties.items() if name != "Tags"}
        return self.update(super().create(replace(request, properties=properties)), request)

    def update(self, resource: Untyped, request: ResourceRequest) -> Untyped:
        """Return the same key with the requested policy, description, rotation and tags."""
        key, properties = resource.id, request.properties
        policy = json.dumps(properties["KeyPolicy"])
        request.call("kms", "put_key_policy", KeyId=key, PolicyName="default", Policy=policy)
        description = properties.get("Description", "")
        request.call("kms", "update_key_description", KeyId=key, Description=description)
        rotates = str(properties.get("EnableKeyRotation", False)).lower() == "true"
        request.call("kms", "enable_key_rotation" if rotates else "disable_key_rotation", KeyId=key)
        old = [tag["TagKey"] for tag in request.call("kms", "list_resource_tags", KeyId=key)["Tags"]]
        request.call("kms", "untag_resource", KeyId=key, TagKeys=old)
        tags = [{"TagKey": tag["Key"], "TagValue": tag["Value"]} for tag in request.properties.get("Tags", [])]
        request.call("kms", "tag_resource", KeyId=key, Tags=tags)
        return resource

    def delete(self, resource: Untyped, request: ResourceRequest) -> None:
        """Schedule the key's deletion, as CloudFormation does."""
        days = request.properties.get("PendingWindowInDays", 30)
        request.call("kms", "schedule_key_deletion", KeyId=resource.id, PendingWindowInDays=days)


class Blank(ApiType):
    """A type that creates nothing, such as AWS::CDK::Metadata."""

    def create(self, request: ResourceRequest) -> ApiResource:
        """Return a name that nothing stands behind."""
        return ApiResource(physical_resource_id=request.generated_name)

    def update(self, resource: ApiResource, request: ResourceRequest) -> ApiResource:  # noqa: ARG002 - nothing to change
        """Return the same name."""
        return resource


ATTRIBUTES: Final = ("DisplayName", "KmsMasterKeyId", "SignatureVersion", "TracingConfig")


class TopicType(MotoType):
    """A topic, with its attributes, tags and the subscriptions written inside it."""

    model = Topic
    attributes = frozenset({"TopicArn", "TopicName"})

    def create(self, request: ResourceRequest) -> Untyped:
        """Return the new topic."""
        attributes = {name: str(request.properties[name]) for name in ATTRIBUTES if name in request.properties}
        topic = {"Name": self.name(request), "Attributes": attributes, "Tags": request.properties.get("Tags", [])}
        arn = request.call("sns", "create_topic", **topic)["TopicArn"]
        for one in request.properties.get("Subscription", []):
            subscribe(request, arn, one["Protocol"], one["Endpoint"])
        return ApiResource(physical_resource_id=arn, attributes={"TopicArn": arn, "TopicName": self.name(request)})

    def update(self, resource: Untyped, request: ResourceRequest) -> Untyped:
        """Return the same topic with the requested attributes and tags."""
        arn = resource.physical_resource_id
        for name in ATTRIBUTES:
            value = str(request.properties.get(name, ""))
            parameters = {"TopicArn": arn, "AttributeName": name, "AttributeValue": value}
            request.call("sns", "set_topic_attributes", **parameters)
        request.call("sns", "tag_resource", ResourceArn=arn, Tags=request.properties.get("Tags", []))
        return resource

    def delete(self, resource: Untyped, request: ResourceRequest) -> None:
        """Delete the topic."""
        request.call("sns", "delete_topic", TopicArn=resource.physical_resource_id)


class TopicPolicy(ApiType):
    """One policy on one or more topics, which stays when it is deleted because a topic always has a policy."""

    def create(self, request: ResourceRequest) -> ApiResource:
        """Put the policy on every topic and return it."""
        document = json.dumps(request.properties["PolicyDocument"])
        for topic in request.properties["Topics"]:
            parameters = {"TopicArn": topic, "AttributeName": "Policy", "AttributeValue": document}
            request.call("sns", "set_topic_attributes", **parameters)
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
        arn = subscribe(request, properties["TopicArn"], properties["Protocol"], properties["Endpoint"])
        return ApiResource(physical_resource_id=arn)

    def delete(self, resource: ApiResource, request: ResourceRequest) -> None:
        """End the subscription."""
        request.call("sns", "unsubscribe", SubscriptionArn=resource.physical_resource_id)


def subscribe(request: ResourceRequest, topic: str, protocol: str, endpoint: str) -> str:
    """Return the ARN of a new subscription."""
    parameters = {"TopicArn": topic, "Protocol": protocol, "Endpoint": endpoint, "ReturnSubscriptionArn": True}
    return str(request.call("sns", "subscribe", **parameters)["SubscriptionArn"])
