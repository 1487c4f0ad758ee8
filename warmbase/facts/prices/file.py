"""A dated price file: its rows as text, how it gets to its place, and the differences between two price tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from decimal import Decimal
from pathlib import Path
from typing import Final

from msgspec import Struct

from warmbase.facts.prices import newest_file
from warmbase.ground.errors import OperationFailed
from warmbase.ground.prices import PriceTable
from warmbase.ground.whole_file import written_beside

COMPUTE_COLUMNS: Final = ("instance_type", "ec2_usd_per_hour", "emr_fee_usd_per_hour", "emr_fee_confidence")
SERVICE_COLUMNS: Final = ("item", "usd", "per", "confidence", "source")

EVERYBODY_READS: Final = 0o644


class PriceFile(Struct, frozen=True, kw_only=True):
    """REGION.KIND.DATE.csv with its provenance and its rows, of which the first has the columns' names."""

    region: str
    kind: str
    date: str
    provenance: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def name(self) -> str:
        """The name it is found by."""
        return f"{self.region}.{self.kind}.{self.date}.csv"

    @property
    def text(self) -> str:
        """Return what stands in it."""
        return "".join(f"# {line}\n" for line in self.provenance) + self.rows_text

    @property
    def rows_text(self) -> str:
        """Return what stands in it below its provenance."""
        rows = io.StringIO()
        csv.writer(rows, lineterminator="\n").writerows(self.rows)
        return rows.getvalue()


def compute_rows(table: PriceTable) -> tuple[tuple[str, ...], ...]:
    """The compute file's rows, in the table's order."""
    return (
        COMPUTE_COLUMNS,
        *(
            (name, _plain(price.ec2_usd_per_hour), _plain(price.emr_fee_usd_per_hour), price.emr_fee_confidence)
            for name, price in table.compute.items()
        ),
    )


def service_rows(table: PriceTable) -> tuple[tuple[str, ...], ...]:
    """Return the services file's rows, in the table's order."""
    return (
        SERVICE_COLUMNS,
        *(
            (item, _plain(price.usd), price.per, price.confidence, price.source)
            for item, price in table.services.items()
        ),
    )


def write_files(files: Sequence[PriceFile], directory: Path) -> tuple[Path, ...]:
    """Writes the files, whole or not at all, in this order; returns those that were not there already.

    A file of that date with the same rows stays as it is. Raises OperationFailed, having written nothing, when one
    has other rows, when a later file would be read instead, and when the directory cannot be written.
    """
    fresh = []
    for file in files:
        path = directory / file.name
        if path.exists():
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
            if "".join(line for line in lines if not line.startswith("#")) == file.rows_text:
                continue
            raise OperationFailed.of(
                where=str(path),
                what="has other prices than the price list",
                why="a dated file records what was read on its day, so it is not overwritten",
                fix="remove the file if you do not need its prices, and refresh again",
            )
        fresh.append((file, path))
    for file, _ in fresh:
        with suppress(KeyError):
            newest = newest_file(file.region, file.kind, directory)
            if newest.name > file.name:
                raise OperationFailed.of(
                    where=file.name,
                    what=f"would not be read: {newest.name} is later",
                    why=f"the price list was published on {file.date}",
                    fix=f"remove {newest} if you do not need its prices, and refresh again",
                )
    try:
        with ExitStack() as stack:
            # All texts are written to temporary files first, which then only need to be renamed.
            written = [
                (stack.enter_context(written_beside(path, file.text.encode(), EVERYBODY_READS)), path)
                for file, path in fresh
            ]
            for temporary, path in written:
                temporary.replace(path)
    except OSError as error:
        raise OperationFailed.of(
            where=str(directory),
            what="price files cannot be written",
            why=str(error),
            fix="refresh in a checkout that you may write to, with room on its disk",
        ) from error
    return tuple(path for _, path in fresh)


def _plain(usd: float) -> str:
    """As few digits as say exactly this, without an exponent."""
    return format(Decimal(repr(usd)), "f")


SMALLEST_CHANGE_FRACTION: Final = 0.005  # judgement: smaller differences come from rounding


class PriceChange(Struct, frozen=True, kw_only=True):
    """One price, before and after."""

    what: str
    per: str
    current_usd: float
    new_usd: float

    @property
    def fraction(self) -> float:
        """The rise of the price as a fraction of the current one; negative where it falls."""
        return self.new_usd / self.current_usd - 1


def changes(current: PriceTable, new: PriceTable) -> tuple[PriceChange, ...]:
    """Return the prices of both tables that differ by more than SMALLEST_CHANGE_FRACTION, largest change first."""
    before, after = dict(figures(current)), dict(figures(new))
    both = [
        PriceChange(what=what, per=per, current_usd=before[what, per], new_usd=after[what, per])
        for what, per in after
        if (what, per) in before
    ]
    changed = [change for change in both if abs(change.fraction) > SMALLEST_CHANGE_FRACTION]
    return tuple(sorted(changed, key=lambda change: -abs(change.fraction)))


def figures(table: PriceTable) -> Iterator[tuple[tuple[str, str], float]]:
    """Yield every price of a table, by its subject and its unit."""
    for name, price in table.compute.items():
        yield (name, "hour"), price.ec2_usd_per_hour
        yield (f"{name} EMR fee", "hour"), price.emr_fee_usd_per_hour
    for item, service in table.services.items():
        yield (item, service.per), service.usd
