"""`warmbase lint` checks a configuration, yours or anybody's, for mistakes; `--fix` corrects the file.

The page shows the findings grouped by consequence, the worst first, and ends with the totals. Corrections are shown as
a diff before they are written.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import unified_diff
from pathlib import Path
from typing import Final, TypedDict, Unpack

import click
from msgspec import Struct
from msgspec.structs import replace

from warmbase import library
from warmbase.cli.options import ANSWER_IS_NO, cluster_option, confirm, yes_option
from warmbase.cli.page import Paragraph, Part, styled, summary_page
from warmbase.cli.terminal import echo, print_json
from warmbase.emr.cluster_spec import ClusterSpec
from warmbase.ground.errors import InvalidInput, fix_line
from warmbase.ground.secret import without_secrets
from warmbase.ground.units import printable
from warmbase.ground.whole_file import write_whole
from warmbase.linter.finding import Consequence, LintFinding, Report, Severity
from warmbase.linter.lint import ROLES
from warmbase.linter.mending import Mending, mend
from warmbase.linter.reader import read_subject, with_tables
from warmbase.linter.reader.source_text import STANDARD_INPUT
from warmbase.linter.reader.terraform import is_terraform
from warmbase.linter.rules import BUGS
from warmbase.reports.sarif import sarif_document

COLOURS: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
GRAVITY: Final = {severity: rank for rank, severity in enumerate(Severity)}
SHORT_OF_LINE: Final = 10
"""A value that is longer than a line without these columns is cut, so that it fits one beside its indent."""
WORST: Final = 3
MOST_UNSORTED: Final = 6
"""A page with fewer findings needs no summary of the worst."""


def lint_page(report: Report, listed: Report, columns: int, *, every: bool) -> Iterator[Part]:
    """Yield the findings that are listed, the worst first, and the totals of the report.

    Bugs of HBase take one line unless `every` is true.
    """
    yield Paragraph(text=f"{report.source}, {report.release or 'release unknown'}")
    single = sorted((one for one in listed.findings if every or one.id not in BUGS), key=_badness)
    if len(single) >= MOST_UNSORTED:
        yield from ("", styled("The worst three", bold=True))
        for rank, finding in enumerate(single[:WORST], 1):
            place = f"{finding.id}, line {finding.line}" if finding.line else finding.id
            in_short = f"{finding.consequence.value.capitalize()}: {finding.message} ({place})"
            yield Paragraph(text=f"{rank}. {in_short}", indent=2, hanging=3)
    for consequence in Consequence:
        group = [finding for finding in single if finding.consequence is consequence]
        if group:
            yield from ("", styled(f"{consequence.value.capitalize()} ({len(group)})", bold=True))
        for finding in group:
            yield from ("", *_finding_parts(finding, max(columns - SHORT_OF_LINE, SHORT_OF_LINE)))
    bugs = [finding for finding in listed.findings if finding.id in BUGS]
    if bugs and not every:
        ids = ", ".join(sorted({finding.id for finding in bugs}))
        what, them = ("bug", "it") if len(bugs) == 1 else ("bugs", "them")
        text = f"{len(bugs)} {what} of this HBase version: {ids}; --all lists {them}"
        yield from ("", Paragraph(text=text, hanging=2))
    counts = Counter(finding.severity for finding in report.findings)
    numbers = ", ".join(
        f"{counts[severity]} {name}{'s' * (counts[severity] != 1 and severity is not Severity.INFO)}"
        for severity, name in ((Severity.ERROR, "error"), (Severity.WARNING, "warning"), (Severity.INFO, "info"))
    )
    gaps, hidden = len(unfilled(report)), len(report.findings) - len(listed.findings)
    missing = f"; {gaps} value{'s' * (gaps > 1)} still to be filled in" if gaps else ""
    yield from ("", Paragraph(text=f"{numbers}{missing}{f'; {hidden} of them not shown' if hidden else ''}"))


def _finding_parts(finding: LintFinding, most: int) -> Iterator[Part]:
    """Yield what a finding is about, what is wrong, why, and how to fix it; a value has at most so many characters."""
    head = styled(finding.id) + " " + styled(finding.severity.value, fg=COLOURS[finding.severity])
    where = f"line {finding.line}" if finding.line else ""
    what = _short(" ".join(filter(None, (finding.classification, finding.property))), most)
    for text in filter(None, (where, what, "an override" if finding.overridden else "")):
        head += f"  {text}"
    yield head
    value = f"is {_short(finding.value, most)}" if finding.value is not None else ""
    reason = "" if finding.severity is Severity.INFO else f"because {finding.because}"
    for text in filter(None, (value, finding.message, reason, fix_line(finding.fix))):
        yield Paragraph(text=text, indent=2)


def _short(value: str, most: int) -> str:
    """Return the value as it is printed, in one line."""
    text = printable(value)
    return text if len(text) <= most else f"{text[: most - 3]}..."


def unfilled(report: Report) -> Sequence[LintFinding]:
    """Return the findings about placeholders that a person still has to fill in."""
    return [
        finding
        for finding in report.findings
        if finding.id == "WB106" and finding.consequence is Consequence.WILL_NOT_START
    ]


def _badness(finding: LintFinding) -> tuple[int, int, int]:
    return list(Consequence).index(finding.consequence), GRAVITY[finding.severity], finding.line or 0


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
    summary_page().show(_mending_parts(mending), err=piped)
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
            # A file is replaced at once, with its permissions, unless it has changed since it was read.
            target = path.resolve()
            if target.read_bytes() != mending.before[path]:
                fix = "run the same command again"
                raise InvalidInput.of(
                    where=str(path), what="is not corrected", why="the file changed meanwhile", fix=fix
                )
            write_whole(target, mending.after[path], target.stat().st_mode)
        echo(f"wrote {', '.join(map(str, mending.changed))}", err=True)
    return mending.report


def _refuse_others(mending: Mending) -> None:
    """Raise InvalidInput where a correction belongs in another file than the standard input."""
    for path in mending.changed:
        if path != STANDARD_INPUT:
            fix = "pass the script itself by --file"
            raise InvalidInput.of(where=str(path), what="is not corrected", why="the script names this file", fix=fix)


def _mending_parts(mending: Mending) -> Iterator[Part]:
    for path in mending.changed:
        # A unified diff, without secrets.
        properties = [(written.setting.key, written.setting.value) for written in mending.settings]
        before, after = (
            without_secrets(contents[path].decode("utf-8-sig"), properties).splitlines()
            for contents in (mending.before, mending.after)
        )
        yield from unified_diff(before, after, str(path), f"{path} (mended)", n=CONTEXT_LINES, lineterm="")
    if mending.changed:
        yield ""
    count = len(mending.mended)
    yield f"{count} correction{'s' * (count > 1)}" if count else "No finding has exactly one possible correction."
    for finding in mending.mended:
        action = finding.edit.action.value if finding.edit else ""
        yield f"  {finding.id}  line {finding.line}  {finding.property}: {action}"
    decisions = list(_decisions(mending))
    if decisions and _has_terraform(mending):
        yield from ("", Paragraph(text=NOT_TERRAFORM))
    if decisions:
        yield from ("", f"{len(decisions)} left for you to decide")
        yield from (Paragraph(text=decision, indent=2, hanging=2) for decision in decisions)


def _decisions(mending: Mending) -> Iterator[str]:
    """Yield each error and warning that remains, with what speaks against its correction or with its fix."""
    whys = {} if _has_terraform(mending) else {refusal.finding: refusal.why for refusal in mending.refusals}
    for finding in mending.report.findings:
        if finding.severity is not Severity.INFO and finding.id not in BUGS:
            is_named = not finding.property or finding.property in finding.message
            what = finding.sentence() if is_named else f"{finding.property}: {finding.sentence()}"
            place = f"{finding.id}  line {finding.line}" if finding.line else finding.id
            text = whys.get(finding) or finding.fix
            yield f"{place}  {what} {text[:1].upper()}{text[1:]}"


def _has_terraform(mending: Mending) -> bool:
    return any(is_terraform(content.decode("utf-8-sig")) for content in mending.before.values())


class LintOptions(TypedDict):
    """The options of the command."""

    file: Path | None
    tables: tuple[Path, ...]
    release: str | None
    group: str | None
    least: str
    cluster: str | None
    output: str
    every: bool
    strict: bool
    fix: bool
    dry_run: bool
    yes: bool


@click.command()
@click.argument("environment", metavar="[ENV]", required=False)
@click.option(
    "--file",
    type=click.Path(path_type=Path),
    help="The file to check: EMR configurations, RunJobFlow or CloudFormation JSON, a script with `aws emr"
    " create-cluster`, Terraform or its plan in JSON, an hbase-site.xml, or an HBase shell script with tables; - for"
    " the standard input.",
)
@click.option(
    "--tables",
    type=click.Path(path_type=Path),
    multiple=True,
    help="An HBase shell script, or the output of `describe`, whose tables may have coprocessors; repeatable.",
)
@click.option("--release", metavar="LABEL", help="The EMR release, such as emr-7.14.0; it wins over a release in FILE.")
@click.option(
    "--group",
    type=click.Choice(["primary", "core"]),
    help="The nodes that a file without instance groups is for.  [default: all nodes]",
)
@click.option(
    "--least",
    type=click.Choice([severity.value for severity in Severity]),
    default="info",
    show_default=True,
    help="The lowest severity to show.",
)
@click.option("--all", "every", is_flag=True, help="List the bugs of the HBase version, too.")
@click.option("--strict", is_flag=True, help="Exit with 3 for warnings, too.")
@click.option(
    "--fix",
    is_flag=True,
    help="Correct FILE where only one correction is possible, after asking you, and list the rest.",
)
@click.option("--dry-run", "--diff", "dry_run", is_flag=True, help="With --fix, only show the corrections.")
@yes_option
@cluster_option
@click.option(
    "--output",
    type=click.Choice(["table", "json", "sarif"]),
    default="table",
    show_default=True,
    help="Print a table for people, JSON for programs, or SARIF 2.1.0 for code scanning.",
)
def lint(environment: str | None, **options: Unpack[LintOptions]) -> None:
    """Check a configuration, yours or anybody's, for mistakes.

    With ENV, warmbase checks what it would deploy; with --file, it checks a configuration from elsewhere. The
    worst findings come first; each has a reason and a fix. docs/lint-rules.md lists all rules with their sources.
    --fix corrects FILE where only one correction is possible, and changes nothing else in it.
    lint learns about coprocessors of tables from the inspection that ENV names, from --tables, and from FILE.

    \b
    Example:
      warmbase lint prod
      warmbase lint --file cluster.json --release emr-7.14.0
      warmbase lint prod --tables tables.rb
      warmbase lint --file cluster.json --fix --dry-run
      cat create.sh | warmbase lint --file -

    Exit codes: 3 there are errors, placeholders such as <your-jvm-heap-size> that nobody filled in, or, with
    --strict, warnings.
    """
    file, output = options["file"], options["output"]

    def check() -> Report:
        subject = with_tables(_subject(environment, options), options["tables"])
        return library.lint(subject, roles=_roles(subject, options["group"]))

    if options["fix"] or options["dry_run"]:
        mending = MendOptions(dry_run=options["dry_run"], yes=options["yes"])
        if not options["fix"]:
            raise click.UsageError("--dry-run needs --fix")
        if file is None:
            raise click.UsageError("--fix needs --file FILE; correct an environment in its own file")
        if output != "table":
            raise click.UsageError("--fix prints a diff; omit --output")
        report = mend_file(file, check, mending)
    else:
        report = check()
        least = Severity(options["least"])
        ranks = list(Severity)
        findings = tuple(finding for finding in report.findings if ranks.index(finding.severity) <= ranks.index(least))
        listed = replace(report, findings=findings)
        if output == "json":
            print_json(listed)
        elif output == "sarif":
            print_json(sarif_document(listed))
        else:
            page = summary_page()
            page.show(lint_page(report, listed, page.columns, every=options["every"]))
    if report.replaced_release:
        echo(
            f"warmbase: checked as {report.release}, because of --release; the file has {report.replaced_release}",
            err=True,
        )
    if report.of(Severity.ERROR) or unfilled(report) or (options["strict"] and report.of(Severity.WARNING)):
        sys.exit(ANSWER_IS_NO)


def _subject(environment: str | None, options: LintOptions) -> ClusterSpec:
    file, release, cluster = options["file"], options["release"], options["cluster"]
    if (environment is None) == (file is None):
        raise click.UsageError("give either ENV or --file FILE")
    if file is not None:
        if cluster is not None:
            raise click.UsageError("--cluster needs ENV; a file holds one cluster")
        return read_subject(file, release)
    if release is not None:
        raise click.UsageError("--release needs --file; ENV states its own release")
    return library.planned_cluster(environment or "", cluster)


def _roles(subject: ClusterSpec, group: str | None) -> Sequence[str]:
    if group is not None and subject.groups:
        raise click.UsageError("--group needs a file without instance groups; this file has them")
    return ROLES if group is None else (group,)
