"""`python -m tests.environments.range_laws`: tries the laws of plans for ranges on many random workloads.

Each workload has random inputs, and one to three of them are ranges. For each, the proposal of some samples is compared
with the plans of those samples, with those of as many other samples, and with the plans at both ends of every range.
The output says how often each law held, and how far off the worst case was. 200 workloads with 128 samples take 14
minutes of CPU time.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from warmbase.environments.planning import plan_of
from warmbase.environments.reader.assignment import Assignment
from warmbase.environments.reader.document import Document
from warmbase.environments.reader.ranges import RangedDocument
from warmbase.environments.reader.read import environment_of, read_ranges
from warmbase.environments.uncertainty.samples import Samples, Sampling, proposal_of, samples_of
from warmbase.ground.errors import Infeasible, InvalidInput
from warmbase.sizing.ranges.regret import ClusterOption, Decision, Outcome, Proposal

WIDEST: Final = 4.0  # judgement: many inputs are known only to a factor of four before a cluster runs
SAFE_SHARE: Final = 0.9  # of the samples; `warmbase plan` names the cluster that meets the targets in this share
NEAR: Final = 0.02  # 88 to 92 % of the samples count as 90 %
ALLOWED: Final = 0.05  # 90 % must mean 85 to 95 %


class Verdict(Struct, frozen=True, kw_only=True):
    """The verdict of one workload on each law; a figure is NaN if it cannot be computed.

    `own` and `unseen` are what the proposal costs, with the charges for misses, divided by the least that any plan of
    a sample costs, in its own samples and in others. `safe` is the share of the others in which the cluster that meets
    the targets in at least 90 % of its own samples meets them. `near` is that share for the compared cluster that meets
    them in the share of its own samples nearest to 90 %, if that is 88 to 92 %. `below` and `above` are the mean price
    of the proposal, divided by that of the cheapest and of the dearest plan for the ends of the ranges.
    """

    workload: tuple[str, ...]
    own: float
    unseen: float
    safe: float
    near: float
    below: float
    above: float


def workload(rng: random.Random) -> tuple[str, ...]:
    """Return the assignments of a random workload with one to three ranges."""
    ranged = rng.sample(("stored", "reads", "zipf"), rng.randint(1, 3))

    def between(name: str, least: float, most: float, unit: str = "") -> str:
        low = math.exp(rng.uniform(math.log(least), math.log(most)))
        high = min(low * rng.uniform(1.2, WIDEST), most * WIDEST)
        return f"{low:.0f}..{high:.0f}{unit}" if name in ranged else f"{low:.0f}{unit}"

    theta = rng.uniform(0.5, 1.0)
    zipf = f"{theta:.2f}..{theta + rng.uniform(0.1, 0.4):.2f}" if "zipf" in ranged else f"{theta:.2f}"
    row_kib = rng.choice((1, 2, 4, 10, 30))
    return (
        f"workload.stored={between('stored', 50, 10_000, ' GiB')}",
        f"workload.reads.per_second={between('reads', 50, 3_000)}",
        f"workload.popularity={{zipf: {zipf}}}",
        f"workload.row={row_kib} KiB",
        f"workload.block_size={rng.choice((16, 64, 128))} KiB",
        f"workload.regions={rng.choice((40, 120, 240))}",
        f"targets.hit_ratio={rng.choice((0.5, 0.8, 0.9, 0.97))}",
        f"targets.lost_nodes={rng.choice((0, 1))}",
    )


def verdict(number: int, count: int) -> Verdict | str:
    """Return the verdict of the workload of this number, or why it has none."""
    texts = workload(random.Random(number))
    document = read_ranges("dev", [Assignment.parse(text) for text in texts])
    try:
        samples = samples_of(document, "blue", Sampling(count=count))
        proposal = proposal_of(document, "blue", samples)
        others = samples_of(document, "blue", Sampling(count=count, seed=2))
    except InvalidInput:
        return "invalid together"
    except Infeasible:
        return "no cluster meets the targets"
    below, above = _of_the_ends(document, proposal)
    return Verdict(
        workload=texts,
        own=_paid(proposal, samples),
        unseen=_paid(proposal, others),
        safe=_safe(proposal.decision, others),
        near=_near(proposal.decision, others),
        below=below,
        above=above,
    )


def _paid(proposal: Proposal, samples: Samples) -> float:
    """Return what the proposal costs in these samples, divided by the least that a plan of one of them costs."""
    cheapest = np.array([math.nan if one.cheapest is None else one.cheapest[1] for one in samples.situations])
    plans = [one.cheapest[0] for one in samples.situations if one.cheapest]
    if not plans:
        return math.nan
    options = [proposal.decision.options[proposal.decision.best], *dict.fromkeys(plans)]
    decision = replace(proposal.decision, options=options, outcomes=_rows(samples, options), cheapest_usd=cheapest)
    paid = decision.mean_regrets + np.nanmean(cheapest)
    return float(paid[0] / paid.min())


def _rows(samples: Samples, options: Sequence[ClusterOption]) -> list[list[Outcome]]:
    return [[one.outcome(option) for option in options] for one in samples.situations]


def _safe(decision: Decision, others: Samples) -> float:
    safe = [number for number in range(len(decision.options)) if decision.missed[:, number].mean() <= 1 - SAFE_SHARE]
    if not safe:
        return math.nan
    return _met(decision.options[min(safe, key=lambda number: decision.mean_regrets[number])], others)


def _near(decision: Decision, others: Samples) -> float:
    shares = 1 - decision.missed.mean(axis=0)
    nearest = int(np.abs(shares - SAFE_SHARE).argmin())
    return _met(decision.options[nearest], others) if abs(shares[nearest] - SAFE_SHARE) <= NEAR else math.nan


def _met(option: ClusterOption, samples: Samples) -> float:
    """Return the share of the samples in which a cluster meets the targets."""
    return float(np.mean([not one.outcome(option).missed for one in samples.situations]))


def _of_the_ends(document: RangedDocument, proposal: Proposal) -> tuple[float, float]:
    """Return the proposal's mean price, divided by that of the cheapest and of the dearest plan for the ends."""
    best = proposal.decision.best
    price = float(np.mean([row[best].usd_per_month for row in proposal.decision.outcomes]))
    prices = [
        plan_of(environment, environment.active).cost.usd_per_month
        for environment in map(environment_of, _ends(document))
    ]
    return price / min(prices), price / max(prices)


def _ends(document: RangedDocument) -> Iterator[Document]:
    """Yield the document with each combination of the ends of its ranges."""
    for probabilities in product((0.0, 1.0), repeat=len(document.ranges)):
        ranges = zip(document.ranges.values(), probabilities, strict=True)
        yield document.at(input_range.value(probability) for input_range, probability in ranges)


def _lines(tried: Sequence[Verdict | str]) -> Iterator[str]:
    shown = [one for one in tried if isinstance(one, Verdict)]
    for why, count in Counter(one for one in tried if isinstance(one, str)).items():
        yield f"{count} workloads have no verdict: {why}"
    yield f"{'law':58}{'held':>12}{'worst':>9}"
    for name, law, worst in (
        ("own samples: no plan of a sample costs less", lambda one: one.own <= 1 + 1e-9, max(one.own for one in shown)),
        (
            "other samples: at most 1.02 times the best plan",
            lambda one: one.unseen <= 1.02,
            max(one.unseen for one in shown),
        ),
        ("not cheaper than the cheapest plan of the ends", lambda one: one.below >= 1, min(one.below for one in shown)),
        ("not dearer than the dearest plan of the ends", lambda one: one.above <= 1, max(one.above for one in shown)),
    ):
        yield f"{name:58}{f'{sum(map(law, shown))} of {len(shown)}':>12}{worst:>9.3f}"
    shares = [one.safe for one in shown if not math.isnan(one.safe)]
    yield (
        f"{len(shares)} clusters meet the targets in at least 90 % of their own samples. On average, they meet them in"
        f" {np.mean(shares):.1%} of the other samples (5th percentile: {np.quantile(shares, 0.05):.1%})"
    )
    near = [one.near for one in shown if not math.isnan(one.near)]
    held = sum(abs(share - SAFE_SHARE) <= ALLOWED for share in near)
    yield (
        f"{len(near)} clusters meet the targets in 88 to 92 % of their own samples. In the other samples, {held} of"
        f" these clusters meet the targets in 85 to 95 %"
        f" (all: {min(near):.1%} to {max(near):.1%}, mean {np.mean(near):.1%})"
    )


def main() -> None:
    """Try the laws on random workloads, and print how often each held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workloads", type=int, default=200)
    parser.add_argument("--samples", type=int, default=32)
    parser.add_argument(
        "--worst", type=int, default=0, help="print this many of the workloads that cost most in other samples"
    )
    options = parser.parse_args()
    with ProcessPoolExecutor() as pool:
        tried = list(pool.map(partial(verdict, count=options.samples), range(options.workloads)))
    shown = sorted((one for one in tried if isinstance(one, Verdict)), key=lambda one: -one.unseen)
    sys.stdout.write("\n".join([*_lines(tried), *map(str, shown[: options.worst])]) + "\n")


if __name__ == "__main__":
    main()
