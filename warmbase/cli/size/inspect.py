"""`warmbase inspect` estimates what an HBase root holds by reading a sample of its store files.

Its page has a table for each column family, the files that were left out, and advice.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Final

import click

from warmbase.cli.options import output_option
from warmbase.cli.page import Column, Page, Paragraph, Part, Table
from warmbase.cli.terminal import echo, print_json
from warmbase.environments.reader.inspection import inspection_text
from warmbase.ground.errors import InvalidInput, Problem
from warmbase.ground.units import format_duration, format_percent, format_size
from warmbase.ground.whole_file import write_whole
from warmbase.hfile.checkpoint import Checkpoint
from warmbase.hfile.family_totals import FamilyTotals
from warmbase.hfile.inspection import RootReport, SamplingOptions, inspect_root
from warmbase.hfile.layout import LocalRoot, RootStore
from warmbase.sizing.warning import Advice, advice

COLUMNS: Final = (Column(least=20, whole=True), Column(least=12, right=True, whole=True), Column(flexible=True))
MOST_UNREAD: Final = 10
EXACT: Final = 1e-9
OF_BLOCKS: Final = {"blocks", "cached_bytes", "compressed_bytes"}


def report_parts(report: RootReport, advised: Sequence[Advice]) -> Iterator[Part]:
    """Yield a table for each family, what was left out or not read, and advice."""
    read = sum(family.files_read for family in report.families)
    of = sum(family.files for family in report.families)
    yield report.root
    yield f"  {report.files:,} files, {format_size(report.size_bytes)}; {read:,} of {of:,} live store files read"
    for family in report.families:
        yield from ("", f"{family.table}, family {family.name}")
        yield Table(columns=COLUMNS, rows=list(_family(family)), indent=2)
    if report.apart:
        yield from ("", "Left out")
        for kind, (files, size) in report.apart.items():
            if files:
                yield f"  {kind}: {files:,} files, {format_size(size)}"
    if report.unread:
        yield from ("", f"Not read: {len(report.unread):,}")
        for path, why in report.unread[:MOST_UNREAD]:
            yield from (f"  {path}", Paragraph(text=why, indent=4))
        if len(report.unread) > MOST_UNREAD:
            yield f"  and {len(report.unread) - MOST_UNREAD:,} more; see --output json"
    if advised:
        yield from ("", "Advice, from the files alone: they do not show how the data is read")
        for item in advised:
            yield f"  {item.table} {item.family}: {item.setting}"
            yield from (Paragraph(text=text, indent=4) for text in (item.why, f"but: {item.but}"))


def _family(family: FamilyTotals) -> Iterator[tuple[str, str, str]]:
    regions = f"{family.regions:,} region{'s' if family.regions != 1 else ''}"
    yield "store files", f"{family.files:,}", f"in {regions}, {format_size(family.stored_bytes)}"
    kinds = family.inspected
    if family.unread:
        size = format_size(family.unread_bytes.value)
        yield "cannot be read", f"{family.unread:,}", f"counted as empty; estimated {size}"
    if kinds is None:
        yield "data blocks", "0", "in the files that could be read"
        return
    of, lengths = family.figures, kinds.lengths
    yield "data blocks", f"{of['blocks'].value:,.0f}", _range(family, "blocks", "{:,.0f}".format)
    yield "in the cache", format_size(of["cached_bytes"].value), _range(family, "cached_bytes")
    if kinds.codec != "none":
        yield "  compressed there", format_size(of["compressed_bytes"].value), _range(family, "compressed_bytes")
    yield "mean block", format_size(lengths.mean_bytes), f"largest {format_size(lengths.largest_bytes)}"
    yield "index", format_size(kinds.index_bytes), _range(family, "index_bytes")
    yield "Bloom filters", format_size(kinds.bloom_bytes), _range(family, "bloom_bytes")
    keys = f"mean key {format_size(kinds.key_bytes)}, mean value {format_size(kinds.value_bytes)}"
    yield "cells", f"{of['cells'].value:,.0f}", keys
    yield "stored as", kinds.codec, f"encoding {kinds.encoding}, Bloom {kinds.bloom or 'NONE'}"
    if family.kind_fraction < 1:
        yield "", format_percent(family.kind_fraction), "of the files read are like this"


def _range(family: FamilyTotals, figure: str, formatted: Callable[[float], str] = format_size) -> str:
    """Return the 95 % confidence interval of a figure, or that the figure is exact."""
    estimate = family.figures[figure]
    if estimate.relative_error >= EXACT:
        return f"{formatted(estimate.low)} to {formatted(estimate.high)} (95 %)"
    return "of all files, from part of their indexes" if family.partly and figure in OF_BLOCKS else "exact"


DIRECTORY: Final = Path("inspections")
S3_URL: Final = re.compile(r"s3[an]?://(?P<bucket>[^/]+)(?:/(?P<prefix>.*?))?/*")
REPORT_SECONDS: Final = 0.5
MOST_THREADS: Final = 64


@click.command()
@click.argument("root")
@click.option(
    "--write",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write.  [default: inspections/NAME.json]",
)
@click.option("--files", type=click.IntRange(min=1), default=400, show_default=True, help="How many files to read.")
@click.option("--all", "every", is_flag=True, help="Read every store file instead of a sample.")
@click.option("--blocks", is_flag=True, help="Read the whole index, and the header of every compressed block.")
@click.option("--seed", type=int, default=1, show_default=True, help="The seed of the sample.")
@click.option(
    "--threads",
    type=click.IntRange(1, MOST_THREADS),
    default=32,
    show_default=True,
    help="Files to read at a time.",
)
@output_option
def inspect(root: str, write: Path | None, output: str, **chosen: int) -> None:
    """Analyse the store files of an HBase root.

    ROOT is s3://BUCKET/PREFIX/ or a directory. warmbase lists all store files and reads a sample: the end of each file,
    part of its index and one block. From these it estimates blocks, indexes and Bloom filters of the whole root, with
    confidence intervals. It writes nothing to the root.

    The result is a file. Name it as `inspection` in an environment file, and `warmbase plan` sizes from it. If you
    interrupt an inspection, run the same command again to resume it.

    \b
    Example:
      warmbase inspect s3://warmbase-prod-root-123456789012-us-east-1/hbase/
      warmbase inspect /mnt/hbase --all --output json
    """
    store, name = _store(root)
    target = write or DIRECTORY / f"{name}.json"
    choice = SamplingOptions(
        files=chosen["files"],
        every=bool(chosen["every"]),
        headers=bool(chosen["blocks"]),
        seed=chosen["seed"],
        threads=chosen["threads"],
    )
    report, checkpoint = _inspect(store, choice, target)
    inspection = report.inspection(datetime.now(UTC).isoformat(timespec="seconds"))
    if not inspection.families:
        checkpoint.remove()
        raise InvalidInput([_nothing(store.url, report)])
    write_whole(target, inspection_text(inspection).encode())
    checkpoint.remove()
    advised = advice(inspection)
    if output == "json":
        print_json({"found": report, "advice": advised, "inspection": str(target)})
        return
    Page().show(report_parts(report, advised))
    named = target if target.is_absolute() else f"../{target}"
    echo(f"\nwritten: {target}\nuse it in an environment file: workload: {{inspection: {named}}}")


def _inspect(store: RootStore, choice: SamplingOptions, target: Path) -> tuple[RootReport, Checkpoint]:
    """Return the report and the checkpoint, which stays until the answer is written.

    Each seed and depth has a checkpoint file of its own.
    """
    about = f"{store.url} {choice.depth} {choice.seed}"
    checkpoint = Checkpoint(target.with_suffix(f".{sha256(about.encode()).hexdigest()[:8]}.partial"), about)
    say = _Progress()
    try:
        return inspect_root(store, choice, checkpoint, say), checkpoint
    except BaseException:
        checkpoint.close()
        if checkpoint.has_some:
            echo(f"interrupted; run the same command again to resume from {checkpoint.path}", err=True)
        raise
    finally:
        say.end()


def _store(root: str) -> tuple[RootStore, str]:
    """Return the store of the root, and a name for its inspection."""
    if url := S3_URL.fullmatch(root):
        from warmbase.operations.aws.clients import Aws  # noqa: PLC0415 - boto3 is for S3
        from warmbase.operations.aws.root_bucket import S3Root  # noqa: PLC0415

        bucket, prefix = url["bucket"], url["prefix"] or ""
        return S3Root(Aws(os.environ), bucket, prefix), f"{bucket}-{prefix}".strip("-").replace("/", "-")
    directory = Path(root)
    if not directory.is_dir():
        why = "it is neither a directory on this machine nor a URL that begins with s3://"
        raise InvalidInput.of(
            where=root, what="not an HBase root", why=why, fix="name the directory that contains data/"
        )
    return LocalRoot(directory.resolve()), directory.resolve().name or "root"


def _nothing(url: str, report: RootReport) -> Problem:
    first = "; the first problem: {}: {}".format(*report.unread[0]) if report.unread else ""
    return Problem(
        where=url,
        what="no readable store file with data",
        why="store files lie in data/NAMESPACE/TABLE/REGION/FAMILY/ below a root; none exists, or none could be read"
        f"{first}",
        fix="give the value of hbase.rootdir; if the tables were just filled, flush them first",
    )


class _Progress:
    """Prints progress and remaining time on stderr: in place on a terminal, else a line now and then."""

    def __init__(self) -> None:
        self._began = self._reported_at = time.monotonic()
        self._stage, self._terminal, self._open = "", sys.stderr.isatty(), False

    def __call__(self, stage: str, files_read: int, of: int) -> None:
        now = time.monotonic()
        if stage != self._stage:
            self.end()
            self._stage, self._began = stage, now
        elif now - self._reported_at < REPORT_SECONDS * (1 if self._terminal else 20) and files_read != of:
            return
        self._reported_at = now
        remaining = (now - self._began) / files_read * (of - files_read) if of and files_read else 0.0
        line = f"{stage} {files_read:,}{f' of {of:,}' if of else ''} files"
        line += f", {format_duration(remaining)} remaining (estimate)" if remaining >= 1 else ""
        if self._terminal:
            sys.stderr.write(f"\r\033[K{line}")
            sys.stderr.flush()
            self._open = True
        else:
            echo(line, err=True)

    def end(self) -> None:
        """End the line that is being rewritten."""
        if self._open:
            sys.stderr.write("\n")
            self._open = False
