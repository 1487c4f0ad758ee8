"""Checks that the notifications of alarms reach somebody: the subscriptions of their topic, and a test of one alarm."""

from __future__ import annotations

from collections.abc import Iterator

from operations.notifications import METRIC_SECONDS, AlarmTest, read_topics, topic_faults
from operations.verification.check import Check, CheckResult, VerificationContext


def subscriptions(context: VerificationContext) -> Iterator[CheckResult]:
    """Check that each topic of the alarms has subscriptions, and that all of them are confirmed."""
    environment = context.launch.environment
    topics = read_topics(context.aws, environment.name, context.launch.plan.cluster, environment.alarm_email)
    faults = topic_faults(topics)
    observed = "; ".join(faults) or f"{sum(topic.reaches for topic in topics or ())} confirmed"
    yield Check(
        "subscriptions of the alarms",
        "",
        "every subscription of the alarms' topic is confirmed, and somebody is subscribed",
        "set alarms.email and run warmbase deploy, or subscribe somebody to the topic; then follow the link in the mail"
        " from SNS. SNS deletes an unconfirmed subscription after 48 hours: subscribe the address again",
    ).result(observed if topics else observed if faults else "no alarm has a topic", good=_verdict(topics, faults))


def _verdict(topics: object, faults: tuple[str, ...]) -> bool | None:
    return None if topics is None else bool(topics) and not faults


def alarm_test_results(test: AlarmTest) -> tuple[CheckResult, ...]:
    """Return what a test of an alarm has shown: whether CloudWatch may publish, and whether SNS has delivered."""
    action = Check(
        "action of an alarm",
        "CloudWatch passes its account (`aws:SourceAccount`)",
        "CloudWatch publishes the notification to the encrypted topic",
        "read the history of the alarm in the CloudWatch console; the policies of the topic and of its key must admit"
        " cloudwatch.amazonaws.com (stacks/monitoring.py)",
    ).result(test.why_not or test.history, good=None if test.why_not else bool(test.executed))
    if not test.executed:
        return (action,)
    counts = {"published": test.published, "delivered": test.delivered, "failed": test.failed}
    known = ", ".join(f"{count:,.0f} {name}" for name, count in counts.items() if count is not None)
    unknown = f"{METRIC_SECONDS / 60:.0f} minutes after the action, SNS has counted neither a delivery nor a failure"
    good = False if test.failed else True if test.delivered else None
    delivery = Check(
        "delivery of a notification",
        "",
        "SNS counts a delivery, and no failure; it cannot say whether a mail arrived in the mailbox",
        "confirm the subscriptions; then run the same command again, and check the mailbox",
    ).result(f"{known}{'; ' * bool(known)}{unknown}" if good is None else known, good=good)
    return (action, delivery)
