"""The interface through which the page plans a cluster, of whatever engine."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Protocol

from environments.environment import Environment
from environments.reader.document import Document
from reports.explorer.drawing import Place, PlanPage
from reports.explorer.page_input import PageInput


class Planned(Protocol):
    """The plan of a cluster."""

    @property
    def usd_per_month(self) -> float | None:
        """Return the price; None if the cluster misses its targets."""
        ...

    @property
    def needs_search(self) -> bool:
        """Return whether no cluster meets the targets, and the nearest one takes a further search."""
        ...

    @property
    def column(self) -> str:
        """Return the column of `warmbase compare` that has the same kind of cluster."""
        ...

    def page(self) -> PlanPage:
        """Return the figures and the plots of the plan."""
        ...

    def advice(self) -> list[str]:
        """Return sentences that name what would save money, or that say that nothing was found."""
        ...


class PageEngine(Protocol):
    """One cluster of an environment file, as its engine plans it."""

    @property
    def places(self) -> tuple[Place, ...]:
        """Return the places of the plots, in the order of the page."""
        ...

    @property
    def columns(self) -> Mapping[str, str]:
        """Return the columns of `warmbase compare` with their titles."""
        ...

    def inputs(self, document: Document, environment: Environment) -> Iterator[PageInput]:
        """Yield the inputs that the page offers, without their values."""
        ...

    def schema_key(self, entry: PageInput) -> str:
        """Return the key in the schema that describes an input."""
        ...

    def varied(self, inputs: Collection[PageInput]) -> Iterator[PageInput]:
        """Yield the inputs that the plot of what moves the price varies: estimates, but not targets."""
        ...

    def amounts(self, environment: Environment) -> Mapping[str, int]:
        """Return the amounts of data, in bytes, by the keys of their inputs."""
        ...

    def plan(self, environment: Environment, *, is_free: bool) -> Planned:
        """Return the plan. If it is free, warmbase chooses the nodes, even if the file states them."""
        ...

    def usd_of_column(self, environment: Environment, column: str) -> float | None:
        """Return the price in a column of `warmbase compare`; None if no cluster of it meets the targets."""
        ...
