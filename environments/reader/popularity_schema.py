"""The `popularity` section of an environment file, which says how reads spread over rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from environments.reader import bounds
from environments.reader.curve import read_curve
from environments.reader.raw_section import RawSection
from environments.reader.scalars import Share
from environments.reader.section import Refusal, Rule, Section
from sizing.popularity import RowPopularity, Zipf, hot_set

__all__ = ["PopularitySection"]

FILE = r"^[^\x00]+$"


def _one_way(section: RawSection) -> Iterator[Refusal]:
    """Refuse more or less than one form, and a hot set that lacks one of its two shares."""
    if section.gives("hot") != section.gives("of_reads"):
        yield Refusal(why="a hot set has two shares", fix="state both, such as {hot: 10 %, of_reads: 90 %}")
    if sum((section.gives("zipf"), section.gives("hot") or section.gives("of_reads"), section.gives("curve"))) != 1:
        yield Refusal(
            why="reads spread in one way", fix="use uniform, {zipf: 0.99}, {hot: …, of_reads: …} or {curve: FILE}"
        )


def _hot_is_hotter(section: RawSection) -> Iterator[Refusal]:
    """The hot rows get more than their share."""
    hot, of_reads = section.share("hot"), section.share("of_reads")
    if hot is not None and of_reads is not None and of_reads < hot:
        yield Refusal(why=f"{hot:.0%} of the rows with {of_reads:.0%} of the reads are cold", fix="swap the two")


class PopularitySection(Section):
    """How reads spread over rows: `uniform`, a zipf exponent, a hot set, or a measured curve; exactly one."""

    rules: ClassVar[tuple[Rule, ...]] = (_one_way, _hot_is_hotter)

    zipf: Annotated[Annotated[float, bounds.ZIPF] | None, Field(examples=[0.99])] = None
    hot: Annotated[Share, bounds.HOT] | None = None
    of_reads: Share | None = None
    curve: Annotated[
        str | None,
        Field(pattern=FILE, examples=["trace.csv"], description="a CSV file, named from the environment's directory"),
    ] = None

    def build(self, directory: Path) -> RowPopularity:
        """As the type the calculator uses. Raises InvalidInput for a curve file that cannot be read as one."""
        if self.zipf is not None:
            return Zipf(theta=self.zipf)
        if self.curve is not None:
            return read_curve(directory / self.curve)
        return hot_set(rows_fraction=self.hot or 0.0, reads_fraction=self.of_reads or 0.0)
