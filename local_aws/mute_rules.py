"""The mute rules of CloudWatch, which moto does not have: written, read, listed and deleted; active by the clock."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from moto.cloudwatch.exceptions import ResourceNotFoundException, ValidationError
from moto.cloudwatch.responses import CloudWatchResponse
from moto.core.responses import ActionResult, EmptyResult

from local_aws import readings
from local_aws.moto_internals import Json, Untyped, replace, request_parameter

AT: Final = re.compile(r"at\((\d{4}-\d\d-\d\dT\d\d:\d\d)\)")
DURATION: Final = re.compile(r"PT(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?")


def install() -> None:
    """Add the operations to moto's CloudWatch."""
    for operation in (put_alarm_mute_rule, get_alarm_mute_rule, list_alarm_mute_rules, delete_alarm_mute_rule):
        replace(CloudWatchResponse, operation.__name__, operation)


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
    if readings.are_worse() and start <= datetime.now(UTC):
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


def muted_alarms(backend: Untyped) -> set[str]:
    """Return the names of the alarms that active rules mute."""
    rules = backend.__dict__.get("mute_rules", {}).values()
    active = (rule for rule in rules if _described(rule)["Status"] == "ACTIVE")
    return {name for rule in active for name in rule["MuteTargets"].get("AlarmNames", ())}


def _rules(request: Untyped) -> dict[str, Json]:
    """Return the rules of the account and region by name, which moto's backend keeps and resets."""
    rules: dict[str, Json] = request.cloudwatch_backend.__dict__.setdefault("mute_rules", {})
    return rules


def _described(rule: Json) -> Json:
    start, end = rule["window"]
    now = datetime.now(UTC)
    status = "SCHEDULED" if now < start else "ACTIVE" if now < end else "EXPIRED"
    return {**{name: value for name, value in rule.items() if name != "window"}, "Status": status}
