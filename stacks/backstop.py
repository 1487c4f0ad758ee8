"""The backstop of a canary: schedules invoke a function that ends its clusters, whatever became of the command.

The stack creates the group of the schedules and the function; the command writes the schedules, because they depend on
the time. Nothing in the stack costs anything while it waits.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as functions
from aws_cdk import aws_logs as logs
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from warmbase.environments.environment import Environment
from warmbase.environments.names import BACKSTOP_ROLE, CANARY_TAG, backstop_stack
from warmbase.stacks.app import environment_stack, tag
from warmbase.stacks.nag_suppressions import suppress
from warmbase.stacks.roles import EVERY_CLUSTER, allow, resources_arn


class BackstopStack(cdk.Stack):
    """The function with its role and its log, the schedule group, and the role with which schedules invoke it."""

    def __init__(self, scope: Construct, environment: Environment, program: str) -> None:
        name = backstop_stack(environment.name)
        super().__init__(scope, name, env=environment_stack(environment))
        tag(self, environment)
        scheduler.CfnScheduleGroup(self, "Group", name=name)
        log = logs.LogGroup(
            self,
            "Log",
            log_group_name=f"/aws/lambda/{name}",
            retention=logs.RetentionDays.ONE_MONTH,
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        ender = iam.Role(
            self,
            "Ender",
            description="Ends the clusters of a warmbase canary",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
        )
        tagged = {"StringEquals": {f"elasticmapreduce:ResourceTag/{CANARY_TAG}": environment.name}}
        ending = ["elasticmapreduce:SetTerminationProtection", "elasticmapreduce:TerminateJobFlows"]
        allow(ender, "BackstopList", ["elasticmapreduce:ListClusters"], "*")
        allow(ender, "BackstopEnd", ending, resources_arn("elasticmapreduce", "cluster"), conditions=tagged)
        allow(ender, "BackstopLog", ["logs:CreateLogStream", "logs:PutLogEvents"], log.log_group_arn)
        suppress(ender, "IAM5[Resource::*]", EVERY_CLUSTER)
        function = functions.CfnFunction(
            self,
            "Function",
            function_name=name,
            runtime="python3.14",
            handler="index.handler",
            code=functions.CfnFunction.CodeProperty(zip_file=program),
            role=ender.role_arn,
            timeout=60,
            memory_size=256,
        )
        # EventBridge Scheduler User Guide, cross-service-confused-deputy-prevention.
        account = {"StringEquals": {"aws:SourceAccount": self.account}}
        invoker = iam.Role(
            self,
            BACKSTOP_ROLE,
            description="Schedules that end the clusters of a warmbase canary",
            assumed_by=iam.ServicePrincipal("scheduler.amazonaws.com", conditions=account),
        )
        resource = invoker.node.default_child
        assert isinstance(resource, iam.CfnRole)  # noqa: S101 - for mypy
        resource.override_logical_id(BACKSTOP_ROLE)
        allow(invoker, "BackstopInvoke", ["lambda:InvokeFunction"], function.attr_arn)
