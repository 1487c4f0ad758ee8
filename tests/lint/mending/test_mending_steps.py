"""Each step of a correction is linted again: it may end in the right value, and may not go round in a circle."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from warmbase.linter.finding import Consequence, LintFinding, Severity, new_value
from warmbase.linter.lint import lint
from warmbase.linter.mending import Mending, mend
from warmbase.linter.reader import read_subject

KEY = "hbase.rpc.timeout"
FILE = """[
  {
    "Classification": "hbase-site",
    "Properties": {
      "hbase.rootdir": "s3://data/hbase/",
      "hbase.rpc.timeout": "1"
    }
  }
]
"""


def mended(path: Path, following: dict[str, tuple[str, str]]) -> Mending:
    """Mend a file in which each of these values is a mistake: with the id of its rule, and the value to write."""

    def findings(node: Any) -> Iterator[LintFinding]:
        at = node.setting(KEY)
        if node.role == "core" and at.value in following:
            rule, right = following[at.value]
            yield LintFinding(
                id=rule,
                severity=Severity.ERROR,
                classification="hbase-site",
                property=KEY,
                value=at.value,
                message="it is wrong",
                because="",
                fix="",
                line=at.line,
                consequence=Consequence.IGNORED,
                edit=new_value(right),
            )

    rule: Any = SimpleNamespace(findings=findings)
    return mend(lambda: lint(read_subject(path, None), [rule]))


@pytest.mark.parametrize(
    ("following", "value", "why"),
    [
        ({"1": ("A", "2")}, "2", None),
        ({"1": ("A", "2"), "2": ("B", "3")}, "3", None),
        ({"1": ("A", "2"), "2": ("B", "3"), "3": ("C", "4")}, "4", None),
        ({"1": ("A", "2"), "2": ("B", "3"), "3": ("C", "4"), "4": ("D", "5")}, "1", "B would report: it is wrong"),
        ({"1": ("A", "2"), "2": ("A", "3")}, "1", "the finding would remain"),
    ],
)
def test_a_correction_may_reveal_two_more_mistakes_and_must_end(
    following: dict[str, tuple[str, str]], value: str, why: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "configurations.json"
    path.write_text(FILE)
    mending = mended(path, following)
    assert mending.after[path].decode() == FILE.replace('"1"', f'"{value}"')
    assert [refusal.why.endswith(why) for refusal in mending.refusals if why] == ([True] if why else [])
    assert len(mending.mended) == int(value) - 1


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_correction_changes_nothing_else_whatever_ends_the_lines(ends: str, mark: str, tmp_path: Path) -> None:
    path = tmp_path / "configurations.json"
    text = mark + FILE.replace("\n", ends)
    path.write_bytes(text.encode())
    mending = mended(path, {"1": ("A", "60000")})
    assert mending.after[path] == text.replace('"1"', '"60000"').encode()
