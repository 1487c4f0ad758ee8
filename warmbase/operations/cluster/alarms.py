"""The alarms of a cluster: as CloudWatch describes them, their silence, and the way on which they reach people.

A teardown mutes the notifications for some hours, and a deployment ends the silence. A mute rule expires by itself, so
a teardown that is abandoned leaves no cluster without notifications. Where CloudWatch refuses the rule, the actions of
the alarms are disabled, which lasts until somebody enables them again. Source: CloudWatch API Reference,
PutAlarmMuteRule.

An alarm reaches people through the subscriptions of its SNS topic; `try_alarm` is a test that CloudWatch and SNS
deliver. SNS sends nothing to an address that is not confirmed, and an alarm on an encrypted topic fails silently if the
key refuses CloudWatch. Source: SNS Developer Guide, sns-email-notifications and sns-key-management; CloudWatch API
Reference, SetAlarmState and DescribeAlarmHistory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final

from botocore.exceptions import ClientError
from msgspec import Struct

from warmbase.dashboards.alarm import is_alarm_of
from warmbase.environments.names import emr_cluster_name
from warmbase.ground.values import EqualButFor
from warmbase.operations.aws.clients import Aws, entries
from warmbase.operations.aws.errors import DENIED, error_code, translated
from warmbase.operations.aws.progress import Say, turns


class DescribedAlarm(EqualButFor, frozen=True, kw_only=True):
    """An alarm, metric or composite. `watched` is namespace, metric, statistic and dimensions, a query, or the rule.

    `silenced` is true while its actions are disabled. `state` is OK, ALARM or INSUFFICIENT_DATA.
    """

    UNCOMPARED: ClassVar[str] = "state"

    description: str
    watched: tuple[str, ...]
    period_seconds: int = 0
    periods: int = 0
    breaching: int = 0
    comparison: str = ""
    threshold: float = 0.0
    missing: str = ""
    silenced: bool = False
    state: str = ""


def described_alarms(aws: Aws, environment: str, cluster_name: str) -> Mapping[str, DescribedAlarm]:
    """Return the alarms of a cluster by name."""
    metric_alarms, composites = _alarms(aws, environment, cluster_name)
    described = {}
    for alarm in metric_alarms.values():
        queries = alarm.get("Metrics", ())
        dimensions = sorted(f"{dimension['Name']}={dimension['Value']}" for dimension in alarm.get("Dimensions", ()))
        one = (alarm.get("Namespace", ""), alarm.get("MetricName", ""), alarm.get("Statistic", ""), *dimensions)
        described[alarm["AlarmName"]] = DescribedAlarm(
            # An alarm that was made by hand may have none.
            description=alarm.get("AlarmDescription", ""),
            watched=tuple(query.get("Expression", "") for query in queries) if queries else one,
            period_seconds=queries[0].get("Period", 0) if queries else alarm.get("Period", 0),
            periods=alarm["EvaluationPeriods"],
            breaching=alarm.get("DatapointsToAlarm") or alarm["EvaluationPeriods"],
            comparison=alarm["ComparisonOperator"],
            threshold=alarm.get("Threshold", 0.0),
            missing=alarm.get("TreatMissingData", "missing"),
            state=alarm["StateValue"],
        )
    for alarm in composites.values():
        described[alarm["AlarmName"]] = DescribedAlarm(
            description=alarm.get("AlarmDescription", ""),
            watched=(alarm["AlarmRule"],),
            state=alarm["StateValue"],
            silenced=not alarm.get("ActionsEnabled", True),
        )
    return described


NOTIFYING: Final = "call-"
"""The names of the composite alarms, which alone notify, go on with this word."""
# judgement: a teardown waits at most an hour for HBase, one for EMR and one for each of two stacks.
MUTE_HOURS: Final = 6
ACTIVATION_SECONDS: Final = 30.0  # judgement: the rule begins in the minute in which it is written
FIRST_POLL_SECONDS: Final = 0.2
MUTING_POLL_SECONDS: Final = 5.0
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
        lines = []
        if self.disabled:
            lines.append(f"the notifications of {_count(self.disabled)} are disabled: {', '.join(self.disabled)}")
        for name, alarms in self.rules.items():
            subject = _count(alarms) if alarms else "the next cluster, because a teardown left it behind"
            lines.append(f"mute rule {name} mutes the notifications of {subject}")
        return tuple(lines)


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
        start = aws.now().replace(second=0, microsecond=0)
        until = start + timedelta(hours=MUTE_HOURS)
        aws.cloudwatch.put_alarm_mute_rule(
            Name=rule,
            Description="warmbase teardown shuts the cluster down; delete this rule to be notified again",
            Rule={"Schedule": {"Expression": f"at({start:%Y-%m-%dT%H:%M})", "Duration": f"PT{MUTE_HOURS}H"}},
            MuteTargets={"AlarmNames": names},
            ExpireDate=until,
        )
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


def _is_active(aws: Aws, rule: str) -> bool:
    for _ in turns(ACTIVATION_SECONDS, FIRST_POLL_SECONDS, MUTING_POLL_SECONDS):
        if aws.cloudwatch.get_alarm_mute_rule(AlarmMuteRuleName=rule)["Status"] == "ACTIVE":
            return True
    return False


def _active_rules(aws: Aws, **alarm: str) -> list[str]:
    """Return the names of the rules that are active now, or mute one alarm; none where CloudWatch has no mute rules."""
    try:
        paginator = aws.cloudwatch.get_paginator("list_alarm_mute_rules")
        rules = entries(paginator, "AlarmMuteRuleSummaries", Statuses=["ACTIVE"], **alarm)
    except ClientError as error:
        if error_code(error) not in NOT_OFFERED:
            raise
        return []
    return [rule["AlarmMuteRuleArn"].rpartition("alarm-mute-rule:")[2] for rule in rules]


PENDING: Final = "PendingConfirmation"
TESTS: Final = {"call-room": "disk-full", "call-servers": "core-node-missing"}
"""Composite alarms, each with a metric alarm that alone causes it; a test uses the first pair that is quiet."""
REASON: Final = "warmbase verify --alarm-test: a test of the notification, nothing is wrong"
EXECUTED: Final = "Successfully executed action"
METRICS: Final = ("NumberOfMessagesPublished", "NumberOfNotificationsDelivered", "NumberOfNotificationsFailed")
SNS_PERIOD: Final = timedelta(minutes=5)  # SNS Developer Guide, sns-monitoring-using-cloudwatch
# judgement: CloudWatch executes an action within seconds.
ACTION_SECONDS: Final = 120.0
# judgement: SNS publishes its metrics every five minutes, and CloudWatch shows them a few minutes later.
METRIC_SECONDS: Final = 600.0

POLL_SECONDS: Final = 10.0


class Subscription(Struct, frozen=True, kw_only=True):
    """An address that a topic sends to, once its owner has confirmed it."""

    protocol: str
    endpoint: str
    confirmed: bool


class AlarmTopic(Struct, frozen=True, kw_only=True):
    """A topic to which alarms publish, with its subscriptions; `wanted` is the address of the environment file."""

    arn: str
    subscriptions: tuple[Subscription, ...]
    wanted: str | None

    @property
    def faults(self) -> tuple[str, ...]:
        """Return a sentence for each reason why a notification reaches nobody, or not everybody."""
        faults = [
            f"{subscription.endpoint} has not confirmed its subscription, so SNS sends it nothing"
            for subscription in self.subscriptions
            if not subscription.confirmed
        ]
        if self.wanted and self.wanted not in {subscription.endpoint for subscription in self.subscriptions}:
            faults.append(f"{self.wanted}, the address of the environment file, is not subscribed")
        elif not self.subscriptions:
            faults.append("nobody is subscribed to the alarms")
        return tuple(faults)


class AlarmTest(Struct, frozen=True, kw_only=True):
    """The outcome of a test. `why_not` says why none was made; counts are None while SNS has published no metric."""

    alarm: str = ""
    executed: bool | None = None
    history: str = ""
    published: float | None = None
    delivered: float | None = None
    failed: float | None = None
    why_not: str = ""


def read_topics(aws: Aws, environment: str, cluster_name: str, email: str | None) -> tuple[AlarmTopic, ...]:
    """Return the topics of a cluster's alarms. Raises botocore's errors."""
    _, composites = _alarms(aws, environment, cluster_name)
    topics = []
    for arn in sorted({topic for alarm in composites.values() for topic in alarm.get("AlarmActions", ())}):
        paginator = aws.sns.get_paginator("list_subscriptions_by_topic")
        subscriptions = tuple(
            Subscription(
                protocol=one["Protocol"], endpoint=one["Endpoint"], confirmed=one["SubscriptionArn"] != PENDING
            )
            for one in entries(paginator, "Subscriptions", TopicArn=arn)
        )
        topics.append(AlarmTopic(arn=arn, subscriptions=subscriptions, wanted=email))
    return tuple(topics)


def topic_faults(topics: Sequence[AlarmTopic]) -> tuple[str, ...]:
    """Return the faults of all topics."""
    return tuple(fault for topic in topics for fault in topic.faults)


def try_alarm(aws: Aws, environment: str, cluster_name: str, say: Say) -> AlarmTest:
    """Set one metric alarm to ALARM, and follow its notification through CloudWatch and SNS; then set it back.

    CloudWatch itself evaluates a metric alarm again within minutes, so that a test which is killed leaves nothing. (A
    composite alarm would keep the state, and is never set.)
    """
    with translated("could not test an alarm", "run the same command again"):
        metric_alarms, composites = _alarms(aws, environment, cluster_name)
        silence = read_silence(aws, environment, cluster_name)
        silent = {*silence.disabled, *(alarm for alarms in silence.rules.values() for alarm in alarms)}
        why = "the cluster has no alarm that notifies"
        for end, cause in TESTS.items():
            alarm, composite = metric_alarms.get(cause), composites.get(end)
            if alarm is None or composite is None or not composite.get("AlarmActions"):
                continue
            if "ALARM" in {alarm["StateValue"], composite["StateValue"]}:
                why = f"{composite['AlarmName']} is in ALARM already; its history shows whether it has notified"
            elif composite["AlarmName"] in silent or composite.get("ActionsSuppressor"):
                why = f"the notifications of {composite['AlarmName']} are muted, disabled or suppressed"
            else:
                break
        else:
            return AlarmTest(why_not=why)
        name, topic = composite["AlarmName"], composite["AlarmActions"][0]
        before = len(_actions(aws, name))
        say(f"setting {alarm['AlarmName']} to ALARM, which notifies as {name}")
        aws.cloudwatch.set_alarm_state(AlarmName=alarm["AlarmName"], StateValue="ALARM", StateReason=REASON)
        try:
            action = _action(aws, name, topic, before)
        finally:
            _set_back(aws, alarm)
        if action is None:
            return AlarmTest(alarm=name, history="CloudWatch has executed no action")
        executed = EXECUTED in action["HistorySummary"]
        counts: Mapping[str, float] = {}
        if executed:
            say(f"{name} has published to its topic; SNS counts it within {METRIC_SECONDS / 60:.0f} minutes")
            counts = _counts(aws, topic, action["Timestamp"])
        published, delivered, failed = map(counts.get, METRICS)
        return AlarmTest(
            alarm=name,
            executed=executed,
            history=action["HistorySummary"],
            published=published,
            delivered=delivered,
            failed=failed,
        )


def _alarms(aws: Aws, environment: str, cluster_name: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the metric alarms and the composite alarms of a cluster, by the end of each name."""
    prefix = f"{emr_cluster_name(environment, cluster_name)}-"
    pages: Any = aws.cloudwatch.get_paginator("describe_alarms").paginate(
        AlarmNamePrefix=prefix, AlarmTypes=["MetricAlarm", "CompositeAlarm"]
    )
    kinds: dict[str, dict[str, Any]] = {"MetricAlarms": {}, "CompositeAlarms": {}}
    for page in pages:
        for kind, alarms in kinds.items():
            names = ((alarm["AlarmName"], alarm) for alarm in page.get(kind, ()))
            alarms |= {n.removeprefix(prefix): a for n, a in names if is_alarm_of(n, environment, cluster_name)}
    return kinds["MetricAlarms"], kinds["CompositeAlarms"]


def _actions(aws: Aws, composite: str) -> list[Any]:
    """Return the actions in the history of a composite alarm, newest first."""
    paginator, types = aws.cloudwatch.get_paginator("describe_alarm_history"), ["CompositeAlarm"]
    return entries(paginator, "AlarmHistoryItems", AlarmName=composite, AlarmTypes=types, HistoryItemType="Action")


def _action(aws: Aws, composite: str, topic: str, earlier: int) -> Any:  # noqa: ANN401 - an item of the history
    """Return the first action on the topic that is not among the earlier ones; None where none is executed in time."""
    for _ in turns(ACTION_SECONDS, FIRST_POLL_SECONDS, POLL_SECONDS):
        actions = _actions(aws, composite)
        fresh = [item for item in actions[: len(actions) - earlier] if topic in item["HistorySummary"]]
        if fresh:
            return fresh[-1]
    return None


def _set_back(aws: Aws, alarm: Mapping[str, Any]) -> None:
    """Restore the earlier state, unless CloudWatch has evaluated the alarm again."""
    name = alarm["AlarmName"]
    with suppress(ClientError):
        [now] = aws.cloudwatch.describe_alarms(AlarmNames=[name])["MetricAlarms"]
        if now.get("StateReason") == REASON:
            aws.cloudwatch.set_alarm_state(
                AlarmName=name, StateValue=alarm["StateValue"], StateReason="the test has ended"
            )


def _counts(aws: Aws, topic: str, since: datetime) -> Mapping[str, float]:
    """Return SNS's counts from the action on, as far as it has published them; wait for a delivery or a failure."""
    minutes = SNS_PERIOD.seconds // 60
    start = since.replace(minute=since.minute - since.minute % minutes, second=0, microsecond=0)
    dimensions = [{"Name": "TopicName", "Value": topic.rpartition(":")[2]}]
    queries: Any = []
    for name in METRICS:
        metric = {"Namespace": "AWS/SNS", "MetricName": name, "Dimensions": dimensions}
        statistic = {"Metric": metric, "Period": SNS_PERIOD.seconds, "Stat": "Sum"}
        queries.append({"Id": name.lower(), "MetricStat": statistic})
    counts: dict[str, float] = {}
    for _ in turns(METRIC_SECONDS, FIRST_POLL_SECONDS, POLL_SECONDS):
        end = max(aws.now(), since) + SNS_PERIOD
        results = aws.cloudwatch.get_metric_data(MetricDataQueries=queries, StartTime=start, EndTime=end)
        series = zip(METRICS, (sum(result["Values"]) for result in results["MetricDataResults"]), strict=True)
        counts = {name: count for name, count in series if count}
        if counts.keys() & set(METRICS[1:]):
            break
    return counts
