"""The text of an environment file with other values: it has the values of the assignments, and keeps its comments."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shipped import ENVIRONMENTS
from warmbase.environments.reader.assignment import Assignment, assigned, edited_text
from warmbase.environments.reader.document import parse_document
from warmbase.environments.reader.read import environment_of, locate

COMMENT = "# "
CASES = [
    ({"workload.stored": "9 TiB"}, True),
    ({"workload.cell": "300 B", "targets.lost_nodes": "2"}, True),
    ({"targets.hit_ratio": "95 %"}, True),
    ({"targets.p99": "80 ms"}, None),
    ({"workload.popularity": "{zipf: 0.7}"}, False),
    ({"storage.mode": "hdfs"}, False),
    ({"targets.p99": "null"}, None),
]
"""Values, and whether the comments are kept; None if that depends on the file."""


@pytest.mark.parametrize("name", ENVIRONMENTS)
@pytest.mark.parametrize(("values", "keeps_comments"), CASES)
def test_the_text_has_the_values_of_the_assignments(
    name: str, values: dict[str, str], *, keeps_comments: bool | None
) -> None:
    text = locate(name).read_text()
    document = parse_document(text.encode(), name, Path())
    assignments = [Assignment.parse(f"{key}={value}") for key, value in values.items()]
    edited = edited_text(text, document, assignments)
    read = environment_of(parse_document(edited.encode(), name, Path()))
    assert read == environment_of(assigned(document, assignments))
    if keeps_comments is not None:
        assert (COMMENT in edited) == keeps_comments


def test_only_the_value_of_the_key_changes() -> None:
    text = "a: 900 # a is 900\nb: {c: 900, a: 900}\nd: '900'\n"
    document = parse_document(text.encode(), "x", Path())
    changes = [Assignment.parse("b.a=7"), Assignment.parse("d=8")]
    assert edited_text(text, document, changes) == "a: 900 # a is 900\nb: {c: 900, a: 7}\nd: 8\n"
    assert edited_text(text, document, []) == text


def test_a_changed_value_is_no_longer_marked_as_an_assumption() -> None:
    text = "# About a.\n# assumed: the\n# default\na: {b: 1}\nc: 2 # assumed: x\nd: {e: 3, f: 4} # assumed: y\n"
    document = parse_document(text.encode(), "x", Path())
    edited = edited_text(text, document, map(Assignment.parse, ("a.b=7", "c=8", "d.e=9")))
    assert edited == (
        "# About a.\n# earlier assumption: the\n# default\na: {b: 7}\nc: 8 # earlier assumption: x\n"
        "d: {e: 9, f: 4} # assumed: y\n"
    )
    assert parse_document(edited.encode(), "x", Path()).explicit_keys >= {"a", "a.b", "c"}


def test_a_value_that_python_takes_for_an_equal_one_is_changed() -> None:
    text = "a: &x {b: 1}\nd: *x\n"
    document = parse_document(text.encode(), "x", Path())
    edited = edited_text(text, document, [Assignment.parse("d.b=true")])
    assert repr(parse_document(edited.encode(), "x", Path()).values) == "{'a': {'b': 1}, 'd': {'b': True}}"
