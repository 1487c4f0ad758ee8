"""A state of the page: the subject with the values that the user has set."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from msgspec import Struct

from environments.environment import Environment
from environments.reader.ranges import RangedDocument
from environments.reader.read import environment_of
from reports.explorer.planned import Planned
from reports.explorer.subject import Subject


class State(Struct, frozen=True, kw_only=True, dict=True):
    """The subject with the values that the user has set on the page.

    If `is_free`, warmbase chooses the nodes, even if the file states them. A `column` is one of `warmbase compare`.
    """

    subject: Subject
    values: Mapping[str, str]
    is_free: bool = False
    column: str = ""

    @cached_property
    def ranged(self) -> RangedDocument:
        """Return the file with these values. Raises InvalidInput for a range that the file does not accept."""
        return self.subject.ranged(self.values)

    @cached_property
    def environment(self) -> Environment:
        """Return the environment with these values, and the middle of each range. Raises InvalidInput as above."""
        return environment_of(self.ranged.middle)

    @cached_property
    def planned(self) -> Planned:
        """Return the plan. Raises InvalidInput as above, and Infeasible if nothing is large enough."""
        return self.subject.engine.plan(self.environment, is_free=self.is_free)
