"""The minutes in which alarms and composite alarms are in ALARM while recorded servers play."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dashboards.alarms import alarms
from dashboards.composite_alarms import composite_alarms
from lab.preview.cloudwatch import in_alarm, rule_holds
from lab.preview.replay import MINUTE, ReplayedServer, replay
from sizing.plan import Plan

__all__ = ["timeline"]


def timeline(servers: Sequence[ReplayedServer], plan: Plan, root_bucket: str) -> Mapping[str, Sequence[int]]:
    """Return the minutes in which each alarm was in ALARM, evaluated once a minute; others are left out."""
    store = replay(servers, root_bucket)
    minutes: dict[str, list[int]] = {}
    for now in range(0, servers[0].seconds + 1, MINUTE):
        states = {alarm.name: in_alarm(alarm, store, now) for alarm in alarms(plan, root_bucket)}
        calling = {call.name: rule_holds(call.rule, states) for call in composite_alarms(plan, root_bucket)}
        for name, holds in {**states, **calling}.items():
            if holds:
                minutes.setdefault(name, []).append(now // MINUTE)
    return minutes
