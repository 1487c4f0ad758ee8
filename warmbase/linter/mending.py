"""Corrections that are certain, written into a file whose every other byte stays as it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from pathlib import Path
from typing import Final

from msgspec import Struct

from warmbase.ground.errors import InvalidInput
from warmbase.ground.secret import REDACTED
from warmbase.linter.finding import EditAction, LintFinding, Report, Severity
from warmbase.linter.reader.source_text import CONTENTS, WRITTEN, Replacement, WrittenSetting

BOM: Final = "\ufeff"
MOST_STEPS: Final = 3
"""A correction may reveal another mistake in the same setting; more in a row are not corrected."""
SEVERE: Final = (Severity.ERROR, Severity.WARNING)

Contents = Mapping[Path, bytes]
FindingKey = tuple[str, str, str]
"""A finding's rule, classification and property."""


class Refusal(Struct, frozen=True, kw_only=True):
    """A finding whose correction is certain but was not applied, and the reason."""

    finding: LintFinding
    why: str


class Mending(Struct, frozen=True, kw_only=True):
    """The contents and reports before and after, the findings that were mended, and corrections that were refused.

    `settings` are those of both, so that a page can hide their secrets.
    """

    before: Contents
    after: Contents
    earlier: Report
    report: Report
    mended: tuple[LintFinding, ...]
    refusals: tuple[Refusal, ...]
    settings: tuple[WrittenSetting, ...]

    @property
    def changed(self) -> tuple[Path, ...]:
        """Return the files that differ."""
        return tuple(path for path, content in self.before.items() if content != self.after[path])


class _State(Struct, frozen=True, kw_only=True):
    """Contents with what lint reports about them."""

    contents: Contents
    report: Report
    settings: tuple[WrittenSetting, ...]


def mend(check: Callable[[], Report]) -> Mending:
    """Return the corrections of the files that `check` reads and lints.

    Each step is read and linted again: it may bring no error and no warning that was not there.
    """
    first = state = _state({}, check)
    mended: list[LintFinding] = []
    refusals: dict[LintFinding, Refusal] = {}
    while finding := next((one for one in state.report.findings if one.edit and one not in refusals), None):
        step = _step(state, finding, check, MOST_STEPS)
        if isinstance(step, Refusal):
            refusals[finding] = step
        else:
            state, steps = step
            mended += steps
            refusals.clear()
    return Mending(
        before=first.contents,
        after=state.contents,
        earlier=first.report,
        report=state.report,
        mended=tuple(mended),
        refusals=tuple(refusals.values()),
        settings=(*first.settings, *state.settings),
    )


def _state(contents: Contents, check: Callable[[], Report]) -> _State:
    files: dict[Path, bytes] = dict(contents)
    settings: list[WrittenSetting] = []
    context = copy_context()
    context.run(CONTENTS.set, files)
    context.run(WRITTEN.set, settings)
    return _State(contents=files, report=context.run(check), settings=tuple(settings))


def _step(
    state: _State, finding: LintFinding, check: Callable[[], Report], most: int
) -> tuple[_State, list[LintFinding]] | Refusal:
    """Return the state with a finding mended, and with mistakes in the same setting that this reveals."""
    matches = [
        written
        for written in state.settings
        if (written.setting.classification, written.setting.key, written.setting.line)
        == (finding.classification, finding.property, finding.line)
        and finding.value in {written.setting.value, REDACTED}
    ]
    replacements = [_replacement(written, finding) for written in matches]
    whole = {new for new in replacements if new is not None}
    if not matches or None in replacements or _shared(state.settings, matches):
        return Refusal(finding=finding, why="the file does not write it in one piece")
    try:
        after = _state(_edited(state.contents, whole), check)
    except InvalidInput as error:
        return Refusal(finding=finding, why=f"the corrected file could not be read: {error.problems[0].why}")
    if _keys(after.report)[_key(finding)] >= _keys(state.report)[_key(finding)]:
        return Refusal(finding=finding, why="the finding would remain")
    before = _renamed(_keys(state.report), finding)
    revealed = _extra(before, after.report)
    if not revealed:
        return after, [finding]
    more = _step(after, revealed[0], check, most - 1) if most > 1 and revealed[0].edit else None
    if more is None or isinstance(more, Refusal) or _extra(before, more[0].report):
        new = revealed[0]
        return Refusal(finding=finding, why=f"with this corrected, {new.id} would report: {new.message}")
    return more[0], [finding, *more[1]]


def _key(finding: LintFinding) -> FindingKey:
    return finding.id, finding.classification, finding.property


def _keys(report: Report) -> Counter[FindingKey]:
    return Counter(_key(finding) for finding in report.findings)


def _renamed(keys: Counter[FindingKey], finding: LintFinding) -> Counter[FindingKey]:
    """Return the findings that may be there afterwards: those of a corrected key are then about the right one."""
    edit = finding.edit
    if edit is None or edit.action is not EditAction.REPLACE_KEY:
        return keys
    of_key = {key for key in keys if key[1:] == (finding.classification, finding.property)}
    return keys + Counter({(id_, path, edit.text): keys[id_, path, name] for id_, path, name in of_key})


def _extra(before: Counter[FindingKey], report: Report) -> Sequence[LintFinding]:
    return [new for new in report.findings if new.severity in SEVERE and not before[_key(new)]]


def _replacement(written: WrittenSetting, finding: LintFinding) -> Replacement | None:
    edit = finding.edit
    if edit is None or edit.action is EditAction.REMOVE:
        return written.removed()
    place = written.key if edit.action is EditAction.REPLACE_KEY else written.value
    return place.replaced(edit.text) if place else None


def _shared(settings: Sequence[WrittenSetting], matches: Sequence[WrittenSetting]) -> bool:
    """Return whether another setting has the same text for its value, as an alias of YAML has."""
    places = {_place(written) for written in matches}
    return any(_place(written) in places and written not in matches for written in settings)


def _place(written: WrittenSetting) -> tuple[Path | None, int, int] | None:
    value = written.value
    return (value.passage.path, value.start, id(value.passage) if value.passage.pieces else 0) if value else None


def _edited(contents: Contents, replacements: set[Replacement]) -> Contents:
    new = dict(contents)
    for path in {one.path for one in replacements}:
        of_path = sorted((one for one in replacements if one.path == path), key=lambda one: one.start)
        new[path] = _content(contents[path], of_path)
    return new


def _content(content: bytes, replacements: Sequence[Replacement]) -> bytes:
    """Return the content with replacements, whose places count each end of a line as one character."""
    text = content.decode("utf-8-sig")
    joined = text.replace("\r\n", "\n")
    places = _places(text) if len(joined) != len(text) else range(len(text) + 1)
    pieces, at = [], 0
    for one in replacements:
        pieces += [text[at : places[one.start]], one.text]
        at = places[one.end]
    whole = "".join([*pieces, text[at:]])
    return (BOM * content.startswith(BOM.encode()) + whole).encode()


def _places(text: str) -> Sequence[int]:
    """Return the place of each character, and of the end, in a text whose lines end with CR LF."""
    return [at for at, letter in enumerate(text) if not (letter == "\n" and text[at - 1 : at] == "\r")] + [len(text)]
