"""Notifications that moto does not have: mute rules, actions and history of composite alarms, and SNS's metrics.

A mute rule is active by the clock of the local AWS. A state that SetAlarmState sets stays until the next one, because
no alarm is evaluated here. An e-mail address stays pending until somebody calls ConfirmSubscription with the address as
the token.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from moto.cloudwatch.exceptions import ResourceNotFoundException, ValidationError
from moto.cloudwatch.models import CloudWatchBackend
from moto.cloudwatch.responses import CloudWatchResponse
from moto.core.responses import ActionResult, EmptyResult
from moto.core.utils import utcnow
from moto.emr.models import emr_backends
from moto.kms.models import kms_backends
from moto.sns.exceptions import SNSNotFoundError
from moto.sns.models import sns_backends
from moto.sns.responses import SNSResponse

from local_aws import controls
from local_aws.controls import ALARM_ACTIONS, control
from local_aws.moto_internals import Json, Untyped, replace, request_parameter, wrap

AT: Final = re.compile(r"at\((\d{4}-\d\d-\d\dT\d\d:\d\d)\)")
DURATION: Final = re.compile(r"PT(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?")


def put_alarm_mute_rule(request: Untyped) -> EmptyResult:
    """Write a rule, or replace the rule of that name. Only one-time rules are known here."""
    name, targets = request_parameter(request, "Name"), request_parameter(request, "MuteTargets", {})
    schedule = request_parameter(request, "Rule")["Schedule"]
    at, duration = AT.fullmatch(schedule["Expression"]), DURATION.fullmatch(schedule["Duration"])
    if at is None or duration is None:
        raise ValidationError("the local AWS knows rules of the form at(yyyy-MM-ddThh:mm) for PTnHnM")
    missing = set(targets.get("AlarmNames", ())) - set(request.cloudwatch_backend.alarms)
    if missing:
        raise ValidationError(f"Alarms do not exist: {', '.join(sorted(missing))}")
    start = datetime.fromisoformat(at[1]).replace(tzinfo=UTC)
    length = timedelta(**{unit: int(number or 0) for unit, number in duration.groupdict().items()})
    if controls.are_worse() and start <= datetime.now(UTC):
        length = timedelta()
    _rules(request)[name] = {
        "Name": name,
        "AlarmMuteRuleArn": f"arn:aws:cloudwatch:{request.region}:{request.current_account}:alarm-mute-rule:{name}",
        "Description": request_parameter(request, "Description"),
        "Rule": {"Schedule": schedule},
        "MuteTargets": targets,
        "ExpireDate": request_parameter(request, "ExpireDate"),
        "MuteType": "ONE_TIME",
        "window": (start, start + length),
    }
    return EmptyResult()


def get_alarm_mute_rule(request: Untyped) -> ActionResult:
    """Return a rule with its status now."""
    rule = _rules(request).get(request_parameter(request, "AlarmMuteRuleName"))
    if rule is None:
        raise ResourceNotFoundException
    return ActionResult(_described(rule))


def list_alarm_mute_rules(request: Untyped) -> ActionResult:
    """Return the rules of an alarm, or all, with one of the statuses."""
    alarm, statuses = request_parameter(request, "AlarmName"), request_parameter(request, "Statuses", [])
    described = [_described(rule) for rule in _rules(request).values()]
    summaries = [
        rule
        for rule in described
        if (alarm is None or alarm in rule["MuteTargets"]["AlarmNames"])
        and (not statuses or rule["Status"] in statuses)
    ]
    return ActionResult({"AlarmMuteRuleSummaries": summaries})


def delete_alarm_mute_rule(request: Untyped) -> EmptyResult:
    """Delete a rule; one that does not exist is deleted already."""
    _rules(request).pop(request_parameter(request, "AlarmMuteRuleName"), None)
    return EmptyResult()


def _rules(request: Untyped) -> dict[str, Json]:
    """Return the rules of the account and region by name, which moto's backend keeps and resets."""
    rules: dict[str, Json] = request.cloudwatch_backend.__dict__.setdefault("mute_rules", {})
    return rules


def _described(rule: Json) -> Json:
    start, end = rule["window"]
    now = datetime.now(UTC)
    status = "SCHEDULED" if now < start else "ACTIVE" if now < end else "EXPIRED"
    return {**{name: value for name, value in rule.items() if name != "window"}, "Status": status}


PENDING: Final = "PendingConfirmation"
BY_MAIL: Final = frozenset({"email", "email-json"})
PUBLISHER: Final = "cloudwatch.amazonaws.com"
REFUSAL: Final = "null (Service: AWSKMS; Status Code: 400; Error Code: AccessDeniedException)"
PUBLISHED, DELIVERED, FAILED = (
    "NumberOfMessagesPublished",
    "NumberOfNotificationsDelivered",
    "NumberOfNotificationsFailed",
)


def install() -> None:
    """Add actions to moto's alarms, rules that mute them, and confirmation to its subscriptions."""
    for operation in (put_alarm_mute_rule, get_alarm_mute_rule, list_alarm_mute_rules, delete_alarm_mute_rule):
        replace(CloudWatchResponse, operation.__name__, operation)
    wrap(CloudWatchBackend, "set_alarm_state", _set_alarm_state)
    replace(CloudWatchResponse, "describe_alarm_history", _describe_alarm_history)
    replace(SNSResponse, "list_subscriptions_by_topic", _list_subscriptions_by_topic)
    replace(SNSResponse, "confirm_subscription", _confirm_subscription)


def _set_alarm_state(original: Callable[..., None], backend: Untyped, *words: Untyped, **named: Untyped) -> None:
    """Set the state, and evaluate the composite alarms, whose actions CloudWatch then executes."""
    original(backend, *words, **named)
    for composite in [alarm for alarm in backend.alarms.values() if alarm.rule]:
        state = "ALARM" if _holds(backend, composite.rule) else "OK"
        if state != composite.state_value:
            composite.update_state("the rule was evaluated", "{}", state)
            _act(backend, composite)


def _holds(backend: Untyped, rule: str) -> bool:
    """Return whether the rule of a composite alarm is true: terms ALARM("name"), NOT, AND, OR and parentheses."""
    for name, alarm in backend.alarms.items():
        rule = rule.replace(f'ALARM("{name}")', str(alarm.state_value == "ALARM"))
    for operator in ("NOT", "AND", "OR"):
        rule = rule.replace(operator, operator.lower())
    names = set(rule.replace("(", " ").replace(")", " ").split())
    if not names <= {"True", "False", "not", "and", "or"}:
        raise ValueError(f"the local AWS does not know this rule: {rule}")
    return bool(eval(rule))  # noqa: S307 - only the five words above


def _act(backend: Untyped, alarm: Untyped) -> None:
    """Execute the actions of an alarm for its new state, unless they are disabled or muted, and keep its history."""
    rules = map(_described, backend.__dict__.get("mute_rules", {}).values())
    active = [rule["MuteTargets"].get("AlarmNames", ()) for rule in rules if rule["Status"] == "ACTIVE"]
    if not alarm.actions_enabled or any(alarm.name in names for names in active):
        return
    account, region = backend.account_id, backend.region_name
    # The control belongs to the cluster of the alarm.
    clusters = emr_backends[account][region].clusters.values()
    tags = [control(cluster, ALARM_ACTIONS) for cluster in clusters if alarm.name.startswith(f"{cluster.name}-")]
    behaviour = next(filter(None, tags), None)
    for topic in alarm.alarm_actions if alarm.state_value == "ALARM" else alarm.ok_actions:
        refusal = REFUSAL if behaviour == "refuse" or not _key_admits(backend, topic) else None
        result = "Successfully executed" if refusal is None else "Failed to execute"
        error = "" if refusal is None else f'. Received error: "{refusal}"'
        data = {"actionState": "Failed" if refusal else "Succeeded", "notificationResource": topic, "error": refusal}
        _history(backend).append(
            {
                "AlarmName": alarm.name,
                "AlarmType": "CompositeAlarm",
                "Timestamp": utcnow(),
                "HistoryItemType": "Action",
                "HistorySummary": f"{result} action {topic}{error}"[:255],
                "HistoryData": json.dumps(data),
            }
        )
        if refusal is None and behaviour != "silent":
            # Write SNS's metrics of one message: the deliveries to confirmed subscriptions.
            reaches = sum(not _is_pending(subscription) for subscription in _subscriptions(backend, topic))
            delivered = 0 if behaviour == "lose" else reaches
            dimensions = [{"Name": "TopicName", "Value": topic.rpartition(":")[2]}]
            figures = ((PUBLISHED, 1), (DELIVERED, delivered), (FAILED, reaches - delivered))
            metrics = [
                {"MetricName": name, "Value": count, "Dimensions": dimensions} for name, count in figures if count
            ]
            backend.put_metric_data("AWS/SNS", metrics)


def _key_admits(backend: Untyped, topic: str) -> bool:
    """Return whether CloudWatch may use the topic's key; the conditions of the policy are not evaluated."""
    key = sns_backends[backend.account_id][backend.region_name].topics[topic].kms_master_key_id
    if not key:
        return True
    keys = kms_backends[backend.account_id][backend.region_name]
    policy = json.loads(keys.describe_key(key.rpartition("/")[2]).policy)
    return any(
        statement["Effect"] == "Allow" and statement.get("Principal") == {"Service": PUBLISHER}
        for statement in policy["Statement"]
    )


def _history(backend: Untyped) -> list[Json]:
    history: list[Json] = backend.__dict__.setdefault("alarm_history", [])
    return history


def _describe_alarm_history(request: Untyped) -> ActionResult:
    """Return the history of alarms, newest first: of metric alarms unless the request names another type."""
    types, name = request_parameter(request, "AlarmTypes") or ["MetricAlarm"], request_parameter(request, "AlarmName")
    items = [
        item
        for item in reversed(_history(request.cloudwatch_backend))
        if item["AlarmType"] in types and name in {None, item["AlarmName"]}
    ]
    return ActionResult({"AlarmHistoryItems": items})


def _subscriptions(backend: Untyped, topic: str) -> list[Untyped]:
    sns = sns_backends[backend.account_id][backend.region_name]
    return [subscription for subscription in sns.subscriptions.values() if subscription.topic_arn == topic]


def _is_pending(subscription: Untyped) -> bool:
    return subscription.protocol in BY_MAIL and not subscription.confirmed


def _list_subscriptions_by_topic(request: Untyped) -> ActionResult:
    topic = request_parameter(request, "TopicArn")
    subscriptions = [
        {
            "SubscriptionArn": PENDING if _is_pending(subscription) else subscription.arn,
            "Owner": subscription.owner,
            "Protocol": subscription.protocol,
            "Endpoint": subscription.endpoint,
            "TopicArn": topic,
        }
        for subscription in _subscriptions(request.backend, topic)
    ]
    return ActionResult({"Subscriptions": subscriptions})


def _confirm_subscription(request: Untyped) -> ActionResult:
    topic, token = request_parameter(request, "TopicArn"), request_parameter(request, "Token")
    for subscription in _subscriptions(request.backend, topic):
        if subscription.endpoint == token:
            subscription.confirmed = True
            return ActionResult({"SubscriptionArn": subscription.arn})
    raise SNSNotFoundError("Invalid token")
