"""The decision that `warmbase plan` prints for an environment whose inputs are ranges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import click

from cli.options import chosen_cluster
from cli.plan_summary import Row, labelled_lines
from cli.terminal import echo, echo_styled, page_columns
from environments.environment import Environment
from environments.input_range import InputRange
from environments.reader.ranges import RangedDocument
from environments.reader.read import environment_of
from environments.samples import Samples, Sampling, choice_of, samples_of
from reports.json_text import json_text, plain
from sizing.cluster import Volume
from sizing.deciding import Choice
from sizing.regret import ClusterOption
from sizing.units import SIZE_UNITS, TIME_UNITS, format_duration, format_number, format_percent, format_size, format_usd

SAFER: Final = (0.75, 0.9)
"""The shares of the samples in which a safer cluster meets its targets."""
OTHERS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRequest:
    """The options of `warmbase plan` that matter to a decision."""

    environment: str
    cluster: str | None
    output: str
    sampling: Sampling


def show_decision(ranged: RangedDocument, request: DecisionRequest) -> None:
    """Print the cluster of least mean regret. Raises Infeasible where no cluster serves in any sample."""
    if request.output == "markdown":
        raise click.UsageError("A decision between ranges is printed as a table or as JSON.")
    environment = environment_of(ranged.middle)
    cluster = chosen_cluster(environment, request.cluster).name
    count = len(ranged.ranges)
    echo(f"planning {request.sampling.count} samples of {count} range{'s' * (count > 1)}", err=True)
    samples = samples_of(ranged, cluster, request.sampling)
    page = DecisionPage(
        environment=environment,
        cluster=cluster,
        ranges=tuple(ranged.ranges.values()),
        samples=samples,
        choice=choice_of(ranged, cluster, samples, request.sampling.missed_factor),
        sampling=request.sampling,
    )
    if request.output == "json":
        echo(json_text(page.document()))
    else:
        echo_styled(page.text(page_columns()))


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionPage:
    """A decision with all that its page says."""

    environment: Environment
    cluster: str
    ranges: tuple[InputRange, ...]
    samples: Samples
    choice: Choice
    sampling: Sampling

    def text(self, width: int) -> str:
        """Return the page for a terminal of that width."""
        head = f"{self.environment.name} / {self.cluster}"
        samples = f"{self.sampling.count} samples of the ranges, seed {self.sampling.seed}"
        blocks = (self._purchase(), self._risk(), self._others(), self._following())
        pages = ("\n".join(labelled_lines(rows, width)) for rows in blocks)
        return "\n\n".join([f"{click.style(head, bold=True)}   {samples}", *filter(None, pages)])

    def document(self) -> dict[str, Any]:
        """Return the decision as JSON has it; money is in USD a month."""
        decision = self.choice.decision
        options = sorted(range(len(decision.options)), key=lambda number: decision.mean_regrets[number])
        return {
            "environment": self.environment.name,
            "cluster": self.cluster,
            "samples": self.sampling.count,
            "seed": self.sampling.seed,
            "missed_factor": self.sampling.missed_factor,
            "ranges": [
                {"key": one.key, **{name: getattr(one, name) for name in ("low", "mid", "high", "unit", "confidence")}}
                for one in self.ranges
            ],
            "options": [self._option(number) for number in options],
            "middle": None if self.choice.middle is None else self._option(self.choice.middle),
            "worst_sample": self._values(decision.worst),
            "unserved_samples": decision.unserved,
            "worth_usd_per_month": self._worth(),
            "tried": self.choice.tried,
        }

    def _option(self, number: int) -> dict[str, Any]:
        decision = self.choice.decision
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

    def _purchase(self) -> Iterator[Row]:
        decision = self.choice.decision
        bills = [row[decision.best].usd_per_month for row in decision.outcomes]
        yield "Ranges", "; ".join(map(range_text, self.ranges))
        yield "Buy", option_text(decision.options[decision.best])
        mean, least, most = map(format_usd, (sum(bills) / len(bills), min(bills), max(bills)))
        yield "", f"{mean} a month on average; {least} to {most}, as S3 charges for the data and reads of a sample"

    def _risk(self) -> Iterator[Row]:
        decision, worst = self.choice.decision, self.choice.decision.worst
        mean, most = (
            format_usd(float(value))
            for value in (decision.mean_regrets[decision.best], decision.regrets[:, decision.best].max())
        )
        meaning = (
            "what it costs more than the cheapest cluster that meets the targets in a sample, and where it misses a"
            f" target, {decision.missed_factor:g} times the money that would have met it"
        )
        yield "Regret", f"{mean} a month on average: {meaning}. Of {self.choice.tried} clusters, this is the least"
        yield "Worst", f"{most} a month, with {self._sample_text(worst)}{self._missed_text(worst)}"
        yield "Misses", self._misses(decision.best)
        if decision.unserved:
            yield "Unserved", f"no cluster meets the targets in {decision.unserved} samples, which are left out"

    def _others(self) -> Iterator[Row]:
        decision = self.choice.decision
        safer = {number: share for share in SAFER if (number := self._safer(share)) is not None}
        for number, share in safer.items():
            yield f"Meets {share:.0%}", self._compared(number)
        if self.choice.middle is not None and self.choice.middle != decision.best:
            yield "Middles", f"the plan for the middle of every range: {self._compared(self.choice.middle)}"
        families = sorted({option.family for option in decision.options} - {decision.options[decision.best].family})
        best = [number for family in families if (number := decision.best_of(family)) is not None]
        for place, number in enumerate(sorted(best, key=lambda number: decision.mean_regrets[number])[:OTHERS]):
            yield "" if place else "Families", f"{decision.options[number].family}: {self._compared(number)}"

    def _safer(self, share: float) -> int | None:
        """Return the option of least regret that serves this share of the samples; None if the choice does."""
        decision = self.choice.decision
        if self._missed(decision.best) <= 1 - share:
            return None
        safer = [number for number in range(len(decision.options)) if self._missed(number) <= 1 - share]
        return min(safer, key=lambda number: decision.mean_regrets[number], default=None)

    def _following(self) -> Iterator[Row]:
        worth = sorted(self._worth().items(), key=lambda item: -item[1])
        words = [f"{key} is worth {format_usd(usd)} a month" for key, usd in worth if usd >= 1]
        yield (
            "Measure",
            f"to know {', '.join(words)} (estimates)" if words else "no single input would change the choice",
        )
        option = self.choice.decision.options[self.choice.decision.best]
        yield "Pin", f"clusters: {{{self.cluster}: {{core: {pin_text(option)}}}}}"

    def _misses(self, number: int) -> str:
        share = self._missed(number)
        if not share:
            return "no target in any sample"
        targets = ", ".join(f"{target} in {count}" for target, count in self._targets(number).items())
        return f"a target in {format_percent(share)} of the samples ({targets})"

    def _compared(self, number: int) -> str:
        decision = self.choice.decision
        option = decision.options[number]
        more = float(decision.mean_regrets[number] - decision.mean_regrets[decision.best])
        return (
            f"{option.count} x {option.instance_type}, {format_usd(self._mean_usd(number))} a month, misses a target in"
            f" {format_percent(self._missed(number))}; {format_usd(more)} more regret"
        )

    def _mean_usd(self, number: int) -> float:
        outcomes = self.choice.decision.outcomes
        return sum(row[number].usd_per_month for row in outcomes) / len(outcomes)

    def _missed(self, number: int) -> float:
        return float(self.choice.decision.missed[:, number].mean())

    def _targets(self, number: int) -> dict[str, int]:
        """Return in how many samples each target is missed, the most frequent first."""
        counts = Counter(target for row in self.choice.decision.outcomes for target in row[number].missed)
        return dict(counts.most_common())

    def _missed_text(self, sample: int) -> str:
        missed = self.choice.decision.outcomes[sample][self.choice.decision.best].missed
        return f": it misses {' and '.join(missed)}" if missed else ": it is larger than necessary"

    def _values(self, sample: int) -> dict[str, float]:
        values = self.samples.values[sample]
        return {one.key: value for one, value in zip(self.ranges, values, strict=True)}

    def _sample_text(self, sample: int) -> str:
        values = self.samples.values[sample]
        return ", ".join(f"{one.key} {value_text(one, value)}" for one, value in zip(self.ranges, values, strict=True))

    def _worth(self) -> dict[str, float]:
        values = {one.key: [row[place] for row in self.samples.values] for place, one in enumerate(self.ranges)}
        return self.choice.decision.worth(values, self.sampling.seed)


def value_text(one: InputRange, value: float) -> str:
    """Return a value of a range as a page shows it."""
    if one.unit in SIZE_UNITS:
        return format_size(value)
    if one.unit in TIME_UNITS:
        return format_duration(value)
    return f"{format_number(float(f'{value:.3g}'))} {one.unit}".rstrip()


def range_text(one: InputRange) -> str:
    """Return a range as a page shows it."""
    ends = f"{one.key} {value_text(one, one.low)} to {value_text(one, one.high)}"
    mid = "" if one.mid is None else f", most likely {value_text(one, one.mid)}"
    return ends + mid + ("" if one.confidence == 1 else f" ({format_percent(one.confidence)})")


def option_text(option: ClusterOption) -> str:
    """Return the nodes of an option with the volumes of each."""
    volumes = [
        f"{f'{volume.count} x ' if volume.count > 1 else ''}{volume.size_gib:,} GiB {volume.type}"
        f" ({volume.throughput_mib_s:,} MiB/s) for the {volume.purpose}"
        for volume in option.volumes
        if volume.purpose != "system"
    ]
    nodes = f"{option.count} x {option.instance_type} core nodes"
    return ", each with ".join([nodes, *[" and ".join(volumes)] * bool(volumes)])


def nodes_text(option: ClusterOption) -> str:
    """Return the nodes of an option with the size of the volumes that they read from."""
    volumes = [
        f"{f'{volume.count} x ' if volume.count > 1 else ''}{volume.size_gib:,} GiB {volume.type}"
        for volume in option.volumes
        if volume.purpose != "system"
    ]
    return ", ".join([f"{option.count} x {option.instance_type}", *volumes])


def pin_text(option: ClusterOption) -> str:
    """Return an option as an environment file pins it."""
    volumes = ", ".join(map(_volume_text, option.volumes))
    return f"{{type: {option.instance_type}, count: {option.count}, volumes: [{volumes}]}}"


def _volume_text(volume: Volume) -> str:
    return (
        f"{{purpose: {volume.purpose}, type: {volume.type}, count: {volume.count}, size: {volume.size_gib} GiB, iops:"
        f" {volume.iops}, throughput: {volume.throughput_mib_s} MiB/s}}"
    )
