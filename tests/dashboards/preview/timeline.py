"""The minutes in which alarms and composite alarms are in ALARM while recorded servers play."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

from tests.dashboards.preview.cloudwatch import MetricStore, in_alarm
from tests.dashboards.preview.replay import MINUTE
from warmbase.dashboards.alarms import alarms, composite_alarms
from warmbase.environments.environment import Root
from warmbase.sizing.plan import Plan


def timeline(store: MetricStore, seconds: int, plan: Plan, root: Root) -> Mapping[str, Sequence[int]]:
    """Return the minutes in which each alarm was in ALARM, evaluated once a minute; others are left out."""
    minutes: dict[str, list[int]] = {}
    for now in range(0, seconds + 1, MINUTE):
        states = {alarm.name: in_alarm(alarm, store, now) for alarm in alarms(plan, root)}
        calling = {call.name: rule_holds(call.rule, states) for call in composite_alarms(plan, root)}
        for name, holds in {**states, **calling}.items():
            if holds:
                minutes.setdefault(name, []).append(now // MINUTE)
    return minutes


def rule_holds(rule: str, states: Mapping[str, bool]) -> bool:
    """Return whether a composite alarm's rule holds; `states` says of each alarm whether it is in ALARM."""
    names: dict[str, bool] = {}

    def placed(match: re.Match[str]) -> str:
        name = f"a{len(names)}"
        names[name] = states[match[1]]
        return name

    text = re.sub(r'ALARM\("([^"]+)"\)', placed, rule)
    for word in ("AND", "OR", "NOT"):
        text = re.sub(rf"\b{word}\b", word.lower(), text)
    return _holds(ast.parse(text, mode="eval").body, names)


def _holds(node: ast.expr, names: Mapping[str, bool]) -> bool:
    match node:
        case ast.Name(id=name):
            return names[name]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _holds(operand, names)
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_holds(value, names) for value in values)
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(_holds(value, names) for value in values)
    raise ValueError(f"unsupported rule: {ast.unparse(node)}")
