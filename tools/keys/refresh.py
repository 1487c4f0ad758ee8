"""Rewrites hbase.csv and hadoop.csv from the jars of the releases: `python -m tools.keys.refresh [--cache DIR]`.

It needs Maven and the network. The jars have some 200 MB; with --cache they stay, and the next run takes a minute.
tools/keys/artifacts.py lists the jars. prefixes.csv and emr.csv are written by hand.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from msgspec import Struct

from tools.keys.artifacts import HADOOP, HBASE, Artifact, CatalogueColumn, fetch
from tools.keys.jar import JarKeys, jar_keys
from warmbase.facts import HOME
from warmbase.facts.keys import EMPTY, IN_CODE
from warmbase.ground.errors import OperationFailed

__all__ = ["main"]

TABLES: Final = {"hbase.csv": ("Apache HBase", HBASE), "hadoop.csv": ("Apache Hadoop", HADOOP)}
LONGEST_DEFAULT: Final = 120  # judgement: longer ones are lists of classes, of which the beginning tells enough


class Column(Struct, frozen=True, kw_only=True):
    """A release of a table: its keys with their cells, and their jars by module."""

    line: CatalogueColumn
    cells: Mapping[str, str]
    jars: Mapping[str, Artifact]

    @property
    def provenance(self) -> str:
        """The modules that were read, and those that were missing or taken from another release."""
        own = [module for module, jar in self.jars.items() if jar.version == self.line.version]
        others = [jar.name for jar in self.jars.values() if jar.version != self.line.version]
        missing = [module for module in self.line.modules if module not in self.jars]
        text = f"{self.line.version}: {len(self.cells)} keys, from {', '.join(own)}"
        text += f"; not found on Maven Central, so taken from the nearest: {', '.join(others)}" if others else ""
        return text + (f"; found nowhere: {', '.join(missing)}" if missing else "")


def main(arguments: Sequence[str] | None = None) -> int:
    """Rewrite both tables. The exit status is 1 when jars cannot be fetched."""
    parser = argparse.ArgumentParser(prog="python -m tools.keys.refresh", description=(__doc__ or "").split(":")[0])
    parser.add_argument("--cache", type=Path, metavar="DIR", help="where jars are kept (default: nowhere)")
    cache: Path | None = parser.parse_args(arguments).cache
    try:
        if cache is not None:
            _rewrite(cache)
        else:
            with TemporaryDirectory() as temporary:
                _rewrite(Path(temporary))
    except OperationFailed as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


def _rewrite(cache: Path) -> None:
    jars = _jars([*HBASE, *HADOOP], cache)
    keys = {jar: jar_keys(jar.jar(cache)) for jar in dict.fromkeys(jars.values())}
    for name, (application, lines) in TABLES.items():
        columns = []
        for line in lines:
            own = {module: jars[line, module] for module in line.modules if (line, module) in jars}
            columns.append(Column(line=line, cells=_cells([keys[jar] for jar in own.values()]), jars=own))
        (HOME / "keys" / name).write_text(_text(application, columns), encoding="utf-8")
        for column in columns:
            sys.stderr.write(f"{name}  {column.line.version}  {len(column.cells)} keys\n")


def _jars(lines: Sequence[CatalogueColumn], cache: Path) -> Mapping[tuple[CatalogueColumn, str], Artifact]:
    """Return the jar of each line and module, of that version or of the nearest one that has it."""
    jars: dict[tuple[CatalogueColumn, str], Artifact] = {}
    for attempt in range(1 + max(len(line.nearest) for line in lines)):
        wanted = {
            (line, artifact.module): artifact
            for line in lines
            for version in (line.version, *line.nearest)[attempt : attempt + 1]
            for artifact in line.artifacts(version)
            if (line, artifact.module) not in jars
        }
        have = fetch(wanted.values(), cache)
        jars |= {place: artifact for place, artifact in wanted.items() if artifact in have}
    return jars


def _cells(jars: Iterable[JarKeys]) -> Mapping[str, str]:
    """Return the cell of each key. A default file takes precedence over code, unless its value is empty.

    Code counts only where it does not contradict itself.
    """
    in_code: dict[str, frozenset[str]] = {}
    in_default_file: dict[str, str] = {}
    for jar in jars:
        in_default_file |= jar.in_default_file
        for key, defaults in jar.in_code.items():
            in_code[key] = in_code.get(key, frozenset()) | defaults
    cells = {key: _cell(*defaults) if len(defaults) == 1 else IN_CODE for key, defaults in in_code.items()}
    unstated = {key: EMPTY if cells.get(key) in {None, IN_CODE} else cells[key] for key in in_default_file}
    return cells | {
        key: _cell(default) if default.strip() else unstated[key] for key, default in in_default_file.items()
    }


def _cell(default: str) -> str:
    line = " ".join(default.split())
    if len(line) > LONGEST_DEFAULT:
        line = f"{line[: LONGEST_DEFAULT - 3]}..."
    return line or EMPTY


def _text(application: str, columns: Sequence[Column]) -> str:
    today = datetime.now(tz=UTC).date().isoformat()
    how = "Written by `python -m tools.keys.refresh` from jars on Maven Central"
    cell = f"of the default file, else as a constant in code states it; {EMPTY}; {IN_CODE} without a stated default"
    provenance = (
        f"Configuration keys of {application} by release. {how}, captured {today}.",
        f"A cell is the default: {cell}; nothing where the release has no such key.",
        *(column.provenance for column in columns),
    )
    rows = io.StringIO()
    writer = csv.writer(rows, lineterminator="\n")
    writer.writerow(("key", *(column.line.version for column in columns)))
    for key in sorted({key for column in columns for key in column.cells}):
        writer.writerow((key, *(column.cells.get(key, "") for column in columns)))
    return "".join(f"# {line}\n" for line in provenance) + rows.getvalue()


if __name__ == "__main__":
    sys.exit(main())
