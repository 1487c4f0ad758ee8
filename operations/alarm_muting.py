"""The silence of a cluster's notifications: a teardown mutes them for some hours, and a deployment ends the silence.

A mute rule expires by itself, so a teardown that is abandoned leaves no cluster without notifications. Where CloudWatch
refuses the rule, the actions of the alarms are disabled, which lasts until somebody enables them again.
Source: CloudWatch API Reference, PutAlarmMuteRule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from botocore.exceptions import ClientError
from msgspec import Struct

from environments.names import emr_cluster_name
from operations.aws import Aws
from operations.aws_answers import DENIED
from operations.aws_errors import error_code
from operations.described_alarm import described_alarms
from operations.polling import turns

NOTIFYING: Final = "call-"
"""The names of the composite alarms, which alone notify, go on with this word."""
# judgement: a teardown waits at most an hour for HBase, one for EMR and one for each of two stacks.
MUTE_HOURS: Final = 6
ACTIVATION_SECONDS: Final = 30.0  # judgement: the rule begins in the minute in which it is written
FIRST_POLL_SECONDS: Final = 0.2
POLL_SECONDS: Final = 5.0
NOT_OFFERED: Final = frozenset({"InvalidAction", "UnknownOperationException", "UnsupportedOperation"})
"""Codes of a region or partition whose CloudWatch has no mute rules."""
NO_RULE: Final = frozenset({"ResourceNotFound", "ResourceNotFoundException"})


class Silence(Struct, frozen=True, kw_only=True):
    """The notifications of a cluster that reach nobody: those that are disabled, and those that active rules mute.

    `own_rule` is the name of the rule that a teardown writes; every other rule belongs to somebody else.
    """

    own_rule: str
    disabled: tuple[str, ...]
    rules: Mapping[str, tuple[str, ...]]

    @property
    def ours(self) -> bool:
        """Return whether a deployment would end some of the silence."""
        return bool(self.causes)

    @property
    def causes(self) -> tuple[str, ...]:
        """Return the names of what a deployment would end: the disabled notifications, and the rule of a teardown."""
        return (*self.disabled, *(name for name in self.rules if name == self.own_rule))

    @property
    def lines(self) -> tuple[str, ...]:
        """Return a sentence for each cause of silence."""
        return tuple(self._lines())

    def _lines(self) -> Iterator[str]:
        if self.disabled:
            yield f"the notifications of {_count(self.disabled)} are disabled: {', '.join(self.disabled)}"
        for name, alarms in self.rules.items():
            subject = _count(alarms) if alarms else "the next cluster, because a teardown left it behind"
            yield f"mute rule {name} mutes the notifications of {subject}"


def read_silence(aws: Aws, environment: str, cluster_name: str) -> Silence:
    """Return which notifications of a cluster reach nobody at the moment, or would not once there are alarms."""
    notifying, own_rule = _notifying(aws, environment, cluster_name), _rule_name(environment, cluster_name)
    rules: dict[str, tuple[str, ...]] = {}
    for alarm in notifying:
        for rule in _active_rules(aws, AlarmName=alarm):
            rules[rule] = (*rules.get(rule, ()), alarm)
    if not notifying and own_rule in _active_rules(aws):
        rules[own_rule] = ()
    disabled = tuple(name for name, is_silenced in notifying.items() if is_silenced)
    return Silence(own_rule=own_rule, disabled=disabled, rules=rules)


def mute(aws: Aws, environment: str, cluster_name: str) -> str:
    """Silence the notifications of a cluster that is about to be shut down, and return a sentence that says how."""
    notifying = _notifying(aws, environment, cluster_name)
    if not notifying:
        return "no alarm of the cluster notifies anybody"
    rule, names = _rule_name(environment, cluster_name), list(notifying)
    try:
        until = _put_rule(aws, rule, names)
        if _is_active(aws, rule):
            return f"mute rule {rule} mutes the notifications of {_count(names)} until {until:%Y-%m-%d %H:%M} UTC"
        why = "CloudWatch has not activated the mute rule"
        aws.cloudwatch.delete_alarm_mute_rule(AlarmMuteRuleName=rule)
    except ClientError as error:
        why = f"CloudWatch refused a mute rule ({error_code(error)})"
    aws.cloudwatch.disable_alarm_actions(AlarmNames=names)
    return (
        f"{why}, so the notifications of {_count(names)} are disabled; if you keep the cluster, enable them:"
        f" warmbase deploy {environment}"
    )


def unmute(aws: Aws, environment: str, cluster_name: str) -> str:
    """Enable what is disabled, delete the rule of an earlier teardown, and return a sentence that says so."""
    silence = read_silence(aws, environment, cluster_name)
    if silence.disabled:
        aws.cloudwatch.enable_alarm_actions(AlarmNames=list(silence.disabled))
    if silence.own_rule in silence.rules:
        aws.cloudwatch.delete_alarm_mute_rule(AlarmMuteRuleName=silence.own_rule)
    others = [name for name in silence.rules if name != silence.own_rule]
    remark = f"; not deleted, because warmbase did not write them: {', '.join(others)}" if others else ""
    return f"the alarms of cluster {cluster_name} notify again{remark}"


def delete_rule(aws: Aws, environment: str, cluster_name: str) -> str:
    """Delete the rule of a teardown with its alarms, because it would mute those of the next cluster of that name.

    Return a remark if these credentials may not; the next deployment then ends the silence.
    """
    rule = _rule_name(environment, cluster_name)
    try:
        aws.cloudwatch.delete_alarm_mute_rule(AlarmMuteRuleName=rule)
    except ClientError as error:
        if error_code(error) in DENIED:
            return f"; if mute rule {rule} exists, it stays: these credentials may not delete it"
        if error_code(error) not in NOT_OFFERED | NO_RULE:
            raise
    return ""


def _count(alarms: Sequence[str]) -> str:
    return f"{len(alarms)} alarm{'s' * (len(alarms) != 1)}"


def _rule_name(environment: str, cluster_name: str) -> str:
    return f"{emr_cluster_name(environment, cluster_name)}-teardown"


def _notifying(aws: Aws, environment: str, cluster_name: str) -> Mapping[str, bool]:
    """Return whether the actions of each alarm that notifies are disabled."""
    start = f"{emr_cluster_name(environment, cluster_name)}-{NOTIFYING}"
    alarms = described_alarms(aws, environment, cluster_name)
    return {name: alarm.silenced for name, alarm in alarms.items() if name.startswith(start)}


def _put_rule(aws: Aws, rule: str, alarms: list[str]) -> datetime:
    """Write a rule that mutes the alarms from this minute on; return when it expires."""
    start = datetime.now(UTC).replace(second=0, microsecond=0)
    until = start + timedelta(hours=MUTE_HOURS)
    aws.cloudwatch.put_alarm_mute_rule(
        Name=rule,
        Description="warmbase teardown shuts the cluster down; delete this rule to be notified again",
        Rule={"Schedule": {"Expression": f"at({start:%Y-%m-%dT%H:%M})", "Duration": f"PT{MUTE_HOURS}H"}},
        MuteTargets={"AlarmNames": alarms},
        ExpireDate=until,
    )
    return until


def _is_active(aws: Aws, rule: str) -> bool:
    for _ in turns(ACTIVATION_SECONDS, FIRST_POLL_SECONDS, POLL_SECONDS):
        if aws.cloudwatch.get_alarm_mute_rule(AlarmMuteRuleName=rule)["Status"] == "ACTIVE":
            return True
    return False


def _active_rules(aws: Aws, **alarm: str) -> list[str]:
    """Return the names of the rules that are active now, or mute one alarm; none where CloudWatch has no mute rules."""
    try:
        paginator: Any = aws.cloudwatch.get_paginator("list_alarm_mute_rules")
        pages = paginator.paginate(Statuses=["ACTIVE"], **alarm)
        arns = [rule["AlarmMuteRuleArn"] for page in pages for rule in page.get("AlarmMuteRuleSummaries", ())]
    except ClientError as error:
        if error_code(error) not in NOT_OFFERED:
            raise
        return []
    return [arn.rpartition("alarm-mute-rule:")[2] for arn in arns]
