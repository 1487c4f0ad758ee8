"""Rewrites hbase.csv and hadoop.csv from the jars of the releases: `python -m facts.keys.refresh [--cache DIR]`.

Needs Maven and the network. Jars are some 200 MB; with --cache they are kept, and the next run takes a minute.
What is read from which jars: facts/keys/catalogue.py. prefixes.csv and emr.csv are made by hand.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from facts.keys import EMPTY, IN_CODE
from facts.keys.catalogue import HADOOP, HBASE, CatalogueColumn
from facts.keys.jar import JarKeys, jar_keys
from facts.keys.maven import Artifact, fetch
from facts.table import HOME
from sizing.problem import OperationFailed

__all__ = ["main"]

TABLES: Final = {"hbase.csv": ("Apache HBase", HBASE), "hadoop.csv": ("Apache Hadoop", HADOOP)}
LONGEST_DEFAULT: Final = 120  # judgement: longer ones are lists of classes, of which the beginning tells enough


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One release of a table: its keys with their cells, and the jars that they are from, by module."""

    line: CatalogueColumn
    cells: Mapping[str, str]
    jars: Mapping[str, Artifact]

    @property
    def provenance(self) -> str:
        """Which modules it was read from, and which are another release's or missing."""
        own = [module for module, jar in self.jars.items() if jar.version == self.line.version]
        others = [jar.name for jar in self.jars.values() if jar.version != self.line.version]
        missing = [module for module in self.line.modules if module not in self.jars]
        said = f"{self.line.version}: {len(self.cells)} keys, from {', '.join(own)}"
        said += f"; not found on Maven Central, so taken from the nearest: {', '.join(others)}" if others else ""
        return said + (f"; found nowhere: {', '.join(missing)}" if missing else "")


def main(arguments: Sequence[str] | None = None) -> int:
    """Rewrites both tables. Exit status 1 when jars cannot be had."""
    parser = argparse.ArgumentParser(prog="python -m facts.keys.refresh", description=(__doc__ or "").split(":")[0])
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
        columns = [_column(line, jars, keys) for line in lines]
        (HOME / "keys" / name).write_text(_text(application, columns), encoding="utf-8")
        for column in columns:
            sys.stderr.write(f"{name}  {column.line.version}  {len(column.cells)} keys\n")


def _jars(lines: Sequence[CatalogueColumn], cache: Path) -> Mapping[tuple[CatalogueColumn, str], Artifact]:
    """For each line and module the jar of that version, or of the first of the nearest versions that has one."""
    found: dict[tuple[CatalogueColumn, str], Artifact] = {}
    for attempt in range(1 + max(len(line.nearest) for line in lines)):
        wanted = {
            (line, artifact.module): artifact
            for line in lines
            for version in (line.version, *line.nearest)[attempt : attempt + 1]
            for artifact in line.artifacts(version)
            if (line, artifact.module) not in found
        }
        have = fetch(wanted.values(), cache)
        found |= {place: each for place, each in wanted.items() if each in have}
    return found


def _column(
    line: CatalogueColumn, jars: Mapping[tuple[CatalogueColumn, str], Artifact], keys: Mapping[Artifact, JarKeys]
) -> Column:
    own = {module: jars[line, module] for module in line.modules if (line, module) in jars}
    return Column(line=line, cells=_cells([keys[jar] for jar in own.values()]), jars=own)


def _cells(jars: Iterable[JarKeys]) -> Mapping[str, str]:
    """The cell of each key. A default file is believed before code, unless it leaves empty what code states.

    Code is believed only where it agrees with itself.
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
    how = "Written by `python -m facts.keys.refresh` from jars on Maven Central"
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
