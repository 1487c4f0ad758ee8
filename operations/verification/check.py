"""A check of a running cluster, the context it needs, and its result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from configurations.launch import Launch
from operations.aws import Aws
from operations.description import DescribedCluster

__all__ = ["Check", "CheckResult", "Facts", "Nodes", "Observed"]

Facts = Mapping[str, Any]
"""What was seen on one node."""
Nodes = Mapping[str, Facts | None]
"""What was seen on each core node, by instance; None where nothing came back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """`good` is None where nobody could say. `row` begins a row of docs/unconfirmed.md, or is empty."""

    check: str
    row: str
    expected: str
    found: str
    good: bool | None
    todo: str


class Check(NamedTuple):
    """A check, the row of docs/unconfirmed.md that it settles, what it expects, and the remedy."""

    check: str
    row: str
    expected: str
    todo: str

    def result(self, found: str, *, good: bool | None) -> CheckResult:
        """With what was found."""
        return CheckResult(
            check=self.check,
            row=self.row,
            expected=self.expected,
            found=found,
            good=good,
            todo="nothing" if good else self.todo,
        )

    def result_of_primary(self, primary: Facts | str, found: Callable[[Facts], tuple[bool | None, str]]) -> CheckResult:
        """Return what the primary shows; where it did not answer nobody can say."""
        if isinstance(primary, str):
            return self.result(primary, good=None)
        good, said = found(primary)
        return self.result(said, good=good)

    def results_by_node(self, nodes: Nodes, found: Callable[[Facts], tuple[bool, str]]) -> Iterator[CheckResult]:
        """One finding over all nodes that answered: good where each is, else what the first that is not shows."""
        results = {instance: found(facts) for instance, facts in nodes.items() if facts is not None}
        bad = {instance: said for instance, (good, said) in results.items() if not good}
        if not results:
            yield self.result("no node answered", good=None)
        elif bad:
            instance, said = next(iter(bad.items()))
            said = f"{len(bad)} of {len(results)} nodes otherwise; {instance}: {said}"
            yield self.result(said, good=False)
        else:
            yield self.result(next(iter(results.values()))[1], good=True)


@dataclass(frozen=True)
class Observed:
    """A cluster, all that is known of it, and what was to be expected."""

    aws: Aws
    launch: Launch
    cluster: DescribedCluster
    nodes: Nodes
    primary: Facts | str
    """What was seen on the first primary; where nothing came back, why."""

    @cached_property
    def instances(self) -> list[str]:
        """Return the ids of its core nodes."""
        return sorted(self.nodes)
