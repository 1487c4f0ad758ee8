"""`warmbase lint --fix` shows the corrections of a file as a diff, and writes them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from difflib import unified_diff
from pathlib import Path
from textwrap import fill
from typing import Final

from msgspec import Struct

from cli.options import confirm
from cli.terminal import echo, page_columns
from facts.whole_file import write_whole
from lint.finding import Report, Severity
from lint.mending import Mending, mend
from lint.reader.source_text import STANDARD_INPUT
from lint.reader.terraform import is_terraform
from lint.rules import BUGS
from lint.secret_text import without_secrets
from reports.amounts import printable
from sizing.problem import InvalidInput

CONTEXT_LINES: Final = 2
NOT_TERRAFORM: Final = (
    "--fix does not write Terraform. Change the values in the .tf file by hand, or keep the classifications in a JSON "
    'file, configurations_json = file("emr.json"), which --fix corrects.'
)


class MendOptions(Struct, frozen=True, kw_only=True):
    """The options of a correction: whether only to show it, and whether to write it without a question."""

    dry_run: bool
    yes: bool


def mend_file(file: Path, check: Callable[[], Report], options: MendOptions) -> Report:
    """Show and write the corrections that are certain, and return what lint then reports about the file."""
    mending = mend(check)
    piped = file == STANDARD_INPUT
    echo(_page(mending), err=piped)
    if options.dry_run:
        return mending.earlier
    if piped:
        _refuse_others(mending)
        # The text is the answer for the next program, not a page: it stays as it is, byte for byte.
        sys.stdout.write(mending.after[file].decode())
    elif mending.changed:
        if not options.yes:
            confirm("Write these corrections?")
        for path in mending.changed:
            _write(path, mending.before[path], mending.after[path])
        echo(f"wrote {', '.join(map(str, mending.changed))}", err=True)
    return mending.report


def _refuse_others(mending: Mending) -> None:
    """Raise InvalidInput where a correction belongs in another file than the standard input."""
    for path in mending.changed:
        if path != STANDARD_INPUT:
            fix = "pass the script itself by --file"
            raise InvalidInput.of(where=str(path), what="is not corrected", why="the script names this file", fix=fix)


def _page(mending: Mending) -> str:
    columns = page_columns()
    parts = [line for path in mending.changed for line in _diff(mending, path)]
    count = len(mending.mended)
    title = f"{count} correction{'s' * (count > 1)}" if count else "No finding has exactly one possible correction."
    mended = [
        f"{finding.id}  line {finding.line}  {finding.property}: {finding.edit.action.value if finding.edit else ''}"
        for finding in mending.mended
    ]
    decisions = list(_decisions(mending))
    lines = [*parts, "", title, *(f"  {line}" for line in mended)]
    if decisions and _has_terraform(mending):
        lines += ["", fill(NOT_TERRAFORM, columns, break_on_hyphens=False)]
    if decisions:
        lines += ["", f"{len(decisions)} left for you to decide"]
        lines += [
            fill(printable(line), columns, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
            for line in decisions
        ]
    return "\n".join(lines).lstrip("\n")


def _decisions(mending: Mending) -> Iterator[str]:
    """Yield each error and warning that remains, with what speaks against its correction or with its fix."""
    whys = {} if _has_terraform(mending) else {refusal.finding: refusal.why for refusal in mending.refusals}
    for finding in mending.report.findings:
        if finding.severity is not Severity.INFO and finding.id not in BUGS:
            is_named = not finding.property or finding.property in finding.message
            what = finding.sentence() if is_named else f"{finding.property}: {finding.sentence()}"
            place = f"{finding.id}  line {finding.line}" if finding.line else finding.id
            yield f"{place}  {what} {_capitalized(whys.get(finding) or finding.fix)}"


def _has_terraform(mending: Mending) -> bool:
    return any(is_terraform(content.decode("utf-8-sig")) for content in mending.before.values())


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def _diff(mending: Mending, path: Path) -> Iterator[str]:
    """Yield the lines of a unified diff, without secrets."""
    settings = [written.setting for written in mending.settings]
    before, after = (
        without_secrets(contents[path].decode("utf-8-sig"), settings).splitlines()
        for contents in (mending.before, mending.after)
    )
    yield from unified_diff(before, after, str(path), f"{path} (mended)", n=CONTEXT_LINES, lineterm="")


def _write(path: Path, before: bytes, content: bytes) -> None:
    """Replace a file at once, with its permissions. Raises InvalidInput where it changed since it was read."""
    target = path.resolve()
    if target.read_bytes() != before:
        fix = "run the same command again"
        raise InvalidInput.of(where=str(path), what="is not corrected", why="the file changed meanwhile", fix=fix)
    write_whole(target, content, target.stat().st_mode)
