"""The proposal for ranges of an analytics cluster keeps the laws of decisions, and depends on its own ranges only."""

from __future__ import annotations

from pathlib import Path

import pytest

from warmbase.environments.reader.assignment import Assignment
from warmbase.environments.reader.ranges import RangedDocument
from warmbase.environments.reader.read import environment_of, read_ranges
from warmbase.environments.uncertainty.samples import Samples, Sampling, proposal_of, samples_of
from warmbase.ground.errors import Infeasible, InvalidInput
from warmbase.sizing.ranges.regret import Proposal

FILE = str(Path(__file__).parents[2] / "docs/analytics.yaml")
FEW = Sampling(count=16)
OWN = ("clusters.lake.workload.scanned=20..120 GiB", "clusters.lake.targets.query_time=30..90 s")
FAMILY = "clusters.lake.workers={families: [r8g]}"


def ranged(*texts: str) -> RangedDocument:
    document = read_ranges(FILE, [Assignment.parse(text) for text in (FAMILY, *texts)])
    return document.of_cluster(environment_of(document.middle), "lake")


@pytest.fixture(scope="module")
def samples() -> Samples:
    return samples_of(ranged(*OWN), "lake", FEW)


@pytest.fixture(scope="module")
def proposal(samples: Samples) -> Proposal:
    return proposal_of(ranged(*OWN), "lake", samples)


def test_the_same_seed_makes_the_same_decision(proposal: Proposal) -> None:
    again = proposal_of(ranged(*OWN), "lake", samples_of(ranged(*OWN), "lake", FEW))
    assert again.decision.options == proposal.decision.options
    assert (again.decision.regrets == proposal.decision.regrets).all()


def test_no_plan_of_a_sample_has_less_regret(proposal: Proposal, samples: Samples) -> None:
    options = [option for option, _ in filter(None, (one.cheapest for one in samples.situations))]
    rows = [[one.outcome(option) for option in options] for one in samples.situations]
    both = proposal.decision.with_options(options, rows)
    assert both.mean_regrets[proposal.decision.best] <= both.mean_regrets.min() + 1e-6
    assert (proposal.decision.regrets >= 0).all()


def test_ranges_of_no_width_are_values() -> None:
    flat = ranged("clusters.lake.workload.scanned=40..40 GiB", "clusters.lake.targets.query_time=60..60 s")
    assert flat.ranges == {}
    assert environment_of(flat.document).analytics == environment_of(ranged().document).analytics


def test_narrow_ranges_decide_for_the_plan_of_their_middle() -> None:
    narrow = ranged("clusters.lake.workload.scanned=40..40.001 GiB")
    decided = proposal_of(narrow, "lake", samples_of(narrow, "lake", Sampling(count=8)))
    assert decided.decision.best == decided.middle
    assert decided.decision.mean_regrets[decided.decision.best] == pytest.approx(0, abs=0.01)


def test_ranges_of_other_clusters_do_not_matter_unless_they_are_followed() -> None:
    hbase = "workload.stored=1..3 TiB"
    assert list(ranged(hbase, *OWN[:1]).ranges) == [("clusters", "lake", "workload", "scanned")]
    follows = "clusters.lake.workload.working_set={low: 1 TiB, high: 3 TiB, follows: workload.stored}"
    assert {path[-1] for path in ranged(hbase, follows).ranges} == {"stored", "working_set"}
    document = read_ranges(FILE, [Assignment.parse(text) for text in (hbase, *OWN)])
    of_blue = document.of_cluster(environment_of(document.middle), "blue")
    assert list(of_blue.ranges) == [("workload", "stored")]


def test_a_range_of_one_hbase_cluster_is_varied() -> None:
    assignment = Assignment.parse("clusters.blue.targets={hit_ratio: 0.5..0.9}")
    document = read_ranges(FILE, [assignment])
    of_blue = document.of_cluster(environment_of(document.middle), "blue")
    assert list(of_blue.ranges) == [("clusters", "blue", "targets", "hit_ratio")]
    low, high = (environment_of(of_blue.at([value])).clusters["blue"].targets for value in (0.5, 0.9))
    assert low is not None
    assert high is not None
    assert (low.hit_ratio, high.hit_ratio) == (0.5, 0.9)


def test_the_discount_concerns_every_cluster() -> None:
    assert list(ranged("discount=0..40 %").ranges) == [("discount",)]


def test_targets_that_no_cluster_meets_are_refused() -> None:
    poor = ranged(*OWN, "clusters.lake.targets.budget_usd_per_month=100")
    with pytest.raises(Infeasible, match="in none of 8 samples"):
        proposal_of(poor, "lake", samples_of(poor, "lake", Sampling(count=8)))


def test_a_command_that_needs_one_value_names_the_cluster() -> None:
    with pytest.raises(InvalidInput, match="--cluster lake"):
        environment_of(ranged(*OWN).document)
