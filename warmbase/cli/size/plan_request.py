"""The options of `warmbase plan` as one request, and the cluster that a request is about."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal, get_args

import click
from msgspec import Struct

from warmbase.cli.options import chosen_name
from warmbase.environments.environment import Environment
from warmbase.environments.reader.assignment import Assignment
from warmbase.environments.reader.ranges import RangedDocument
from warmbase.environments.reader.read import middle_environment, read_ranges
from warmbase.environments.uncertainty.samples import Sampling
from warmbase.sizing.ranges.growth import Target

PageName = Literal["why", "cost", "everything"]
PAGES: Final[tuple[PageName, ...]] = get_args(PageName)
STEPS: Final = ("frontier", "months", "tornado")
"""The options that ask for many plans, each on a page of its own."""


class PlanRequest(Struct, frozen=True, kw_only=True):
    """The arguments and options of the command, with the defaults that mean that an option is not used."""

    environment: str
    other: str | None = None
    assignments: tuple[str, ...] = ()
    against: str | None = None
    cluster: str | None = None
    output: str = "table"
    advice: bool = True
    frontier: Target | None = None
    tornado: bool = False
    months: int | None = None
    growth: float | None = None
    samples: int = 128
    seed: int = 1
    missed_factor: float = 3.0
    report: Path | None = None
    why: bool = False
    cost: bool = False
    everything: bool = False

    def chosen(self, *names: str) -> list[str]:
        """Return which of these options are used."""
        unused = PlanRequest(environment=self.environment)
        return [name for name in names if getattr(self, name) != getattr(unused, name)]

    def refuse(self, message: str, *names: str) -> None:
        """Raise UsageError with the message if one of these options is used."""
        if self.chosen(*names):
            raise click.UsageError(message)

    def refuse_markdown(self, page: str) -> None:
        """Raise UsageError if Markdown is asked for; `page` is the subject of the sentence."""
        if self.output == "markdown":
            raise click.UsageError(f"{page} is printed as a table or as JSON.")

    @property
    def values(self) -> tuple[Assignment, ...]:
        """Return the values of --set."""
        return tuple(Assignment.parse(text) for text in self.assignments)

    @property
    def sampling(self) -> Sampling:
        """Return how many samples of ranges to plan."""
        return Sampling(count=self.samples, seed=self.seed, missed_factor=self.missed_factor)

    def subject(self) -> PlanSubject:
        """Return what to plan; if there are two environments, in the newer one."""
        ranged = read_ranges(self.other or self.environment, self.values)
        read = middle_environment(ranged)
        cluster = chosen_name(read, self.cluster)
        return PlanSubject(ranged=ranged.of_cluster(read, cluster), environment=read, cluster=cluster)


class PlanSubject(Struct, frozen=True, kw_only=True):
    """The cluster to plan, and the ranges that its plan depends on; `environment` has the middle of each range."""

    ranged: RangedDocument
    environment: Environment
    cluster: str
