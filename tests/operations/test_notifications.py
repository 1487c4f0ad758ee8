"""`status`, `deploy` and `verify` name mails that nobody gets, and the test of an alarm says how far one came."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from local_aws.extension import install
from tests.operations.deployed import Deployed, deployed
from tests.operations.killable import Killed
from tests.operations.mocked_aws import VARIABLES, clients
from warmbase.ground.errors import OperationFailed, Refused
from warmbase.operations.aws.clients import Aws, alarm_testing
from warmbase.operations.cluster import alarms
from warmbase.operations.cluster.alarms import REASON, AlarmTest, mute, read_topics, topic_faults, try_alarm
from warmbase.operations.verify.services import alarm_test_results

ADDRESS = "oncall@example.com"
CAUSE, NOTIFICATION = "warmbase-dev-blue-disk-full", "warmbase-dev-blue-call-room"
CONTROL = "local-aws:alarm-actions"


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Deployed]:
    install()
    with mock_aws():
        yield deployed(clients(), tmp_path, f"alarms: {{email: {ADDRESS}}}\n")


def faults(here: Deployed, email: str | None = ADDRESS) -> tuple[str, ...]:
    return topic_faults(read_topics(here.aws, "dev", "blue", email))


def confirm(here: Deployed) -> None:
    [topic] = read_topics(here.aws, "dev", "blue", None) or ()
    here.aws.sns.confirm_subscription(TopicArn=topic.arn, Token=ADDRESS)


def outcome_of(here: Deployed) -> AlarmTest:
    return try_alarm(here.aws, "dev", "blue", lambda _: None)


def states(here: Deployed) -> dict[str, str]:
    answer = here.aws.cloudwatch.describe_alarms(AlarmNamePrefix="warmbase-dev-blue-")
    return {
        alarm["AlarmName"]: alarm["StateValue"]
        for kind in ("MetricAlarms", "CompositeAlarms")
        for alarm in answer[kind]
    }


def test_an_address_is_named_until_its_owner_has_confirmed_it(here: Deployed) -> None:
    assert faults(here) == (f"{ADDRESS} has not confirmed its subscription, so SNS sends it nothing",)
    confirm(here)
    assert faults(here) == ()
    assert faults(here, "other@example.com") == (
        "other@example.com, the address of the environment file, is not subscribed",
    )


def test_a_topic_without_subscriptions_reaches_nobody(here: Deployed) -> None:
    [topic] = read_topics(here.aws, "dev", "blue", None) or ()
    confirm(here)
    [entry] = here.aws.sns.list_subscriptions_by_topic(TopicArn=topic.arn)["Subscriptions"]
    here.aws.sns.unsubscribe(SubscriptionArn=entry["SubscriptionArn"])
    assert faults(here, None) == ("nobody is subscribed to the alarms",)


def test_a_notification_is_followed_to_its_delivery_and_every_state_is_as_before(
    here: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    confirm(here)
    monkeypatch.setattr(alarms, "METRIC_SECONDS", 5.0)
    before = states(here)
    test = outcome_of(here)
    assert (test.alarm, test.executed) == (NOTIFICATION, True)
    assert (test.published, test.delivered, test.failed) == (2, 2, None), "the alarm, and its end"
    assert [result.good for result in alarm_test_results(test)] == [True, True]
    assert states(here) == before


@pytest.mark.parametrize(
    ("control", "verdicts", "text"),
    [
        ("refuse", [False], "AccessDeniedException"),
        ("lose", [True, False], "2 published, 2 failed"),
        ("silent", [True, None], "SNS has counted neither a delivery nor a failure"),
        ("unconfirmed", [True, None], "2 published; 10 minutes after"),
    ],
)
def test_a_notification_that_was_not_delivered_is_no_success(
    control: str, verdicts: list[bool | None], text: str, here: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alarms, "turns", lambda *_: iter(range(3)))
    if control != "unconfirmed":
        confirm(here)
        here.tag(CONTROL, control)
    results = alarm_test_results(outcome_of(here))
    assert [result.good for result in results] == verdicts
    assert text in results[-1].found


def test_the_policy_of_the_key_decides_and_not_only_the_control(here: Deployed) -> None:
    confirm(here)
    [topic] = read_topics(here.aws, "dev", "blue", None) or ()
    key = here.aws.sns.get_topic_attributes(TopicArn=topic.arn)["Attributes"]["KmsMasterKeyId"]
    policy = '{"Version": "2012-10-17", "Statement": []}'
    boto3.client("kms", region_name="us-east-1").put_key_policy(
        KeyId=key.rpartition("/")[2], PolicyName="default", Policy=policy
    )
    assert outcome_of(here).executed is False


@pytest.mark.parametrize("obstacle", ["alarm", "muted", "disabled"])
def test_only_a_quiet_alarm_that_notifies_is_tested(obstacle: str, here: Deployed) -> None:
    rooms = [f"warmbase-dev-blue-{end}" for end in ("call-room", "call-servers")]
    if obstacle == "disabled":
        here.aws.cloudwatch.disable_alarm_actions(AlarmNames=rooms)
    elif obstacle == "muted":
        assert "mutes" in mute(here.aws, "dev", "blue")
    else:
        for cause in ("disk-full", "core-node-missing"):
            here.aws.cloudwatch.set_alarm_state(
                AlarmName=f"warmbase-dev-blue-{cause}", StateValue="ALARM", StateReason="a fault"
            )
    before = states(here)
    test = outcome_of(here)
    assert test.why_not
    assert [result.good for result in alarm_test_results(test)] == [None]
    assert states(here) == before


@pytest.mark.parametrize(
    "described", [{"StateValue": "ALARM"}, {"ActionsSuppressor": "planned-work"}, {"AlarmActions": []}]
)
def test_a_notification_that_could_not_be_seen_or_sent_is_not_tested(
    described: dict[str, Any], here: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CloudWatch says so of each composite alarm, although the metric alarms below it are quiet."""
    metric_alarms, composites = alarms._alarms(here.aws, "dev", "blue")
    changed = {end: {**alarm, **described} for end, alarm in composites.items()}
    monkeypatch.setattr(alarms, "turns", lambda *_: iter(range(3)))
    monkeypatch.setattr(alarms, "_alarms", lambda *_: (metric_alarms, changed))
    before = states(here)
    assert outcome_of(here).why_not
    assert states(here) == before


def test_an_alarm_that_cloudwatch_has_evaluated_meanwhile_keeps_that_state(
    here: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real fault that begins during the test stays visible."""

    def evaluated(*_: object) -> None:
        here.aws.cloudwatch.set_alarm_state(AlarmName=CAUSE, StateValue="ALARM", StateReason="Threshold crossed")

    monkeypatch.setattr(alarms, "_action", evaluated)
    assert outcome_of(here).executed is None
    assert states(here)[CAUSE] == "ALARM"


def test_a_test_that_fails_halfway_sets_the_alarm_back(here: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = ClientError({"Error": {"Code": "InternalFailure", "Message": "no"}}, "DescribeAlarmHistory")
    before = states(here)
    monkeypatch.setattr(alarms, "_action", Mock(side_effect=refused))
    with pytest.raises(OperationFailed, match="could not test an alarm"):
        outcome_of(here)
    assert states(here) == before


def test_a_test_that_is_killed_never_sets_a_composite_alarm_which_would_keep_the_state(
    here: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = []

    def record(params: dict[str, Any], **_: object) -> None:
        names.append(params["AlarmName"])

    here.aws.cloudwatch.meta.events.register("provide-client-params.cloudwatch.SetAlarmState", record)
    monkeypatch.setattr(alarms, "_action", Mock(side_effect=Killed))
    monkeypatch.setattr(alarms, "_set_back", lambda *_: None)
    with pytest.raises(Killed):
        outcome_of(here)
    assert names == [CAUSE]
    [alarm] = here.aws.cloudwatch.describe_alarms(AlarmNames=[CAUSE])["MetricAlarms"]
    assert alarm["StateReason"] == REASON


def test_only_the_alarm_test_may_set_a_state() -> None:
    with mock_aws():
        aws = Aws(VARIABLES, alarm_testing)
        with pytest.raises(Refused):
            aws.cloudwatch.disable_alarm_actions(AlarmNames=["a"])
        with pytest.raises(ClientError):
            aws.cloudwatch.set_alarm_state(AlarmName="a", StateValue="OK", StateReason="r")
