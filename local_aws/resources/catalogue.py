"""The resource types that this package makes itself, because moto lacks them or drops part of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from local_aws.resources.alarm import AlarmType
from local_aws.resources.bucket import BucketType
from local_aws.resources.bucket_policy import BucketPolicy
from local_aws.resources.cluster import ClusterType
from local_aws.resources.dashboard import Dashboard
from local_aws.resources.emr import EmrStep, InstanceGroupConfig, SecurityConfiguration, WalWorkspace
from local_aws.resources.identity import InstanceProfileType, ManagedPolicyType, RoleType
from local_aws.resources.key import KeyType
from local_aws.resources.log_group import LogGroupType
from local_aws.resources.network import (
    FlowLogType,
    RouteTableType,
    SubnetRouteTableAssociation,
    SubnetType,
    VpcEndpointType,
    VpcType,
)
from local_aws.resources.parameter import Parameter
from local_aws.resources.security_group import SecurityGroupRule, SecurityGroupType
from local_aws.resources.topic import Subscription, TopicPolicy, TopicType

if TYPE_CHECKING:
    from local_aws.stack_resource import ResourceType

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
    "AWS::EMR::InstanceGroupConfig": InstanceGroupConfig(),
    "AWS::EMR::SecurityConfiguration": SecurityConfiguration(),
    "AWS::EMR::Step": EmrStep(),
    "AWS::EMR::WALWorkspace": WalWorkspace(),
    "AWS::IAM::InstanceProfile": InstanceProfileType(),
    "AWS::IAM::ManagedPolicy": ManagedPolicyType(),
    "AWS::IAM::Role": RoleType(),
    "AWS::KMS::Key": KeyType(),
    "AWS::Logs::LogGroup": LogGroupType(),
    "AWS::S3::Bucket": BucketType(),
    "AWS::S3::BucketPolicy": BucketPolicy(),
    "AWS::SNS::Subscription": Subscription(),
    "AWS::SNS::Topic": TopicType(),
    "AWS::SNS::TopicPolicy": TopicPolicy(),
    "AWS::SSM::Parameter": Parameter(),
}
