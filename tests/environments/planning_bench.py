"""`python -m tests.environments.planning_bench`: the CPU time of a plan for ranges, and that of another planner.

The other planner is Netflix's service-capacity-modeling, which also draws samples of the ranges and buys what has the
least regret. It plans a Cassandra cluster, the closest of its models, for about the same data, reads and size of rows,
and draws as many samples. Both run in turn, each as a process of its own. The kernel counts their CPU time and memory,
including those of their child processes. The first run installs the other planner from the package index.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

from msgspec import Struct

from warmbase.ground.units import KIB, MIB

VERSION: Final = "0.3.212"
PROJECT: Final = Path(__file__).parents[2]
THEIR_ENVIRONMENT: Final = PROJECT / ".cache" / f"service-capacity-modeling-{VERSION}"
OURS: Final = (
    *(str(Path(sys.executable).with_name("warmbase")), "plan", "dev"),
    *("--set", "workload.stored=100..1500 GiB"),
    *("--set", "workload.reads.per_second=100..2000"),
    *("--set", "workload.popularity={zipf: 0.6..1.1}"),
)
THEIRS: Final = """
import sys
from service_capacity_modeling.capacity_planner import planner
from service_capacity_modeling.interface import CapacityDesires, DataShape, Interval, QueryPattern

def interval(low, mid, high):
    return Interval(low=low, mid=mid, high=high, confidence=0.98)

plan = planner.plan(
    model_name="org.netflix.cassandra",
    region="us-east-1",
    desires=CapacityDesires(
        service_tier=1,
        query_pattern=QueryPattern(
            estimated_read_per_second=interval(100, 450, 2000),
            estimated_write_per_second=interval(10, 45, 200),
            estimated_mean_read_size_bytes=interval(1024, 4096, 16384),
        ),
        data_shape=DataShape(estimated_state_size_gib=interval(100, 800, 1500)),
    ),
    simulations=int(sys.argv[1]),
)
print(plan.least_regret[0].candidate_clusters.total_annual_cost)
"""


class Usage(Struct, frozen=True, kw_only=True):
    """The CPU time of one process with those that it started, and the peak memory of the largest of them."""

    cpu_seconds: float
    memory_bytes: int


def measured(arguments: Sequence[str]) -> Usage:
    """Run a command in a process that waits for it, and return what the kernel counted. Raises CalledProcessError."""
    counted = (
        "import resource, subprocess, sys\n"
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss)"
    )
    ran = subprocess.run(
        (sys.executable, "-c", counted, *arguments),
        check=True,
        capture_output=True,
        text=True,
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
    )
    seconds, kibibytes = ran.stdout.split()
    return Usage(cpu_seconds=float(seconds), memory_bytes=int(kibibytes) * KIB)


def install() -> Path:
    """Return the Python of an environment with the other planner, which is installed at the first run."""
    python = THEIR_ENVIRONMENT / "bin" / "python"
    if not python.exists():
        sys.stderr.write(f"installing service-capacity-modeling {VERSION} in {THEIR_ENVIRONMENT}\n")
        venv.create(THEIR_ENVIRONMENT, with_pip=True)
        packages = f"service-capacity-modeling=={VERSION}"
        subprocess.run((python, "-m", "pip", "install", "--quiet", packages), check=True, stdout=subprocess.DEVNULL)
    return python


def main() -> None:
    """Print the CPU time and the memory of both, and the ratio of the CPU times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    theirs = (str(install()), "-c", THEIRS, str(options.samples))
    ours = (*OURS, "--samples", str(options.samples))
    rounds = [(measured(ours), measured(theirs)) for _ in range(options.rounds)]
    lines = [
        f"{options.samples} samples, median of {options.rounds} rounds",
        "",
        f"{'':34}{'CPU seconds':>12}{'MiB':>8}",
    ]
    for name, usages in zip(
        ("warmbase", f"service-capacity-modeling {VERSION}"), zip(*rounds, strict=True), strict=True
    ):
        seconds = median(usage.cpu_seconds for usage in usages)
        lines.append(f"{name:34}{seconds:>12.1f}{max(usage.memory_bytes for usage in usages) / MIB:>8.0f}")
    ratio = median(theirs.cpu_seconds / ours.cpu_seconds for ours, theirs in rounds)
    sys.stdout.write("\n".join([*lines, "", f"warmbase needs 1/{ratio:.1f} of the CPU time", ""]))


if __name__ == "__main__":
    main()
