"""The verdicts of single checks of `warmbase verify`, on answers of nodes and of AWS that stand here."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from tests.conftest import launch_of
from warmbase.ground.units import GIB
from warmbase.operations.cluster.alarms import AlarmTest
from warmbase.operations.verify import services
from warmbase.operations.verify.check import Check, CheckResult
from warmbase.operations.verify.nodes import node_checks
from warmbase.operations.verify.services import alarm_test_results, launch_checks

CREATED = datetime(2026, 11, 1, tzinfo=UTC)
ANSWERS: dict[str, Any] = {"yes": (True, "has it"), "no": (False, "lacks it"), "unread": (None, "not read")}


@pytest.mark.parametrize(
    ("nodes", "good", "observed"),
    [
        ({}, None, "no node answered"),
        ({"i-1": None}, None, "no node answered"),
        ({"i-1": "yes", "i-2": None}, True, "has it"),
        ({"i-1": "unread", "i-2": "yes"}, True, "has it"),
        ({"i-1": "unread", "i-2": "unread"}, None, "not read"),
        ({"i-1": "unread", "i-2": "no", "i-3": "yes"}, False, "1 of 3 nodes differ; i-2: lacks it"),
        ({"i-1": "no", "i-2": "no", "i-3": None}, False, "2 of 2 nodes differ; i-1: lacks it"),
    ],
)
def test_a_node_without_a_verdict_counts_only_where_no_node_has_one(
    nodes: dict[str, Any], good: object, observed: str
) -> None:
    [result] = Check("name", "", "", "mend it").results_by_node(nodes, lambda facts: ANSWERS[str(facts)])
    assert (result.good, result.found) == (good, observed)
    assert result.todo == ("nothing" if good else "mend it")


def partition(name: str, of: str, gib: float) -> dict[str, object]:
    return {"name": name, "pkname": of, "type": "part", "size": round(gib * GIB), "mountpoint": None}


@pytest.mark.parametrize(
    ("partitions", "good"),
    [
        ([partition("n1p1", "n1", 5), partition("n1p2", "n1", 59)], True),
        ([partition("n1p1", "n1", 4), partition("n1p2", "n1", 6.1)], True),
        ([partition("n1p1", "n1", 5)], False),  # a volume of 5 GiB has no part of EMR's
        ([partition("n1p1", "n1", 3.9), partition("n1p2", "n1", 59)], False),
        ([partition("n1p1", "n1", 5), partition("n1p2", "n1", 59), partition("n2p1", "n2", 5)], True),
        ([partition(f"{disk}p{part}", disk, 5) for disk in ("n1", "n2") for part in (1, 2)], False),
    ],
)
def test_emr_has_a_small_partition_beside_another_one_on_one_disk(
    partitions: list[dict[str, object]], good: object
) -> None:
    core = replace(launch_of("prod").plan.core, volumes=())
    facts = {"python": "3.9", "units": {}, "devices": partitions}
    results = {result.check: result for result in node_checks(_context(core=core, nodes={"i-1": facts}))}
    assert results["EMR's partition"].good is good


def _context(**parts: object) -> Any:
    return SimpleNamespace(**parts)


def launched(
    monkeypatch: pytest.MonkeyPatch,
    versions: list[tuple[int | None, int | None]],
    updated: timedelta | None = None,
    largest_gib: int = 100,
) -> dict[str, CheckResult]:
    """Return the checks of a cluster whose groups have these versions, requested and applied."""
    monkeypatch.setattr(services, "check_pinned", lambda *_: SimpleNamespace(confirmed=3))
    monkeypatch.setattr(services, "stack_edits", lambda *_: iter(()))
    aws, launch, names = (
        Mock(),
        launch_of("prod"),
        ("ConfigurationsVersion", "LastSuccessfullyAppliedConfigurationsVersion"),
    )
    timeline = {"Status": {"Timeline": {"CreationDateTime": CREATED}}, "TerminationProtected": True}
    aws.emr.describe_cluster.return_value = {"Cluster": timeline}
    stack = {"CreationTime": CREATED - timedelta(minutes=5)}
    if updated is not None:
        stack["LastUpdatedTime"] = CREATED + updated
    aws.cloudformation.describe_stacks.return_value = {"Stacks": [stack]}
    groups = [{"Id": f"ig-{n}", **dict(zip(names, pair, strict=True))} for n, pair in enumerate(versions)]
    aws.emr.get_paginator.return_value.paginate.return_value = [{"InstanceGroups": groups}]
    core = launch.plan.core
    cache = replace(core.volumes[0], type="gp3", size_gib=largest_gib)
    cluster = SimpleNamespace(id="j-1", state="WAITING")
    context = _context(
        aws=aws, launch=launch, cluster=cluster, nodes={}, instances=[], core=replace(core, volumes=(cache,))
    )
    return {result.check: result for result in launch_checks(context)}


@pytest.mark.parametrize(
    ("versions", "good"),
    [
        ([(None, None), (0, 0)], None),
        ([(2, 2), (None, None)], True),
        ([(2, 2), (1, 1)], True),
        ([(2, 2), (1, 0)], False),
        ([(1, 0), (3, 2)], False),
    ],
)
def test_every_requested_version_of_the_settings_must_be_applied(
    versions: list[tuple[int | None, int | None]], good: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert launched(monkeypatch, versions)["version of the settings"].good is good


def test_only_an_update_after_the_launch_confirms_the_row_about_protection(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        launched(monkeypatch, [], updated)["termination protection"].row
        for updated in (None, -timedelta(minutes=1), timedelta(minutes=1))
    ]
    assert [bool(row) for row in rows] == [False, False, True]


def test_only_a_volume_beyond_the_old_range_confirms_the_row_about_large_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "large volumes" not in launched(monkeypatch, [], largest_gib=1_024)
    assert launched(monkeypatch, [], largest_gib=1_025)["large volumes"].good is True


@pytest.mark.parametrize(
    ("test", "action", "delivery"),
    [
        (AlarmTest(why_not="all alarms are in ALARM"), None, []),
        (AlarmTest(executed=False, history="no action"), False, []),
        (AlarmTest(executed=True, published=1, delivered=1), True, [True]),
        (AlarmTest(executed=True, published=2, delivered=1, failed=1), True, [False]),
        (AlarmTest(executed=True, published=1, failed=1), True, [False]),
        (AlarmTest(executed=True, published=1), True, [None]),
        (AlarmTest(executed=True), True, [None]),
    ],
)
def test_a_failed_delivery_counts_more_than_another_that_succeeded(
    test: AlarmTest, action: object, delivery: list[bool | None]
) -> None:
    first, *others = alarm_test_results(test)
    assert first.good is action
    assert [result.good for result in others] == delivery
