"""Metric alarms, composite alarms that send a notification when a rule over metric alarms holds, and their names.

By its name, an alarm is told from those of an environment with a longer name.
"""

from __future__ import annotations

from functools import partial
from typing import Final, Literal, get_args

from msgspec import Struct

from warmbase.dashboards.graph import MINUTE, Exact
from warmbase.environments.names import emr_cluster_name
from warmbase.sizing.modes import CompositeName

Comparison = Literal[
    "GreaterThanThreshold", "GreaterThanOrEqualToThreshold", "LessThanThreshold", "LessThanOrEqualToThreshold"
]
Missing = Literal["breaching", "notBreaching"]


class Alarm(Struct, frozen=True, kw_only=True):
    """A threshold on one series, given by its exact dimensions, or on a Metrics Insights query.

    It notifies nobody: its state enters the rules of composite alarms. It is in ALARM while `breaching` of the last
    `periods` periods breach, by default all of them; a period without data counts as `missing` says.
    """

    name: str
    description: str
    watched: Exact | str
    comparison: Comparison
    threshold: float
    period_seconds: int = MINUTE
    periods: int = 5
    datapoints: int | None = None
    missing: Missing = "notBreaching"

    @property
    def breaching(self) -> int:
        """Return how many of the last periods breach while the alarm is in ALARM."""
        return self.periods if self.datapoints is None else self.datapoints


alarm_above: Final = partial(Alarm, comparison="GreaterThanThreshold")
alarm_below: Final = partial(Alarm, comparison="LessThanThreshold")


class AlarmRule(Struct, frozen=True):
    """An expression over the states of alarms, built with `&`, `|` and `~`; `str()` gives CloudWatch's text.

    `NEVER` is the rule that never holds, such as that of an alarm that a plan does not have; it simplifies away.
    Source: CloudWatch API Reference, PutCompositeAlarm.
    """

    text: str
    operator: Literal["AND", "OR", "constant"] | None = None

    def __and__(self, other: AlarmRule) -> AlarmRule:
        """Return the rule that holds while both hold."""
        if NEVER in (self, other):
            return NEVER
        return self._joined("AND", other, neutral=ALWAYS)

    def __or__(self, other: AlarmRule) -> AlarmRule:
        """Return the rule that holds while one of the two holds."""
        return self._joined("OR", other, neutral=NEVER)

    def __invert__(self) -> AlarmRule:
        """Return the rule that holds while this one does not."""
        return ALWAYS if self == NEVER else AlarmRule(f"NOT {self._operand(None)}")

    def __str__(self) -> str:
        """Return the rule as `AlarmRule` of PutCompositeAlarm."""
        return self.text

    def _joined(self, operator: Literal["AND", "OR"], other: AlarmRule, *, neutral: AlarmRule) -> AlarmRule:
        if neutral in (self, other):
            return other if self == neutral else self
        return AlarmRule(f"{self._operand(operator)} {operator} {other._operand(operator)}", operator)

    def _operand(self, operator: str | None) -> str:
        return self.text if self.operator in {None, operator} else f"({self.text})"


NEVER: Final = AlarmRule("FALSE", "constant")
ALWAYS: Final = AlarmRule("TRUE", "constant")


def in_alarm(name: str) -> AlarmRule:
    """Return the rule that holds while the alarm is in ALARM."""
    return AlarmRule(f'ALARM("{name}")')


def any_of(*names: str) -> AlarmRule:
    """Return the rule that holds while one of the alarms is in ALARM, in brackets; `NEVER` without a name."""
    return AlarmRule(f"({' OR '.join(map(str, map(in_alarm, names)))})") if names else NEVER


class CompositeAlarm(Struct, frozen=True, kw_only=True):
    """A composite alarm: it notifies when its rule begins to hold, and again when it ends; one for each cause."""

    name: str
    description: str
    rule: str


ENDS: Final = frozenset(
    {
        "cache-evicts",
        "cache-filling",
        "cache-lost",
        "claim-foreign",
        "claim-unconfirmed",
        "core-node-missing",
        "disk-full",
        "gets-slow",
        "hit-ratio-low",
        "index-behind",
        "insertions-fail",
        "long-pause",
        "meta-unassigned",
        "s3-gets-above-plan",
        "s3-refuses",
        "server-cold",
        "server-silent",
        "server-young",
        *(f"call-{cause}" for cause in get_args(CompositeName)),
    }
)
"""The end of every alarm's name, in any mode."""


def is_alarm_of(name: str, environment: str, cluster_name: str) -> bool:
    """Return whether an alarm belongs to the cluster.

    The name of an environment may begin with another's: `warmbase-prod-blue-green-disk-full` is an alarm of cluster
    green in environment prod-blue, and not one of cluster blue in prod. So a name
    whose end warmbase does not know, from another version or from an alarm made by hand, belongs to no cluster.
    """
    start = f"{emr_cluster_name(environment, cluster_name)}-"
    return name.startswith(start) and name.removeprefix(start) in ENDS
