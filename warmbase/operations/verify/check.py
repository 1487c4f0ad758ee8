"""A check of a running cluster, the context that it needs, its result, and the statements that checks can confirm.

Statements are the rows of docs/unconfirmed.md: what nobody has seen on AWS yet, and what happens if it is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple, TypeVar

from msgspec import Struct

from warmbase.changes.engine_facet import EngineLaunch
from warmbase.configurations.launch import Launch
from warmbase.engines.engine import ENGINES
from warmbase.ground.files import PACKAGE
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.errors import Parts
from warmbase.operations.cluster.description import DescribedCluster
from warmbase.operations.cluster.hbase_control import CacheContents
from warmbase.sizing.plan import CoreGroup

Facts = Mapping[str, Any]
"""The state of one node, as the node reports it."""
Nodes = Mapping[str, Facts | None]
"""The facts of each core node, by instance id; None for a node that does not answer."""


Rank = Literal["figure", "operation", "other", "expected"]
"""The rank says what depends on a property: a figure, an operation, or nothing known; EMR must set expected ones."""
Server = Literal["RegionServer", "master", "yarn"]
Effective = Mapping[Server, Mapping[str, Mapping[str, Sequence[str]] | None]]
"""The value and source of each property, by server and instance; None for one that does not answer."""


class SettingDifference(Struct, frozen=True, kw_only=True):
    """A property of a server that is neither rendered nor a default, with what depends on it.

    `expected` is the rendered value, or the default of the release; None where it has none. `source` is the file or
    the program from which the server has it, and `effects` name what changes in the plan. Secrets are masked.
    """

    key: str
    value: str
    expected: str | None
    source: str
    server: Server
    instances: tuple[str, ...]
    rank: Rank
    effects: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return the difference in one line."""
        instead = "which has no default" if self.expected is None else f"not {self.expected or 'empty'}"
        effects = f": {'; '.join(self.effects)}" if self.effects else ""
        where = f"{len(self.instances)} x {self.server}, {self.source or 'no source'}"
        return f"{self.key} = {self.value} ({instead}; {where}){effects}"


class CheckResult(Struct, frozen=True, kw_only=True):
    """`good` is None where the check could not be made. `row` begins a row of docs/unconfirmed.md, or is empty.

    `settings` are the properties that a check of settings has seen.
    """

    check: str
    row: str
    expected: str
    found: str
    good: bool | None
    todo: str
    settings: tuple[SettingDifference, ...] = ()


class Check(NamedTuple):
    """A check, the row of docs/unconfirmed.md that it confirms, the expected value, and the remedy."""

    check: str
    row: str
    expected: str
    todo: str

    def result(self, observed: str, *, good: bool | None) -> CheckResult:
        """Return the result of this check for an observed value."""
        return CheckResult(
            check=self.check,
            row=self.row,
            expected=self.expected,
            found=observed,
            good=good,
            todo="nothing" if good else self.todo,
        )

    def result_of_primary(
        self, primary: Facts | str, verdict: Callable[[Facts], tuple[bool | None, str]]
    ) -> CheckResult:
        """Return the result for the primary node; it is unknown where `primary` is the reason of a missing answer."""
        if isinstance(primary, str):
            return self.result(primary, good=None)
        good, observed = verdict(primary)
        return self.result(observed, good=good)

    def results_by_node(
        self, nodes: Nodes, verdict: Callable[[Facts], tuple[bool | None, str]]
    ) -> Iterator[CheckResult]:
        """Yield one result for all nodes that answered; it shows the value of the first node that differs.

        A node whose verdict is unknown counts only if no node has a verdict.
        """
        results = {instance: verdict(facts) for instance, facts in nodes.items() if facts is not None}
        bad = {instance: observed for instance, (good, observed) in results.items() if good is False}
        if not results:
            yield self.result("no node answered", good=None)
        elif bad:
            instance, observed = next(iter(bad.items()))
            yield self.result(f"{len(bad)} of {len(results)} nodes differ; {instance}: {observed}", good=False)
        else:
            good, observed = max(results.values(), key=lambda result: bool(result[0]))
            yield self.result(observed, good=good)


class VerificationContext(Struct, frozen=True, dict=True, kw_only=True):
    """A running cluster with its facts, and the launch that it should match."""

    aws: Aws
    launch: EngineLaunch
    core: CoreGroup
    """The core nodes of the plan, which an analytics cluster calls workers."""
    cluster: DescribedCluster
    nodes: Nodes

    @cached_property
    def instances(self) -> list[str]:
        """Return the ids of the core nodes."""
        return sorted(self.nodes)


class HBaseContext(VerificationContext, frozen=True, kw_only=True):
    """A running cluster of HBase."""

    launch: Launch
    primary: Facts | str
    """The facts of the first primary node; the reason where it does not answer."""
    caches: Mapping[str, CacheContents] | str
    """The contents of each core node's cache, by its persisted index; the reason where they cannot be read."""
    effective: Effective
    """The settings in force on each server."""


PAGE: Final = PACKAGE / "docs" / "unconfirmed.md"
HARMS: Final = ("stops a launch", "loses data", "loses a cache", "cosmetic")
"""The values of the column "if it is wrong", the worst first; each table of the page is in this order."""

ROW: Final = re.compile(
    rf"^\| (?P<what>.+?) \| (?P<harm>{'|'.join(HARMS)}) \| (?P<why>.*) \| (?P<check>.*) \|$", re.MULTILINE
)
SECTION: Final = re.compile("^###? ", re.MULTILINE)
BY_HAND: Final = "To be tried"


class Statement(Struct, frozen=True, kw_only=True):
    """One row of the page. `harm` is one of HARMS; `by_hand` is False where `warmbase verify` has the check.

    `engine` is the name of the engine whose title is in the heading of the section; without one it is HBase's.
    """

    what: str
    harm: str
    why: str
    check: str
    engine: str
    by_hand: bool


def read_statements(text: str | None = None) -> tuple[Statement, ...]:
    """Return the rows of the page, or of another text in its form, in the page's order."""
    statements: list[Statement] = []
    by_hand = False
    for section in SECTION.split(PAGE.read_text(encoding="utf-8") if text is None else text):
        heading = section.partition("\n")[0]
        by_hand = by_hand or heading.startswith(BY_HAND)
        hbase, *others = ENGINES.values()
        engine = next((other for other in others if other.title in heading), hbase).name
        statements.extend(
            Statement(**match.groupdict(), engine=engine, by_hand=by_hand) for match in ROW.finditer(section)
        )
    return tuple(statements)


C = TypeVar("C")


def read_findings(check: Callable[[C], Iterator[CheckResult]], context: C) -> list[CheckResult]:
    """Return the results of a check; if AWS refuses a call of it, the last one is unknown and says why."""
    name, parts, findings = check.__name__.strip("_").replace("_", " "), Parts(), list[CheckResult]()
    parts.read(name, lambda: findings.extend(check(context)), None)
    todo = "allow what is missing, and run the same command again"
    findings += [Check(name, "", "AWS answers", todo).result(why, good=None) for why in parts.unread.values()]
    return findings
