"""Every resource type that a stack may use: this package's own first, then moto's, then types that create nothing."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.parsing import get_model_map

from local_aws.resource_type import MotoType
from local_aws.resources.emr import ClusterType, SecurityConfiguration, WalWorkspace
from local_aws.resources.iam import InstanceProfileType, RoleType
from local_aws.resources.network import (
    FlowLogType,
    RouteTableType,
    SubnetRouteTableAssociation,
    SubnetType,
    VpcEndpointType,
    VpcType,
)
from local_aws.resources.s3 import BucketPolicy, BucketType
from local_aws.resources.security_group import SecurityGroupRule, SecurityGroupType
from local_aws.resources.simple import (
    AlarmType,
    Blank,
    Dashboard,
    FunctionType,
    KeyType,
    LogGroupType,
    Parameter,
    ScheduleGroupType,
)
from local_aws.resources.topic import Subscription, TopicPolicy, TopicType

if TYPE_CHECKING:
    from local_aws.resource_type import ResourceType

OWN_TYPES: Final[dict[str, ResourceType]] = {
    "AWS::CloudWatch::Alarm": AlarmType("put_metric_alarm"),
    "AWS::CloudWatch::CompositeAlarm": AlarmType("put_composite_alarm"),
    "AWS::CloudWatch::Dashboard": Dashboard(),
    "AWS::EC2::FlowLog": FlowLogType(),
    "AWS::EC2::RouteTable": RouteTableType(),
    "AWS::EC2::SecurityGroup": SecurityGroupType(),
    "AWS::EC2::SecurityGroupEgress": SecurityGroupRule("egress"),
    "AWS::EC2::SecurityGroupIngress": SecurityGroupRule("ingress"),
    "AWS::EC2::Subnet": SubnetType(),
    "AWS::EC2::SubnetRouteTableAssociation": SubnetRouteTableAssociation(),
    "AWS::EC2::VPC": VpcType(),
    "AWS::EC2::VPCEndpoint": VpcEndpointType(),
    "AWS::EMR::Cluster": ClusterType(),
    "AWS::EMR::SecurityConfiguration": SecurityConfiguration(),
    "AWS::EMR::WALWorkspace": WalWorkspace(),
    "AWS::IAM::InstanceProfile": InstanceProfileType(),
    "AWS::IAM::Role": RoleType(),
    "AWS::KMS::Key": KeyType(),
    "AWS::Lambda::Function": FunctionType(),
    "AWS::Logs::LogGroup": LogGroupType(),
    "AWS::S3::Bucket": BucketType(),
    "AWS::S3::BucketPolicy": BucketPolicy(),
    "AWS::Scheduler::ScheduleGroup": ScheduleGroupType(),
    "AWS::SNS::Subscription": Subscription(),
    "AWS::SNS::Topic": TopicType(),
    "AWS::SNS::TopicPolicy": TopicPolicy(),
    "AWS::SSM::Parameter": Parameter(),
}
# They create nothing in AWS.
HARMLESS = frozenset({"AWS::CDK::Metadata", "AWS::CloudFormation::WaitConditionHandle"})


def exists(name: str) -> bool:
    """Return whether the local AWS can make resources of this type."""
    return name in OWN_TYPES or name in HARMLESS or name in get_model_map()


@cache
def find(name: str) -> ResourceType:
    """Return the resource type of this name; raises ValidationError for one that the local AWS cannot create."""
    if name in OWN_TYPES:
        return OWN_TYPES[name]
    if name in HARMLESS:
        return Blank()
    if name in get_model_map():
        return MotoType(get_model_map()[name])
    raise ValidationError(message=f"Template format error: Unrecognized resource types: [{name}]")
