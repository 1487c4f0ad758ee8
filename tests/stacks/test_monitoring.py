"""The monitoring stack: an alarm reaches the topic, and CloudWatch may publish there in spite of its encryption."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.shipped import ENVIRONMENTS
from tests.stacks.template import Templates, allowing, of_type, only
from warmbase.configurations.launch import Launch
from warmbase.dashboards.alarms import alarms, composite_alarms

OF_OUR_ACCOUNT = {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}
CLOUDWATCH = {"Service": "cloudwatch.amazonaws.com"}


def monitoring(templates: Templates, name: str) -> Mapping[str, Any]:
    return templates[f"warmbase-{name}-blue-monitoring"]


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_calls_reach_the_topic_when_they_begin_and_when_they_end_and_alarms_call_nobody(
    name: str, templates: Callable[[str], Templates], launches: Callable[[str], Launch]
) -> None:
    stack, launch = monitoring(templates(name), name), launches(name)
    [topic] = of_type(stack, "AWS::SNS::Topic")
    root = launch.environment.root
    made = [each["Properties"] for each in of_type(stack, "AWS::CloudWatch::Alarm").values()]
    assert {each["AlarmName"] for each in made} == {alarm.name for alarm in alarms(launch.plan, root)}
    assert not any({"AlarmActions", "OKActions"} & each.keys() for each in made)
    composed = [each["Properties"] for each in of_type(stack, "AWS::CloudWatch::CompositeAlarm").values()]
    assert {each["AlarmName"] for each in composed} == {
        composite_alarm.name for composite_alarm in composite_alarms(launch.plan, root)
    }
    for each in composed:
        assert each["AlarmActions"] == each["OKActions"] == [{"Ref": topic}]
        assert each.get("ActionsEnabled", True) is True


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_a_call_is_made_after_the_alarms_that_it_reckons_with(name: str, templates: Callable[[str], Templates]) -> None:
    stack = monitoring(templates(name), name)
    names = {key: each["Properties"]["AlarmName"] for key, each in of_type(stack, "AWS::CloudWatch::Alarm").items()}
    for each in of_type(stack, "AWS::CloudWatch::CompositeAlarm").values():
        wanted = set(re.findall(r'ALARM\("([^"]+)"\)', each["Properties"]["AlarmRule"]))
        assert {names[key] for key in each["DependsOn"]} == wanted


def test_cloudwatch_may_publish_for_our_account_and_nobody_without_tls(templates: Callable[[str], Templates]) -> None:
    stack = monitoring(templates("prod"), "prod")
    policy, [topic] = only(stack, "AWS::SNS::TopicPolicy"), of_type(stack, "AWS::SNS::Topic")
    said = policy["PolicyDocument"]["Statement"]
    [publish] = allowing(said, "sns:Publish")
    [refused] = [each for each in said if each["Effect"] == "Deny"]
    assert policy["Topics"] == [{"Ref": topic}]
    assert publish["Resource"] == refused["Resource"] == {"Ref": topic}
    assert (publish["Principal"], publish["Condition"]) == (CLOUDWATCH, OF_OUR_ACCOUNT)
    assert refused["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_cloudwatch_may_use_the_topics_key_for_our_account(templates: Callable[[str], Templates]) -> None:
    stack = monitoring(templates("prod"), "prod")
    [key] = of_type(stack, "AWS::KMS::Key")
    [use] = allowing(only(stack, "AWS::KMS::Key")["KeyPolicy"]["Statement"], "kms:Decrypt")
    assert only(stack, "AWS::SNS::Topic")["KmsMasterKeyId"] == {"Fn::GetAtt": [key, "Arn"]}
    assert use["Action"] == ["kms:Decrypt", "kms:GenerateDataKey*"]
    assert (use["Principal"], use["Condition"]) == (CLOUDWATCH, OF_OUR_ACCOUNT)


def test_the_topics_key_goes_with_the_stack(templates: Callable[[str], Templates]) -> None:
    [key] = of_type(monitoring(templates("prod"), "prod"), "AWS::KMS::Key").values()
    assert key["DeletionPolicy"] == key["UpdateReplacePolicy"] == "Delete"
