"""Warnings about the age of a plan's facts: the release, and the prices."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Final

from sizing.requirements import Requirements, World
from sizing.warning import Warning  # noqa: A004 - the plan's own word

__all__ = ["OLD_PRICES", "freshness_warnings"]

OLD_PRICES: Final = timedelta(days=90)  # judgement: AWS lowers a price or adds a family about every quarter
_UPGRADE: Final = "to upgrade a running cluster, tear it down and launch it again on that release"


def freshness_warnings(requirements: Requirements, world: World) -> Iterator[Warning]:
    """Yield what a newer release improves for this cluster.

    If the day is known, also yield whether support has ended or prices are old.
    """
    release = world.release
    yield from _improvements(requirements, world)
    if world.prices.basis:
        yield Warning(
            id="prices-estimated",
            severity="warning",
            message=f"no price list of {world.prices.region} was read: every price is an ESTIMATE from"
            f" {world.prices.basis}, so another type or count may be cheaper",
            fix=f"run {world.prices.note.refresh} with credentials of any account",
        )
    if world.today is None:
        return
    if release.support_until and release.support_until < world.today:
        yield Warning(
            id="release-past-support",
            severity="warning",
            message=f"standard support of {release.label} ended on or before {release.support_until}: AWS no longer"
            " fixes defects or security holes in it",
            fix=f"set a newer release; {_UPGRADE}",
        )
    if not world.prices.basis and date.fromisoformat(world.prices.as_of) < world.today - OLD_PRICES:
        yield Warning(
            id="prices-old",
            severity="info",
            message=f"the prices date from {world.prices.as_of}, more than {OLD_PRICES.days} days ago",
            fix=f"run {world.prices.note.refresh}",
        )


def _improvements(requirements: Requirements, world: World) -> Iterator[Warning]:
    concerns = _concerns(requirements)
    improvements = [gain for gain in world.improvements if gain.concerns in concerns]
    if improvements:
        newest = improvements[-1].release
        yield Warning(
            id="release-newer",
            severity="info",
            message=f"{newest} {'; it '.join(f'{gain.text} ({gain.source})' for gain in improvements)}",
            fix=f"set release: {newest}; {_UPGRADE}",
        )


def _concerns(requirements: Requirements) -> set[str]:
    """Return which improvements matter to a cluster, as `Improvement.concerns` names them."""
    mode = requirements.mode
    applies = {
        "": True,
        "cache": mode.has_bucket_cache,
        "s3": mode.keeps_data_in_s3,
        "replica": requirements.cluster.role == "replica",
    }
    return {name for name, matters in applies.items() if matters}
