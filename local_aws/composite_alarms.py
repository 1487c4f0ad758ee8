"""PutCompositeAlarm, which moto's alarms can hold but no operation puts."""

from __future__ import annotations

from moto.cloudwatch.responses import CloudWatchResponse

from local_aws.moto_border import replace


def install() -> None:
    """Lets the operation that puts metric alarms, which reads an AlarmRule too, put composite ones."""
    replace(CloudWatchResponse, "put_composite_alarm", CloudWatchResponse.put_metric_alarm)
