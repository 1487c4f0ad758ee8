"""A decision between real plans: the same each time, never worse than one sample's plan, priced as a pinned one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from environments.planning import plan_of, requirements, world
from environments.reader import read_environment
from environments.reader.assignment import Assignment
from environments.reader.ranges import RangedDocument
from environments.reader.read import environment_of, read_ranges
from environments.samples import Samples, Sampling, choice_of, samples_of
from sizing.deciding import Choice
from sizing.problem import Infeasible
from sizing.regret import Decision, cheapest_option, outcomes

FEW = Sampling(count=8)
FAMILY = Assignment.parse("clusters.blue.core={families: [r8g]}")


def ranged(*texts: str) -> RangedDocument:
    return read_ranges("dev", [FAMILY, *map(Assignment.parse, texts)])


STORED = ("workload.stored=100..1500 GiB", "workload.reads.per_second=100..2000")


@pytest.fixture(scope="module")
def samples() -> Samples:
    return samples_of(ranged(*STORED), "blue", FEW)


@pytest.fixture(scope="module")
def choice(samples: Samples) -> Choice:
    return choice_of(ranged(*STORED), "blue", samples)


def test_the_same_seed_makes_the_same_decision(choice: Choice) -> None:
    again = choice_of(ranged(*STORED), "blue", samples_of(ranged(*STORED), "blue", FEW))
    assert again.decision.options == choice.decision.options
    assert (again.decision.regrets == choice.decision.regrets).all()


def test_no_plan_of_a_sample_has_less_regret(choice: Choice, samples: Samples) -> None:
    offered = world(environment_of(ranged(*STORED).middle))
    optima = [cheapest_option(one, offered) for one in samples.requirements]
    options = [option for option, _ in filter(None, optima)]
    rows = [outcomes(one, offered, options) for one in samples.requirements]
    others = replace(choice.decision, options=options, outcomes=rows)
    assert choice.decision.mean_regrets[choice.decision.best] <= others.mean_regrets.min() + 1e-6


def test_an_option_costs_what_the_plan_of_the_pinned_cluster_costs(choice: Choice, samples: Samples) -> None:
    option = choice.decision.options[choice.decision.best]
    document = ranged(*STORED)
    environment = environment_of(document.at(samples.values[0]))
    core = replace(environment.active.core, type=option.instance_type, count=option.count, volumes=option.volumes)
    pinned = plan_of(environment, replace(environment.active, core=core))
    [outcome] = outcomes(samples.requirements[0], world(environment), [option])
    assert outcome.usd_per_month == pytest.approx(pinned.cost.usd_per_month, rel=0.001)
    assert bool(outcome.missed) == (not pinned.meets_targets)


def test_the_middle_is_one_of_the_options(choice: Choice) -> None:
    environment = environment_of(ranged(*STORED).middle)
    planned = plan_of(environment, environment.active)
    assert choice.middle is not None
    option = choice.decision.options[choice.middle]
    assert (option.instance_type, option.count) == (planned.core.instance_type, planned.core.count)
    assert option.volumes == planned.core.volumes


def test_targets_that_no_cluster_meets_are_refused() -> None:
    with pytest.raises(Infeasible, match="in none of 8 samples"):
        choice_of(poor := ranged(*STORED, "targets.budget_usd_per_month=100"), "blue", samples_of(poor, "blue", FEW))


def test_an_environment_without_ranges_is_the_same_as_before() -> None:
    assert read_environment("dev") == environment_of(read_ranges("dev").document)


@pytest.mark.thorough
def test_on_other_samples_the_choice_is_nearly_as_good_as_any_plan_of_a_sample() -> None:
    """On unseen samples it costs at most a tenth more, with its regret, than the best of those samples' own plans.

    That best one is known only afterwards. With 128 samples instead of 32, 0.2 % more were measured.
    """
    document = ranged(*STORED)
    decision = choice_of(document, "blue", samples_of(document, "blue", Sampling(count=32))).decision
    offered = world(environment_of(document.middle))
    for seed in (2,):
        samples = samples_of(document, "blue", Sampling(count=32, seed=seed))
        optima = [cheapest_option(one, offered) for one in samples.requirements]
        cheapest = np.array([np.nan if one is None else one[1] for one in optima])
        options = [decision.options[decision.best], *dict.fromkeys(option for option, _ in filter(None, optima))]
        unseen = Decision(
            options=options,
            outcomes=[outcomes(one, offered, options) for one in samples.requirements],
            cheapest_usd=cheapest,
        )
        paid = unseen.mean_regrets + np.nanmean(cheapest)
        assert paid[0] <= 1.1 * paid.min()


@pytest.mark.thorough
def test_the_plans_at_both_ends_bracket_the_price() -> None:
    document = ranged("workload.stored=100..1500 GiB")
    decision = choice_of(document, "blue", samples_of(document, "blue", FEW)).decision
    ends = [environment_of(document.at([value])) for value in (100 * 2**30, 1500 * 2**30)]
    low, high = (plan_of(environment, environment.active).cost.usd_per_month for environment in ends)
    assert low - 1 <= min(row[decision.best].usd_per_month for row in decision.outcomes)
    assert max(row[decision.best].usd_per_month for row in decision.outcomes) <= high * 1.02
    assert requirements(ends[0], ends[0].active).workload.stored_bytes == 100 * 2**30
