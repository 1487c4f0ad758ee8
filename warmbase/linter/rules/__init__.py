"""Every rule, collected from the modules of this folder; the first line of a module's docstring is its topic."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from warmbase.linter.rule import Rule
from warmbase.linter.rules import (
    cache_file,
    classifications,
    clients,
    ebs,
    emrfs,
    filling,
    hbase_bugs,
    heap,
    java,
    keys,
    metrics,
    nodes,
    persistence,
    release,
    requests,
    retention,
    root,
    secrets,
    shares,
    slots,
    values,
    write_ahead_log,
)

MODULES: Final = (
    release,
    keys,
    values,
    classifications,
    cache_file,
    slots,
    shares,
    filling,
    persistence,
    retention,
    java,
    heap,
    requests,
    hbase_bugs,
    root,
    emrfs,
    write_ahead_log,
    nodes,
    ebs,
    metrics,
    secrets,
    clients,
)


def _rules_of(module: ModuleType) -> tuple[Rule, ...]:
    rules = [value for value in vars(module).values() if isinstance(value, Rule)]
    return tuple(sorted(rules, key=lambda rule: rule.id))


def _topic_of(module: ModuleType) -> str:
    return (module.__doc__ or "").partition("\n")[0].removesuffix(".")


TOPICS: Final = {_topic_of(module): _rules_of(module) for module in MODULES}
BUGS: Final = frozenset(rule.id for rule in _rules_of(hbase_bugs))
"""The rules about bugs of an HBase version, which every file for that version has."""
RULES: Final = tuple(sorted((rule for rules in TOPICS.values() for rule in rules), key=lambda rule: rule.id))
