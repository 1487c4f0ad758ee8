"""A plan says when its release or its prices are old, and never before."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from msgspec.structs import replace

from tests.sizing.clusters import REQUIREMENTS, WORLD
from warmbase.facts.releases import improvements_since, releases
from warmbase.sizing.modes import HDFS, S3_CACHED, S3_PLAIN, Mode
from warmbase.sizing.requirements import Requirements, World
from warmbase.sizing.warning import OLD_PRICES, freshness_warnings

TEXTS = ("hbase-log4j2", "ZGC", "region that splits", "read-policy defect", "promotes a replica")
PRICED_ON = date.fromisoformat(WORLD.prices.as_of)


def world(label: str = "emr-7.12.0", today: date | None = PRICED_ON) -> World:
    release = releases()[label]
    return replace(WORLD, release=release, improvements=improvements_since(release), today=today)


def ids(world: World) -> set[str]:
    return {warning.id for warning in freshness_warnings(REQUIREMENTS, world)}


def improvements(requirements: Requirements, label: str = "emr-7.12.0") -> str:
    """Return the message about a newer release; empty if it improves nothing that the cluster uses."""
    messages = [item.message for item in freshness_warnings(requirements, world(label)) if item.id == "release-newer"]
    return "".join(messages)


@pytest.mark.parametrize("label", releases())
def test_support_is_past_on_the_day_after_its_last(label: str) -> None:
    last = releases()[label].support_until
    assert last
    assert "release-past-support" not in ids(world(label, last))
    assert "release-past-support" in ids(world(label, last + timedelta(days=1)))


def test_prices_are_old_after_three_months() -> None:
    assert timedelta(days=90) == OLD_PRICES
    assert "prices-old" not in ids(world(today=PRICED_ON + OLD_PRICES))
    assert "prices-old" in ids(world(today=PRICED_ON + OLD_PRICES + timedelta(days=1)))


def test_without_a_day_nothing_depends_on_it() -> None:
    assert ids(world(today=None)) == {"release-newer"}


def test_an_older_release_is_told_what_the_newest_improves() -> None:
    message = improvements(REQUIREMENTS)
    assert message.startswith("emr-7.14.0 ")
    assert "read-policy defect" in message
    assert "release-newer" not in ids(world("emr-7.14.0"))


@pytest.mark.parametrize(
    ("mode", "role", "label", "texts"),
    [
        (S3_CACHED, "active", "emr-7.12.0", ["region that splits", "read-policy defect"]),
        (S3_CACHED, "replica", "emr-7.12.0", ["region that splits", "read-policy defect", "promotes a replica"]),
        (S3_PLAIN, "active", "emr-7.12.0", ["read-policy defect"]),
        (HDFS, "active", "emr-7.12.0", []),
        (HDFS, "active", "emr-7.9.0", ["ZGC"]),
        # The defect began with emr-7.10.
        (S3_CACHED, "active", "emr-7.9.0", ["ZGC", "region that splits"]),
    ],
)
def test_only_improvements_that_concern_the_cluster_are_listed(
    mode: Mode, role: str, label: str, texts: list[str]
) -> None:
    cluster = replace(REQUIREMENTS.cluster, role=role)
    message = improvements(replace(REQUIREMENTS, mode=mode, cluster=cluster), label)
    assert [text for text in TEXTS if text in message] == texts
