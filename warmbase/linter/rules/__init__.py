"""Every rule, collected from the modules of this folder; the first line of a module's docstring is its topic."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from warmbase.linter.rule import Rule
from warmbase.linter.rules import (
    cache_file,
    classifications,
    clients,
    hbase_bugs,
    java,
    keys,
    metrics,
    nodes,
    persistence,
    requests,
    root,
    shares,
)

MODULES: Final = (
    classifications,
    keys,
    cache_file,
    shares,
    persistence,
    java,
    requests,
    hbase_bugs,
    root,
    nodes,
    metrics,
    clients,
)


def _rules_of(module: ModuleType) -> tuple[Rule, ...]:
    return tuple(
        sorted((value for value in vars(module).values() if isinstance(value, Rule)), key=lambda rule: rule.id)
    )


TOPICS: Final = {(module.__doc__ or "").partition("\n")[0].removesuffix("."): _rules_of(module) for module in MODULES}
BUGS: Final = frozenset(rule.id for rule in _rules_of(hbase_bugs))
"""The rules about bugs of an HBase version, which every file for that version has."""
RULES: Final = tuple(sorted((rule for rules in TOPICS.values() for rule in rules), key=lambda rule: rule.id))
