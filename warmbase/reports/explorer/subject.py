"""The subject of the page: one cluster of an environment file, and its environment for other values of the inputs.

A `State` is the subject with the values that the user has set. `PageEngine` is the interface through which the page
plans a cluster, whatever its engine.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import PurePath
from typing import Any, Final, Protocol

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from warmbase.engines.engine import engine_of
from warmbase.environments.environment import Environment
from warmbase.environments.reader.assignment import OPTION, Assignment, assigned, edited_text
from warmbase.environments.reader.document import MOST_BYTES, Document, load_document, path_text
from warmbase.environments.reader.ranges import RangedDocument, ranges_in
from warmbase.environments.reader.read import environment_of, locate, quoted_path
from warmbase.ground.errors import InvalidInput, Problem
from warmbase.ground.files import read_regular_file
from warmbase.reports.engine_facet import reports_of
from warmbase.reports.explorer.drawing import Place, PlanPage
from warmbase.reports.explorer.page_input import PageInput, with_value

VALUE: Final = re.compile(r"[A-Za-z0-9 .,_%+/-]{0,40}")
"""The page sends only scalars: a mapping could name a file to read, and an alias could refer to itself."""
PREDICATE: Final = re.compile(r"(is|must|has) ")
EMPTY: Final = "null"
ZIPF: Final = "zipf"


class Subject(Struct, frozen=True, kw_only=True, dict=True):
    """An environment file, with the name of one of its clusters; `document` is the parsed `text` of the file.

    `options` are the other options of a command that makes the same plan: the cluster, and the values set with --set.
    """

    name: str
    text: str
    document: Document
    cluster: str
    options: tuple[str, ...] = ()

    @classmethod
    def read(cls, name: str, cluster: str, assignments: Sequence[Assignment] = ()) -> Subject:
        """Read the file of an environment, and set the values of the assignments in it."""
        path = locate(name)
        document = load_document(path, quoted_path(path))
        text = read_regular_file(path, MOST_BYTES).decode()
        if assignments:
            text, document = edited_text(text, document, assignments), assigned(document, assignments)
        is_active = environment_of(ranges_in(document).middle).active.name == cluster
        options = (*(() if is_active else ("--cluster", cluster)), *chain.from_iterable(map(_option, assignments)))
        return cls(name=name, text=text, document=document, cluster=cluster, options=options)

    @cached_property
    def engine(self) -> PageEngine:
        """Return the cluster as its engine plans it."""
        return reports_of(engine_of(self._file, self.cluster)).page_engine(self._file, self.cluster)

    @cached_property
    def inputs(self) -> Mapping[str, PageInput]:
        """Return the inputs that the page offers, by their keys."""
        ranged = ranges_in(self.document)
        entries = self.engine.inputs(ranged.document, self._file)
        return {entry.key: with_value(ranged, entry) for entry in entries}

    @cached_property
    def _file(self) -> Environment:
        return environment_of(ranges_in(self.document).middle)

    def assignments(self, values: Mapping[str, str]) -> list[Assignment]:
        """Return the values of the inputs as assignments, and the values of inputs that mean nothing beside them.

        Raises InvalidInput with every malformed value.
        """
        problems = list(self._problems(values))
        if problems:
            raise InvalidInput(problems)
        complete = {**values, **dict(self._meaningless(values))}
        return [self._assignment(self.inputs[key], text.strip()) for key, text in complete.items()]

    def _meaningless(self, values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """Yield the key of each input that means nothing beside these values, with the value that it then has."""
        for key, entry in self.inputs.items():
            has_changed = not values.keys().isdisjoint((key, entry.needs))
            differs = values.get(key, entry.text) != entry.without
            if has_changed and differs and entry.is_meaningless(self.inputs, values):
                yield key, entry.without

    def _problems(self, values: Mapping[str, str]) -> Iterator[Problem]:
        for key, text in values.items():
            entry = self.inputs.get(key)
            if entry is None:
                yield Problem(where=key, what=key, why="this page has no such input", fix="change it in the file")
            elif not VALUE.fullmatch(text):
                yield _unreadable(
                    key, "a value on this page has at most 40 characters: letters, digits, spaces and .,_%+/-"
                )
            elif not text.strip() and not entry.optional:
                yield _unreadable(key, "the field is empty, and the plan needs a value")

    def _assignment(self, entry: PageInput, text: str) -> Assignment:
        path = entry.path
        if entry.kind != "skew" or text == "uniform":
            return Assignment.at(path, text or EMPTY, entry.key)
        if (*path, ZIPF) in self.document.written:
            return Assignment.at((*path, ZIPF), text, entry.key)
        return Assignment.at(path, f"{{{ZIPF}: {text}}}", entry.key)

    def ranged(self, values: Mapping[str, str]) -> RangedDocument:
        """Return the file with these values, and the ranges that the cluster's plan depends on.

        Raises InvalidInput as `read_ranges` does.
        """
        ranged = ranges_in(assigned(self.document, self.assignments(values)))
        return ranged.of_cluster(environment_of(ranged.middle), self.cluster) if ranged.ranges else ranged

    def yaml(self, values: Mapping[str, str]) -> str:
        """Return the text of the file with these values."""
        return edited_text(self.text, self.document, self.assignments(values))

    def command(self, values: Mapping[str, str]) -> str:
        """Return the command that compares the plan of the file with the plan for these values."""
        changes = (replace(entry, text=_without_blanks(entry.text)) for entry in self.assignments(values))
        options = chain.from_iterable(map(_option, changes))
        return shlex.join(["warmbase", "plan", self.name, *self.options, *options])

    @property
    def compare_command(self) -> str:
        """Return the command that compares the plan with those of other kinds of clusters."""
        return shlex.join(["warmbase", "compare", self.name, *self.options])


def _without_blanks(text: str) -> str:
    return text.replace(" ", "") if text[0].isdigit() else text


def _option(assignment: Assignment) -> tuple[str, str]:
    """Return the option that sets a value. The value of an override may be a secret, and is left out."""
    value = "VALUE" if assignment.path[0] == "overrides" else assignment.text
    return OPTION, f"{path_text(assignment.path)}={value}"


def _unreadable(key: str, why: str) -> Problem:
    return Problem(where=key, what=key, why=why, fix="write the value as in the environment file")


def problem_documents(problems: Sequence[Problem]) -> list[dict[str, str]]:
    """Return the problems as the page shows them: the field that each belongs to, and its text."""
    return [{"where": problem.where, "text": _problem_text(problem)} for problem in problems]


def _problem_text(problem: Problem) -> str:
    """Return a problem as sentences: its reason may lack a subject, which a terminal shows in the line above."""
    subject = problem.what if PREDICATE.match(problem.why) else f"{problem.what}:"
    why = f"{subject} {problem.why}" if problem.why else problem.what
    return f"{why}{'' if why.endswith('?') else '.'} Fix: {problem.fix}."


def subject_document(subject: Subject) -> dict[str, Any]:
    """Return the data that the page contains when it is loaded: the environment and the inputs."""
    return {
        "name": subject.name,
        "cluster": subject.cluster,
        "file": PurePath(subject.document.source).name,
        "sets": OPTION in subject.options,
        "inputs": [to_builtins(entry) for entry in subject.inputs.values()],
        "places": [to_builtins(place) for place in subject.engine.places],
    }


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
