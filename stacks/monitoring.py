"""Monitoring: dashboards, alarms, the calls that they add up to, and the topic that these publish to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_ssm as ssm
from constructs import Construct
from msgspec import Struct

from warmbase.configurations.launch import Launch
from warmbase.dashboards.alarm import Alarm, CompositeAlarm
from warmbase.dashboards.alarms import alarms, composite_alarms
from warmbase.dashboards.boards import dashboard_bodies
from warmbase.dashboards.graph import Exact
from warmbase.environments.environment import Environment
from warmbase.environments.names import cluster_id_parameter, monitoring_stack
from warmbase.stacks.app import environment_stack, filled_in, tag

QUERY: Final = "watched"
"""Id of an alarm's one query."""


class Watched(Struct, frozen=True, kw_only=True):
    """The bodies of the dashboards of one cluster by name, its alarms, and the calls that they add up to."""

    cluster: str
    dashboards: Mapping[str, str]
    alarms: tuple[Alarm, ...]
    calls: tuple[CompositeAlarm, ...]


def watched_hbase(launch: Launch) -> Watched:
    """Return what is watched of a cluster of HBase."""
    environment, plan = launch.environment, launch.plan
    replica = environment.clusters[plan.cluster].role == "replica"
    return Watched(
        cluster=plan.cluster,
        dashboards=dashboard_bodies(plan, environment.region, environment.root),
        alarms=tuple(alarms(plan, environment.root, replica=replica)),
        calls=tuple(composite_alarms(plan, environment.root, replica=replica)),
    )


class MonitoringStack(cdk.Stack):
    """The dashboards and alarms of one cluster, and the topic that they notify."""

    def __init__(self, scope: Construct, environment: Environment, watched: Watched, cluster: cdk.Stack) -> None:
        super().__init__(scope, monitoring_stack(environment.name, watched.cluster), env=environment_stack(environment))
        tag(self, environment)
        self.add_stack_dependency(cluster)
        self._cluster_id = ssm.StringParameter.value_for_string_parameter(
            self, cluster_id_parameter(environment.name, watched.cluster)
        )
        # An alarm on an encrypted topic is silent unless CloudWatch may use the key.
        key = kms.Key(
            self,
            "TopicKey",
            description=f"Alarms of warmbase environment {environment.name}",
            enable_key_rotation=True,
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        key.add_to_resource_policy(self._cloudwatch_may(["kms:Decrypt", "kms:GenerateDataKey*"], "*"))
        self._topic = sns.Topic(self, "Topic", master_key=key, enforce_ssl=True)
        # A topic's policy replaces the one that SNS gives it, by which alarms of the account could publish.
        self._topic.add_to_resource_policy(self._cloudwatch_may(["sns:Publish"], self._topic.topic_arn))
        if environment.alarm_email:
            self._topic.add_subscription(subscriptions.EmailSubscription(environment.alarm_email))
        for name, body in watched.dashboards.items():
            cloudwatch.CfnDashboard(self, _identity(name), dashboard_name=name, dashboard_body=self._filled_in(body))
        metric_alarms = [self._alarm(alarm) for alarm in watched.alarms]
        for call in watched.calls:
            self._call(call, metric_alarms)

    def _filled_in(self, text: str) -> str:
        return filled_in(text, ClusterId=self._cluster_id)

    def _cloudwatch_may(self, actions: list[str], resource: str) -> iam.PolicyStatement:
        """Allow CloudWatch to publish alarms of this account only. Source: SNS Developer Guide, sns-key-management."""
        account = {"StringEquals": {"aws:SourceAccount": self.account}}
        return iam.PolicyStatement(
            principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com", conditions=account)],
            actions=actions,
            resources=[resource],
        )

    def _alarm(self, alarm: Alarm) -> cloudwatch.CfnAlarm:
        """Add an alarm that notifies nobody itself."""
        return cloudwatch.CfnAlarm(
            self,
            _identity(alarm.name),
            alarm_name=alarm.name,
            alarm_description=alarm.description,
            evaluation_periods=alarm.periods,
            datapoints_to_alarm=alarm.breaching,
            comparison_operator=alarm.comparison,
            threshold=alarm.threshold,
            treat_missing_data=alarm.missing,
            **self._watched(alarm),
        )

    def _watched(self, alarm: Alarm) -> dict[str, Any]:
        watched = alarm.watched
        if isinstance(watched, Exact):
            dimensions = [
                cloudwatch.CfnAlarm.DimensionProperty(name=name, value=self._filled_in(value))
                for name, value in watched.dimensions.items()
            ]
            return {
                "namespace": watched.metric.namespace,
                "metric_name": watched.metric.cloudwatch,
                "dimensions": dimensions,
                "statistic": watched.statistic,
                "period": alarm.period_seconds,
            }
        query = cloudwatch.CfnAlarm.MetricDataQueryProperty(
            id=QUERY, expression=self._filled_in(watched), period=alarm.period_seconds, return_data=True
        )
        return {"metrics": [query]}

    def _call(self, call: CompositeAlarm, alarms: list[cloudwatch.CfnAlarm]) -> None:
        composite = cloudwatch.CfnCompositeAlarm(
            self,
            _identity(call.name),
            alarm_name=call.name,
            alarm_description=call.description,
            alarm_rule=call.rule,
            alarm_actions=[self._topic.topic_arn],
            ok_actions=[self._topic.topic_arn],
        )
        for alarm in alarms:
            if f'"{alarm.alarm_name}"' in call.rule:
                composite.add_resource_dependency(alarm)


def _identity(name: str) -> str:
    return "".join(word.title() for word in name.split("-"))
