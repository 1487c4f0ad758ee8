"""One published figure beside ours."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from typing import Final

from msgspec import Struct

BOUNDS: Final = "~<>"
CLOSE_FRACTION: Final = 0.05


class FigureOrigin(StrEnum):
    """Where our figure comes from: a module of the calculator, or the source's own other numbers."""

    MODEL = "model"
    ARITHMETIC = "arithmetic"


class Verdict(StrEnum):
    """How ours stands to theirs. A bound that ours keeps counts as close."""

    CLOSE = "within 5 %"
    RANGE = "a range that reaches it"
    APART = "further apart"


class Amount(Struct, frozen=True, kw_only=True):
    """A number, or the least and the most of a range."""

    least: float
    most: float

    @classmethod
    def parsed(cls, text: str) -> Amount:
        """The numbers of `888.67`, `95,000`, `~70`, `<1,000` or `3-5`; about and bounds are not in it."""
        least, _, most = text.strip(BOUNDS).replace(",", "").partition("-")
        return cls(least=float(least), most=float(most or least))


class PublishedFigure(Struct, frozen=True, kw_only=True):
    """A figure as its source states it, and ours in the same unit.

    `published` is the source's number with `~`, `<` or `>` where it says about, under or over; `how` is our formula and
    inputs; `remark` is what a reader must know before believing either.
    """

    what: str
    place: str
    published: str
    ours: float | tuple[float, float]
    unit: str
    kind: FigureOrigin
    how: str
    remark: str = ""

    @property
    def computed(self) -> Amount:
        """Ours as a range, which most are not."""
        least, most = self.ours if isinstance(self.ours, tuple) else (self.ours, self.ours)
        return Amount(least=least, most=most)

    @property
    def ratio(self) -> Amount:
        """Return ours over theirs; of ranges, the least over the most and the most over the least."""
        theirs = Amount.parsed(self.published)
        return Amount(least=self.computed.least / theirs.most, most=self.computed.most / theirs.least)

    @property
    def verdict(self) -> Verdict:
        """How far apart the two are."""
        theirs, ours = Amount.parsed(self.published), self.computed
        if self.published.startswith("<"):
            return Verdict.CLOSE if ours.most <= theirs.least else Verdict.APART
        if self.published.startswith(">"):
            return Verdict.CLOSE if ours.least >= theirs.most else Verdict.APART
        if self.ratio.most < 1 - CLOSE_FRACTION or self.ratio.least > 1 + CLOSE_FRACTION:
            return Verdict.APART
        return Verdict.CLOSE if ours.least == ours.most else Verdict.RANGE


model_figure: Final = partial(PublishedFigure, kind=FigureOrigin.MODEL)
arithmetic_figure: Final = partial(PublishedFigure, kind=FigureOrigin.ARITHMETIC)


class SourceFigures(Struct, frozen=True, kw_only=True):
    """All figures of one document that can be computed, in its own order."""

    title: str
    publisher: str
    figures: tuple[PublishedFigure, ...]
