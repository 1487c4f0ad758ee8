"""How an alarm reaches people: the subscriptions of its SNS topic, and a test that CloudWatch and SNS deliver.

SNS sends nothing to an address that is not confirmed, and an alarm on an encrypted topic fails silently if the key
refuses CloudWatch. Source: SNS Developer Guide, sns-email-notifications and sns-key-management; CloudWatch API
Reference, SetAlarmState and DescribeAlarmHistory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from botocore.exceptions import ClientError
from msgspec import Struct

from dashboards.alarm_names import is_alarm_of
from environments.names import emr_cluster_name
from operations.alarm_muting import read_silence
from operations.aws import Aws
from operations.aws_answers import DENIED
from operations.aws_errors import error_code, translated
from operations.polling import turns
from operations.progress import Say

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
FIRST_POLL_SECONDS: Final = 0.2
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
    def reaches(self) -> int:
        """Return the number of confirmed subscriptions."""
        return sum(subscription.confirmed for subscription in self.subscriptions)

    @property
    def faults(self) -> tuple[str, ...]:
        """Return a sentence for each reason why a notification reaches nobody, or not everybody."""
        return tuple(self._faults())

    def _faults(self) -> Iterator[str]:
        for subscription in self.subscriptions:
            if not subscription.confirmed:
                yield f"{subscription.endpoint} has not confirmed its subscription, so SNS sends it nothing"
        if self.wanted and self.wanted not in {subscription.endpoint for subscription in self.subscriptions}:
            yield f"{self.wanted}, the address of the environment file, is not subscribed"
        elif not self.subscriptions:
            yield "nobody is subscribed to the alarms"


class AlarmTest(Struct, frozen=True, kw_only=True):
    """The outcome of a test. `why_not` says why none was made; counts are None while SNS has published no metric."""

    topic: str = ""
    alarm: str = ""
    executed: bool | None = None
    history: str = ""
    published: float | None = None
    delivered: float | None = None
    failed: float | None = None
    why_not: str = ""


def read_topics(aws: Aws, environment: str, cluster_name: str, email: str | None) -> tuple[AlarmTopic, ...] | None:
    """Return the topics of a cluster's alarms; None where the credentials may not list subscriptions."""
    _, composites = _alarms(aws, environment, cluster_name)
    topics = []
    try:
        for arn in sorted({topic for alarm in composites.values() for topic in alarm.get("AlarmActions", ())}):
            pages: Any = aws.sns.get_paginator("list_subscriptions_by_topic").paginate(TopicArn=arn)
            subscriptions = tuple(
                Subscription(
                    protocol=entry["Protocol"],
                    endpoint=entry["Endpoint"],
                    confirmed=entry["SubscriptionArn"] != PENDING,
                )
                for page in pages
                for entry in page["Subscriptions"]
            )
            topics.append(AlarmTopic(arn=arn, subscriptions=subscriptions, wanted=email))
    except ClientError as error:
        if error_code(error) not in DENIED:
            raise
        return None
    return tuple(topics)


def topic_faults(topics: Sequence[AlarmTopic] | None) -> tuple[str, ...]:
    """Return the faults of all topics, or the sentence that says why they are unknown."""
    if topics is None:
        return ("unknown: these credentials may not list the subscriptions (sns:ListSubscriptionsByTopic)",)
    return tuple(fault for topic in topics for fault in topic.faults)


def try_alarm(aws: Aws, environment: str, cluster_name: str, say: Say) -> AlarmTest:
    """Set one metric alarm to ALARM, and follow its notification through CloudWatch and SNS; then set it back.

    CloudWatch itself evaluates a metric alarm again within minutes, so that a test which is killed leaves nothing. (A
    composite alarm would keep the state, and is never set.)
    """
    with translated("could not test an alarm", "run the same command again"):
        alarm, composite, why_not = _candidate(aws, environment, cluster_name)
        if composite is None:
            return AlarmTest(why_not=why_not)
        name, topic = composite["AlarmName"], composite["AlarmActions"][0]
        before = _actions(aws, name)
        say(f"setting {alarm['AlarmName']} to ALARM, which notifies as {name}")
        aws.cloudwatch.set_alarm_state(AlarmName=alarm["AlarmName"], StateValue="ALARM", StateReason=REASON)
        try:
            action = _action(aws, name, topic, len(before))
        finally:
            _set_back(aws, alarm)
        if action is None:
            return AlarmTest(topic=topic, alarm=name, history="CloudWatch has executed no action")
        executed = EXECUTED in action["HistorySummary"]
        counts: Mapping[str, float] = {}
        if executed:
            say(f"{name} has published to its topic; SNS counts it within {METRIC_SECONDS / 60:.0f} minutes")
            counts = _counts(aws, topic, action["Timestamp"])
        published, delivered, failed = map(counts.get, METRICS)
        return AlarmTest(
            topic=topic,
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


def _candidate(aws: Aws, environment: str, cluster_name: str) -> tuple[Any, Any, str]:
    """Return a metric alarm and the composite alarm that it causes, both quiet; else why there is none."""
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
            return alarm, composite, ""
    return None, None, why


def _actions(aws: Aws, composite: str) -> list[Any]:
    """Return the actions in the history of a composite alarm, newest first."""
    pages: Any = aws.cloudwatch.get_paginator("describe_alarm_history").paginate(
        AlarmName=composite, AlarmTypes=["CompositeAlarm"], HistoryItemType="Action"
    )
    return [item for page in pages for item in page["AlarmHistoryItems"]]


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
    queries: Any = [
        {
            "Id": name.lower(),
            "MetricStat": {
                "Metric": {"Namespace": "AWS/SNS", "MetricName": name, "Dimensions": dimensions},
                "Period": SNS_PERIOD.seconds,
                "Stat": "Sum",
            },
        }
        for name in METRICS
    ]
    counts: dict[str, float] = {}
    for _ in turns(METRIC_SECONDS, FIRST_POLL_SECONDS, POLL_SECONDS):
        end = max(datetime.now(UTC), since) + SNS_PERIOD
        results = aws.cloudwatch.get_metric_data(MetricDataQueries=queries, StartTime=start, EndTime=end)
        series = zip(METRICS, (sum(result["Values"]) for result in results["MetricDataResults"]), strict=True)
        counts = {name: count for name, count in series if count}
        if counts.keys() & set(METRICS[1:]):
            break
    return counts
