"""The decision about an environment whose inputs are ranges, as rows of a page and as a document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from msgspec import Struct

from warmbase.engines.engine import engine_of
from warmbase.environments.environment import Environment
from warmbase.environments.reader.ranges import InputRange, RangedDocument, with_unit
from warmbase.environments.reader.read import environment_of
from warmbase.environments.uncertainty.samples import Samples, Sampling, independent_inputs, proposal_of, samples_of
from warmbase.ground.units import (
    SIZE_UNITS,
    TIME_UNITS,
    format_duration,
    format_number,
    format_percent,
    format_size,
    format_usd,
)
from warmbase.reports.engine_facet import reports_of
from warmbase.reports.json_text import plain
from warmbase.reports.plan_text import purchase_text
from warmbase.sizing.ranges.growth import Target
from warmbase.sizing.ranges.regret import SAFER_SHARES, ClusterOption, Proposal

OTHER_FAMILIES: Final = 3
"""The most instance families that are compared with the proposed cluster's."""
ROUNDING: Final = 1e-9  # of a share of the samples
Row = tuple[str, str]


class EngineWords(Struct, frozen=True, kw_only=True):
    """The words for the clusters of one engine where inputs vary.

    `cluster` is the noun for a cluster with its article, `nodes` the noun for the nodes that have the caches, `section`
    the section of the file about these nodes, and `targets` the targets that a cluster can have. A page about growth
    says what `grows`, has a column of the data and the load with `load_heading`, the load in `load_unit`, and the note
    `more_nodes`. A tornado shows the `latency` that has a target, with the heading of its column, its key in JSON, and
    its text.
    """

    cluster: str
    nodes: str
    section: str
    targets: Sequence[Target]
    grows: str
    load_heading: str
    load_unit: str
    more_nodes: str
    latency: str
    latency_heading: str
    latency_key: str
    latency_text: Callable[[float], str]


class DecisionPage(Struct, frozen=True, kw_only=True):
    """A proposal, and everything that a page shows beside it: blocks of rows, each with a label and a text.

    A row without a label continues the one before it.
    """

    environment: Environment
    cluster: str
    ranges: tuple[InputRange, ...]
    samples: Samples
    proposal: Proposal
    sampling: Sampling

    @property
    def blocks(self) -> Iterator[Iterator[Row]]:
        """Yield what to buy, its risk, other clusters, and what to measure."""
        words = reports_of(engine_of(self.environment, self.cluster)).WORDS
        yield from (self._purchase(words), self._risk(), self._others(), self._advice(words))

    def document(self) -> dict[str, Any]:
        """Return the JSON document of the decision; money is in USD a month."""
        decision = self.proposal.decision
        options = sorted(range(len(decision.options)), key=lambda number: decision.mean_regrets[number])
        worst = self.samples.values[decision.worst]
        return {
            "environment": self.environment.name,
            "cluster": self.cluster,
            "samples": self.sampling.count,
            "seed": self.sampling.seed,
            "missed_factor": self.sampling.missed_factor,
            "ranges": [
                {
                    name: getattr(input_range, name)
                    for name in ("key", "low", "mid", "high", "unit", "confidence", "follows")
                }
                for input_range in self.ranges
            ],
            "options": [self._option(number) for number in options],
            "middle": None if self.proposal.middle is None else self._option(self.proposal.middle),
            "worst_sample": {one.key: value for one, value in zip(self.ranges, worst, strict=True)},
            "unserved_samples": decision.unserved,
            "worth_usd_per_month": self._worth(),
            "tried": self.proposal.tried,
        }

    def _option(self, number: int) -> dict[str, Any]:
        decision = self.proposal.decision
        option = decision.options[number]
        return {
            "instance_type": option.instance_type,
            "count": option.count,
            "volumes": plain(option.volumes),
            "mean_usd_per_month": self._mean_usd(number),
            "mean_regret_usd_per_month": float(decision.mean_regrets[number]),
            "worst_regret_usd_per_month": float(decision.regrets[:, number].max()),
            "missed_fraction": self._missed(number),
            "missed": self._targets(number),
        }

    def _purchase(self, words: EngineWords) -> Iterator[Row]:
        decision = self.proposal.decision
        bills = [row[decision.best].usd_per_month for row in decision.outcomes]
        yield "Ranges", "; ".join(map(range_text, self.ranges))
        best = decision.options[decision.best]
        yield "Buy", purchase_text(best.instance_type, best.count, best.volumes, words.nodes)
        mean, least, most = map(format_usd, (sum(bills) / len(bills), min(bills), max(bills)))
        if least == most:
            yield "", f"{mean} a month in every sample"
            return
        discounted = any(input_range.key == "discount" for input_range in self.ranges)
        why = "the discount varies" if discounted else "S3 charges for the data and the reads of a sample"
        yield "", f"{mean} a month on average; {least} to {most}, as {why}"

    def _risk(self) -> Iterator[Row]:
        decision, worst = self.proposal.decision, self.proposal.decision.worst
        mean, most = (
            format_usd(float(value))
            for value in (decision.mean_regrets[decision.best], decision.regrets[:, decision.best].max())
        )
        meaning = (
            "The regret in a sample is the bill less that of the cheapest cluster that meets the targets there, plus"
            f" {decision.missed_factor:g} times the price of the missing capacity if a target is missed"
        )
        yield "Regret", f"{mean} a month on average, the least of {self.proposal.tried} clusters. {meaning}"
        values = zip(self.ranges, self.samples.values[worst], strict=True)
        sample = ", ".join(f"{input_range.key} {value_text(input_range, value)}" for input_range, value in values)
        missed = decision.outcomes[worst][decision.best].missed
        why = f"this cluster misses {' and '.join(missed)}" if missed else "this cluster is larger than necessary"
        yield "Worst", f"a regret of {most} a month, with {sample}: {why}"
        targets = ", ".join(f"{target} in {count}" for target, count in self._targets(decision.best).items())
        yield "Misses", self._missed_share_text(decision.best) + (f" ({targets})" if targets else "")
        if decision.unserved:
            excluded = samples_text(decision.unserved)
            yield "Excluded", f"{excluded} in which no cluster meets the targets: they do not count towards the regret"

    def _others(self) -> Iterator[Row]:
        decision = self.proposal.decision
        # The options with the least mean regret among those that meet all targets in at least a share of the samples.
        safer: dict[int, float] = {}
        for share in SAFER_SHARES:
            safe = [number for number in range(len(decision.options)) if self._missed(number) <= 1 - share + ROUNDING]
            if safe and decision.best not in safe:
                safer[min(safe, key=lambda number: decision.mean_regrets[number])] = share
        for option, share in safer.items():
            yield f"Meets {format_percent(share)}", self._comparison(option)
        if self.proposal.middle is not None and self.proposal.middle != decision.best:
            yield "Middle", f"the plan for the middle of every range: {self._comparison(self.proposal.middle)}"
        families = sorted({option.family for option in decision.options} - {decision.options[decision.best].family})
        best = [number for family in families if (number := decision.best_of(family)) is not None]
        for place, number in enumerate(sorted(best, key=lambda number: decision.mean_regrets[number])[:OTHER_FAMILIES]):
            yield "" if place else "Families", f"{decision.options[number].family}: {self._comparison(number)}"

    def _advice(self, words: EngineWords) -> Iterator[Row]:
        worth = sorted(self._worth().items(), key=lambda item: -item[1])
        gains = [f"knowing {key} before you buy is worth {format_usd(usd)} a month" for key, usd in worth if usd >= 1]
        advice = "; ".join(f"{gain} (estimate)" for gain in gains)
        yield "Measure", advice or "no single input is worth measuring before you buy"
        option = self.proposal.decision.options[self.proposal.decision.best]
        yield "Pin", f"clusters: {{{self.cluster}: {{{words.section}: {pin_text(option)}}}}}"

    def _missed_share_text(self, number: int) -> str:
        share = self._missed(number)
        return f"a target in {format_percent(share)} of the samples" if share else "no target in any sample"

    def _comparison(self, number: int) -> str:
        decision = self.proposal.decision
        option = decision.options[number]
        more = float(decision.mean_regrets[number] - decision.mean_regrets[decision.best])
        return (
            f"{option.count} x {option.instance_type} for {format_usd(self._mean_usd(number))} a month, with"
            f" {format_usd(more)} a month more regret; misses {self._missed_share_text(number)}"
        )

    def _mean_usd(self, number: int) -> float:
        outcomes = self.proposal.decision.outcomes
        return sum(row[number].usd_per_month for row in outcomes) / len(outcomes)

    def _missed(self, number: int) -> float:
        return float(self.proposal.decision.missed[:, number].mean())

    def _targets(self, number: int) -> dict[str, int]:
        """Return the number of samples in which an option misses each target, the most frequent target first."""
        counts = Counter(target for row in self.proposal.decision.outcomes for target in row[number].missed)
        return dict(counts.most_common())

    def _worth(self) -> dict[str, float]:
        """Return what it is worth to know each input."""
        return self.proposal.decision.worth(independent_inputs(self.ranges, self.samples), self.sampling.seed)


def decision_page(ranged: RangedDocument, cluster: str, sampling: Sampling) -> DecisionPage:
    """Return the cluster with the least mean regret. Raises Infeasible where none meets the targets in any sample."""
    samples = samples_of(ranged, cluster, sampling)
    return DecisionPage(
        environment=environment_of(ranged.middle),
        cluster=cluster,
        ranges=tuple(ranged.ranges.values()),
        samples=samples,
        proposal=proposal_of(ranged, cluster, samples, sampling.missed_factor),
        sampling=sampling,
    )


def value_text(input_range: InputRange, value: float) -> str:
    """Return a value of a range as the page shows it."""
    if input_range.unit in SIZE_UNITS:
        return format_size(value)
    if input_range.unit in TIME_UNITS:
        return format_duration(value)
    return with_unit(format_number(float(f"{value:.3g}")), input_range.unit)


def range_text(input_range: InputRange) -> str:
    """Return a range as the page shows it."""
    low, high = value_text(input_range, input_range.low), value_text(input_range, input_range.high)
    mid = "" if input_range.mid is None else f", most likely {value_text(input_range, input_range.mid)}"
    confidence = (
        "" if input_range.confidence == 1 else f" (with a confidence of {format_percent(input_range.confidence)})"
    )
    follows = "" if input_range.follows is None else f", following {input_range.follows}"
    return f"{input_range.key} {low} to {high}{mid}{confidence}{follows}"


def samples_text(count: int) -> str:
    """Return a number of samples with its noun."""
    return f"{count} sample{'s' * (count > 1)}"


def pin_text(option: ClusterOption) -> str:
    """Return an option as an environment file pins it, which has no volumes where there is no cache."""
    nodes = f"type: {option.instance_type}, count: {option.count}"
    if not any(volume.purpose == "cache" for volume in option.volumes):
        return f"{{{nodes}}}"
    volumes = []
    for volume in option.volumes:
        text = f"purpose: {volume.purpose}, type: {volume.type}, count: {volume.count}, size: {volume.size_gib} GiB"
        # A file does not state the speed of the instance's own drive.
        rates = f", iops: {volume.iops}, throughput: {volume.throughput_mib_s} MiB/s" if volume.type != "nvme" else ""
        volumes.append(f"{{{text}{rates}}}")
    return f"{{{nodes}, volumes: [{', '.join(volumes)}]}}"
