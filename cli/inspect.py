"""warmbase inspect: what is in an HBase root, by reading some of its store files."""

from __future__ import annotations

import os
import re
import sys
import time
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from cli.options import output_option
from environments.reader.inspection import inspection_text
from hfile.checkpoint import Checkpoint
from hfile.inspection import RootReport, SamplingOptions, inspect_root
from hfile.local_root import LocalRoot
from reports.json_text import json_text
from sizing.family_advice import advice
from sizing.problem import InvalidInput, Problem
from sizing.units import format_duration

if TYPE_CHECKING:
    from hfile.layout import RootStore

__all__ = ["inspect"]

DIRECTORY: Final = Path("inspections")
S3_URL: Final = re.compile(r"s3[an]?://(?P<bucket>[^/]+)(?:/(?P<prefix>.*?))?/*")
SAY_SECONDS: Final = 0.5
MOST_THREADS: Final = 64


@click.command()
@click.argument("root")
@click.option("--write", type=click.Path(dir_okay=False, path_type=Path), help="Where to; inspections/NAME.json else.")
@click.option("--files", type=click.IntRange(min=1), default=400, show_default=True, help="How many to read, in all.")
@click.option("--all", "every", is_flag=True, help="Read every file, none is drawn.")
@click.option("--blocks", is_flag=True, help="Read every header of compressed blocks, and all of the index.")
@click.option("--seed", type=int, default=1, show_default=True, help="Another one draws other files.")
@click.option("--threads", type=click.IntRange(1, MOST_THREADS), default=32, show_default=True, help="Side by side.")
@output_option
def inspect(root: str, write: Path | None, output: str, **chosen: int) -> None:
    """Look what an HBase root holds: blocks as the cache takes them, indexes, codecs.

    ROOT is s3://BUCKET/PREFIX/, or a directory. Its files are listed; some are read, and of these the end, a little of
    the index and a block; what all hold is estimated, with intervals. Nothing is written there. What is found goes to a
    file that an environment names as its `inspection`, and `warmbase plan` sizes by it. A look that was ended goes on
    where it was.

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
    found, kept = _inspect(store, choice, target)
    inspection = found.inspection(datetime.now(UTC).isoformat(timespec="seconds"))
    if not inspection.families:
        kept.remove()
        raise InvalidInput([_nothing(store.url, found)])
    whole = target.with_suffix(".new")
    whole.write_text(inspection_text(inspection), encoding="utf-8")
    whole.replace(target)
    kept.remove()
    advised = advice(inspection)
    if output == "json":
        click.echo(json_text({"found": found, "advice": advised, "inspection": str(target)}))
        return
    from cli.inspect_page import page  # noqa: PLC0415 - each output loads what it needs

    click.echo("\n".join(page(found, advised)))
    named = target if target.is_absolute() else f"../{target}"
    click.echo(f"\nwritten: {target}\nin an environment file: workload: {{inspection: {named}}}")


def _inspect(store: RootStore, choice: SamplingOptions, target: Path) -> tuple[RootReport, Checkpoint]:
    """And what was read, which stays until the answer is written. Of another seed or depth it is another file."""
    about = f"{store.url} {choice.depth} {choice.seed}"
    kept = Checkpoint(target.with_suffix(f".{sha256(about.encode()).hexdigest()[:8]}.partial"), about)
    say = _Progress()
    try:
        return inspect_root(store, choice, kept, say), kept
    except BaseException:
        kept.close()
        if kept.has_some:
            click.echo(f"what was read is in {kept.path}: the same again goes on", err=True)
        raise
    finally:
        say.end()


def _store(root: str) -> tuple[RootStore, str]:
    """And what to call its inspection."""
    if found := S3_URL.fullmatch(root):
        from operations.aws import Aws  # noqa: PLC0415 - boto3 is for S3
        from operations.root_bucket import S3Root  # noqa: PLC0415

        bucket, prefix = found["bucket"], found["prefix"] or ""
        return S3Root(Aws(os.environ), bucket, prefix), f"{bucket}-{prefix}".strip("-").replace("/", "-")
    directory = Path(root)
    if not directory.is_dir():
        why = "it is no directory here, and no URL that begins with s3://"
        raise InvalidInput([Problem(where=root, what="no HBase root", why=why, fix="name the directory with data/")])
    return LocalRoot(directory.resolve()), directory.resolve().name or "root"


def _nothing(url: str, found: RootReport) -> Problem:
    first = "; the first: {}: {}".format(*found.unread[0]) if found.unread else ""
    return Problem(
        where=url,
        what="no store file with a block in it",
        why="an HBase root has data/NAMESPACE/TABLE/REGION/FAMILY/ below it, and none was found, or none could be read"
        f"{first}",
        fix="name the directory that hbase.rootdir names; flush tables that were only just filled",
    )


class _Progress:
    """How far it is, and how long it will take, on stderr: on a terminal in place, else now and then."""

    def __init__(self) -> None:
        self._began = self._said_at = time.monotonic()
        self._stage, self._terminal, self._open = "", sys.stderr.isatty(), False

    def __call__(self, stage: str, done: int, of: int) -> None:
        now = time.monotonic()
        if stage != self._stage:
            self.end()
            self._stage, self._began = stage, now
        elif now - self._said_at < SAY_SECONDS * (1 if self._terminal else 20) and done != of:
            return
        self._said_at = now
        left = (now - self._began) / done * (of - done) if of and done else 0.0
        line = f"{stage} {done:,}{f' of {of:,}' if of else ''} files"
        line += f", {format_duration(left)} to go (estimate)" if left >= 1 else ""
        if self._terminal:
            sys.stderr.write(f"\r\033[K{line}")
            sys.stderr.flush()
            self._open = True
        else:
            click.echo(line, err=True)

    def end(self) -> None:
        """Leaves the line."""
        if self._open:
            sys.stderr.write("\n")
            self._open = False
