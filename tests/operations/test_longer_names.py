"""Nothing of one environment is taken for that of another whose name is longer and begins alike."""

from __future__ import annotations

from tests.operations.deployed import Deployed
from warmbase.operations.cluster.alarms import described_alarms
from warmbase.operations.cluster.drift import compare_deployed
from warmbase.operations.cluster.state import state
from warmbase.operations.deploy.teardown import teardown

LONGER = (
    "warmbase-dev-blue-green-disk-full",
    "warmbase-dev-blue-call-core-node-missing",
    "warmbase-dev-blue-call-an-end-of-another-version",
)
"""Alarms of the clusters green and call in the environment dev-blue."""


def add_alarms(here: Deployed) -> None:
    for name in LONGER:
        here.aws.cloudwatch.put_metric_alarm(
            AlarmName=name,
            EvaluationPeriods=1,
            ComparisonOperator="GreaterThanThreshold",
            MetricName="m",
            Namespace="n",
            Period=60,
            Statistic="Sum",
            Threshold=1,
        )
        here.aws.cloudwatch.set_alarm_state(AlarmName=name, StateValue="ALARM", StateReason="test")


def test_alarms_of_the_longer_name_are_not_shown_compared_or_silenced(here: Deployed) -> None:
    add_alarms(here)
    assert not set(described_alarms(here.aws, "dev", "blue")) & set(LONGER)
    assert set(described_alarms(here.aws, "dev-blue", "green")) == {LONGER[0]}
    [cluster] = state(here.aws, here.environment).clusters
    assert not set(cluster.alarms) & set(LONGER)
    _, comparisons = compare_deployed(here.aws, here.launch)
    [alarms] = [comparison for comparison in comparisons if comparison.subject == "alarms"]
    assert alarms.differences == ()
    [silence] = [stage for stage in teardown(here.aws, here.environment, "blue") if "alarms" in stage.title]
    silence.act(print)
    pages = here.aws.cloudwatch.describe_alarms(AlarmNames=list(LONGER))["MetricAlarms"]
    assert all(alarm["ActionsEnabled"] for alarm in pages)
