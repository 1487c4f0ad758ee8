"""Laws of the bill, through `warmbase plan --output json`: asking for less never costs more, for more never less."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from tests.tiers import quick_where
from warmbase.cli.commands import warmbase
from warmbase.ground.errors import Infeasible

WORKLOADS = int(os.environ.get("SEARCHES", "20"))
"""`SEARCHES=500 pytest tests/sizing/test_search_laws.py` tries 25 times as many."""
SLACK = 1.002  # a step of cache sizes and volume speeds; 2 of 300 workloads need more than 1.00001

PEAK_EVERY = 3
"""Every third workload has a peak hour."""

Document = dict[str, Any]


def environment(seed: int) -> Document:
    """Return a random environment file: data, popularity, load, targets and families."""
    rng = random.Random(seed)
    stored_gib = round(10 ** rng.uniform(1.5, 4.6))
    targets: Document = {"hit_ratio": round(rng.uniform(0.4, 0.99), 3), "lost_nodes": rng.choice([0, 1, 1, 2])}
    if rng.random() < 0.5:
        targets["p99"] = f"{rng.choice([8, 20, 60, 250, 1000])} ms"
    if rng.random() < 0.3:
        targets["warm_up"] = f"{rng.choice([1, 3, 12])} h"
    if rng.random() < 0.3:
        targets["budget_usd_per_month"] = rng.choice([2_000, 6_000, 20_000])
    families = rng.sample(["r8g", "r8gd", "i8g", "m8g", "i4i", "r7g"], rng.choice([2, 3, 4]))
    document: Document = {
        "name": "law",
        "region": "us-east-1",
        "release": "emr-7.12.0",
        "network": {"availability_zone": "us-east-1a"},
        "workload": {
            "stored": f"{stored_gib} GiB",
            "block_size": rng.choice(["16 KiB", "64 KiB"]),
            "cell": "1 KiB",
            "row": rng.choice(["1 KiB", "10 KiB", "200 KiB"]),
            "reads": {"per_second": round(10 ** rng.uniform(1, 4.3))},
            "popularity": rng.choice([{"zipf": 0.99}, {"zipf": 0.8}, "uniform"]),
            "regions": max(8, stored_gib // 25),
        },
        "targets": targets,
        "clusters": {"blue": {"role": "active", "primaries": 3, "core": {"families": families}}},
    }
    if seed % PEAK_EVERY == 0:
        reads = document["workload"]["reads"]
        reads["peak_per_second"] = rng.uniform(1.1, 3.0) * reads["per_second"]
    if rng.random() < 0.4:
        document["workload"]["writes"] = {"bytes_per_second": f"{round(10 ** rng.uniform(1, 5))} KiB"}
    if rng.random() < 0.2:
        targets["offline_after_crash"] = f"{rng.choice([5, 10, 20])} min"
    if rng.random() < 0.2:
        targets["carries_load_within"] = f"{rng.choice([1, 4, 12])} h"
    return document


def usd_per_month(document: Document, folder: Path) -> float | None:
    """Return the bill of the plan; None where no cluster meets the targets."""
    file = folder / "law.yaml"
    file.write_text(yaml.safe_dump(document))
    result = CliRunner().invoke(warmbase, ["plan", str(file), "--no-advice", "--output", "json"])
    assert result.exit_code == 0 or isinstance(result.exception, Infeasible), result.output
    plan = json.loads(result.stdout)
    return float(plan["cost"]["usd_per_month"]) if plan["meets_targets"] else None


def lower_hit_ratio(document: Document) -> None:
    document["targets"]["hit_ratio"] *= 0.8


def no_p99(document: Document) -> None:
    document["targets"].pop("p99", None)


def no_warm_up(document: Document) -> None:
    document["targets"].pop("warm_up", None)


def no_budget(document: Document) -> None:
    document["targets"].pop("budget_usd_per_month", None)


def fewer_lost_nodes(document: Document) -> None:
    document["targets"]["lost_nodes"] = max(0, document["targets"]["lost_nodes"] - 1)


def another_family(document: Document) -> None:
    document["clusters"]["blue"]["core"]["families"].append("c8g")


def less_data(document: Document) -> None:
    document["workload"]["stored"] = f"{0.7 * float(document['workload']['stored'].split()[0]):.0f} GiB"


def fewer_reads(document: Document) -> None:
    document["workload"]["reads"]["per_second"] = round(0.7 * document["workload"]["reads"]["per_second"])


def no_peak(document: Document) -> None:
    document["workload"]["reads"].pop("peak_per_second", None)


def lower_peak(document: Document) -> None:
    reads = document["workload"]["reads"]
    if "peak_per_second" in reads:
        reads["peak_per_second"] = (reads["peak_per_second"] + reads["per_second"]) / 2


def fewer_writes(document: Document) -> None:
    writes = document["workload"].get("writes")
    if writes:
        writes["bytes_per_second"] = f"{0.7 * float(writes['bytes_per_second'].split()[0]):.1f} KiB"


def no_limit_to_bad_hours(document: Document) -> None:
    document["targets"].pop("offline_after_crash", None)
    document["targets"].pop("carries_load_within", None)


RELAXATIONS: tuple[Callable[[Document], None], ...] = (
    lower_hit_ratio,
    no_p99,
    no_warm_up,
    no_budget,
    fewer_lost_nodes,
    another_family,
    less_data,
    fewer_reads,
    no_peak,
    lower_peak,
    fewer_writes,
    no_limit_to_bad_hours,
)


@pytest.mark.parametrize("seed", quick_where(lambda seed: seed == 5, range(WORKLOADS)))
def test_asking_for_less_never_costs_more(seed: int, tmp_path: Path) -> None:
    """The laws also hold the other way round: a stricter target never makes a plan cheaper."""
    asked = usd_per_month(environment(seed), tmp_path)
    if asked is None:
        return
    bills = {}
    for relax in RELAXATIONS:
        document = environment(seed)
        relax(document)
        bills[relax.__name__] = usd_per_month(document, tmp_path)
    dearer = {name: usd for name, usd in bills.items() if usd is None or usd > SLACK * asked}
    assert not dearer, (asked, dearer)
