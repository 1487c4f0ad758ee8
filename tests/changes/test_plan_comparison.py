"""Two plans side by side: laws that hold for every pair of environments."""

from __future__ import annotations

from functools import cache
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.shipped import ENVIRONMENTS
from tests.tiers import quick_where
from warmbase.changes.plan_comparison import PlanComparison, PlanFigures, PlanSide, delta, plan_comparison
from warmbase.cli.size.plan_differences import cost_rows, figure_rows, headline, warnings_without
from warmbase.configurations.properties.property import Applied
from warmbase.environments.planning import plan_of
from warmbase.environments.reader import locate, read_environment
from warmbase.environments.reader.assignment import Assignment
from warmbase.environments.reader.document import load_document, path_text

CHANGES = (
    (),
    ("workload.stored=14TiB",),
    ("targets.lost_nodes=0",),
    ("workload.reads={per_second: 300}",),
    ("storage.mode=hdfs", "targets.hit_ratio=0.5"),
    ("targets.p99=1ms",),
)
"""Assignments that give other plans: the last one has none that meets its targets."""


@cache
def side(name: str, *assignments: str) -> PlanSide:
    environment = read_environment(name, [Assignment.parse(text) for text in assignments])
    return PlanSide.of(environment, environment.active)


def figures(name: str, *assignments: str) -> PlanFigures:
    plan = side(name, *assignments).plan
    assert plan is not None
    return PlanFigures.of(plan)


def compared(before: PlanSide, after: PlanSide) -> tuple[PlanComparison, str]:
    comparison = plan_comparison(before, after)
    was, will = (PlanFigures.of(one.plan) if one.plan else None for one in (before, after))
    return comparison, headline(was, will, comparison)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_a_plan_does_not_differ_from_itself(name: str) -> None:
    comparison, text = compared(side(name), side(name))
    same = figures(name)
    assert comparison.application is not None
    assert comparison.application.changes == ()
    assert comparison.same_nodes is None
    assert figure_rows(same, same) == cost_rows(same.cost, same.cost) == []
    assert not any(delta(same, same).values())
    assert "a month, as before: the same nodes; nothing to apply" in text


@pytest.mark.parametrize(
    ("before", "after"), quick_where(lambda pair: "dev" in pair, list(permutations(ENVIRONMENTS, 2)))
)
def test_the_difference_changes_its_sign_with_the_order(before: str, after: str) -> None:
    there, back = delta(figures(before), figures(after)), delta(figures(after), figures(before))
    assert there.keys() == back.keys()
    assert {name: -value for name, value in there.items()} == pytest.approx(back)
    assert there["usd_per_month"] == figures(after).usd_per_month - figures(before).usd_per_month


@pytest.mark.parametrize(
    ("name", "assignments"),
    # The volumes of published-emr are pinned, and have another purpose in another mode.
    quick_where(
        lambda case: case[0] == "dev" or not case[1],
        [
            (name, texts)
            for name in ENVIRONMENTS
            for texts in CHANGES
            if name != "published-emr" or "mode" not in str(texts)
        ],
    ),
)
def test_each_price_is_that_of_its_plan(name: str, assignments: tuple[str, ...]) -> None:
    environment = read_environment(name, [Assignment.parse(text) for text in assignments])
    alone = plan_of(environment, environment.active)
    here = side(name, *assignments)
    assert here.plan == alone
    assert figures(name, *assignments).usd_per_month == alone.cost.usd_per_month
    assert sum(figures(name, *assignments).cost.values()) == pytest.approx(alone.cost.usd_per_month)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_setting_a_key_to_its_own_value_changes_nothing(name: str) -> None:
    file = locate(name)
    written = load_document(file, str(file)).written
    own = [Assignment.parse(f"{path_text(path)}={text}") for path, text in written.items()]
    assert len(own) > 10
    as_it_is = read_environment(name)
    for assignments in ([], own, *([assignment] for assignment in own)):
        assert read_environment(name, assignments) == as_it_is


def test_the_answer_names_price_nodes_and_application() -> None:
    comparison, text = compared(side("prod"), side("prod", "workload.stored=14TiB"))
    assert comparison.application is not None
    before, after = figures("prod"), figures("prod", "workload.stored=14TiB")
    more = after.usd_per_month - before.usd_per_month
    assert f"${before.usd_per_month:,.0f} → ${after.usd_per_month:,.0f} a month (+${more:,.0f}, +" in text
    assert f"+{after.core_nodes - before.core_nodes} node" in text
    assert "applied by a new cluster; the cache is lost" in text
    assert comparison.application.cost.applied is Applied.NEW_CLUSTER


def test_more_of_the_same_nodes_are_compared_too() -> None:
    comparison = plan_comparison(side("prod"), side("prod", "workload.stored=14TiB")).same_nodes
    assert comparison is not None
    was, will = comparison.before.plan, comparison.after.plan
    assert was is not None
    assert will is not None
    assert (will.core.instance_type, will.core.volumes) == (was.core.instance_type, was.core.volumes)
    assert will.core.count > was.core.count
    assert will.meets_targets
    assert comparison.application is not None
    assert comparison.application.cost.applied is not Applied.NEW_CLUSTER
    assert comparison.application.cost.cache_lost_bytes == 0


def test_nodes_that_the_file_excludes_are_not_proposed() -> None:
    for assignment in ("clusters.blue.core.families=[r8g]", "clusters.blue.core.type=r8g.xlarge"):
        comparison, text = compared(side("dev"), side("dev", assignment))
        assert "x r8g.xlarge; applied by a new cluster" in text
        assert comparison.same_nodes is None


def test_nothing_is_applied_to_another_environment() -> None:
    comparison, text = compared(side("dev"), side("prod"))
    assert comparison.application is None
    assert "applied" not in text


def test_a_cluster_without_a_bucket_cache_loses_that_of_the_old_one() -> None:
    comparison, text = compared(side("prod"), side("prod", "storage.mode=hdfs"))
    assert comparison.application is not None
    assert comparison.application.cost.warm_up_seconds == 0
    assert text.endswith("applied by a new cluster; the cache is lost")


def test_a_discount_changes_the_price_and_nothing_else() -> None:
    comparison, text = compared(side("dev"), side("dev", "discount=0.3"))
    assert comparison.application is not None
    assert comparison.application.changes == ()
    assert "the same nodes; nothing to apply" in text
    assert "(-$" in text


@pytest.mark.parametrize(
    ("assignment", "key"),
    [
        ("network.availability_zone=us-east-1b", "AvailabilityZone"),
        ("release=emr-7.12.0", "ReleaseLabel"),
        ("clusters.blue.primaries=3", "InstanceCount"),
        ("storage.root=s3://our-bucket/hbase/", "root"),
        ("security.local_disks=false", "encryption of local disks"),
        ("network.vpc=vpc-0123456789abcdef0", "vpc"),
    ],
)
def test_what_is_fixed_at_launch_needs_a_new_cluster(assignment: str, key: str) -> None:
    vpc = "network.subnet=subnet-0123456789abcdef0"
    changed = side("dev", assignment, *([vpc] if key == "vpc" else []))
    comparison, text = compared(side("dev"), changed)
    assert comparison.application is not None
    assert key in {change.key for change in comparison.application.changes if change.applied is Applied.NEW_CLUSTER}
    assert "applied by a new cluster; the cache is lost" in text


def test_naming_the_account_is_no_difference() -> None:
    nameless, named = side("dev"), side("dev", "account='111122223333'")
    for before, after in ((nameless, named), (named, nameless)):
        application = plan_comparison(before, after).application
        assert application is not None
        assert application.changes == ()


def test_another_account_is_a_new_cluster() -> None:
    before, after = side("dev", "account='111122223333'"), side("dev", "account='222222222222'")
    comparison = plan_comparison(before, after)
    assert comparison.application is not None
    assert "account" in {change.key for change in comparison.application.changes}


def test_targets_that_cannot_be_met_are_named() -> None:
    comparison, text = compared(side("dev"), side("dev", "targets.p99=1ms", "workload.row=10 MiB"))
    assert comparison.application is None
    assert comparison.after.error is not None
    assert text.startswith("$")
    assert "→ no cluster meets the targets; the nearest has " in text
    _, back = compared(side("dev", "targets.p99=1ms", "workload.row=10 MiB"), side("dev"))
    assert back.startswith("no cluster meets the targets")


def test_a_warning_with_other_figures_is_the_same_warning() -> None:
    [first, *others] = figures("prod").warnings
    changed = replace(first, message="other figures")
    assert warnings_without([changed, *others], figures("prod").warnings) == []
    assert warnings_without([first, *others], others) == [first]


@pytest.mark.thorough
@settings(max_examples=25, deadline=None)
@given(
    stored=st.integers(50, 2000),
    reads=st.integers(10, 1500),
    lost=st.integers(0, 2),
    zipf=st.floats(0.1, 1.2).map(lambda theta: round(theta, 2)),
)
def test_laws_hold_for_any_change(stored: int, reads: int, lost: int, zipf: float) -> None:
    texts = (
        f"workload.stored={stored}GiB",
        f"workload.reads.per_second={reads}",
        f"targets.lost_nodes={lost}",
        f"workload.popularity={{zipf: {zipf}}}",
    )
    changed = read_environment("dev", [Assignment.parse(text) for text in texts])
    after = PlanSide.of(changed, changed.active)
    assert after.plan is not None
    assert after.plan == plan_of(changed, changed.active)
    was, will = figures("dev"), PlanFigures.of(after.plan)
    assert {name: -value for name, value in delta(was, will).items()} == pytest.approx(delta(will, was))
    _, there = compared(side("dev"), after)
    _, back = compared(after, side("dev"))
    if after.plan.feasible and "as before" not in there:
        assert ("(+$" in there, "(-$" in there) == ("(-$" in back, "(+$" in back)
