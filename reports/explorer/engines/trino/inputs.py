"""The inputs of an analytics cluster; their keys are relative to the section of the cluster."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from reports.explorer.page_input import BUDGET, HIT_RATIO, LOST_NODES, SKEWS, PageInput
from sizing.units import GIB, KIB, MIB, SECONDS_PER_HOUR, TIB

# judgement: the ends of the sliders; the values of common clusters on EMR lie between them.
INPUTS: Final = (
    PageInput(
        key="workload.working_set",
        section="Data",
        title="Working set",
        kind="size",
        least=50 * GIB,
        most=100 * TIB,
        is_scaled=True,
    ),
    PageInput(
        key="workload.scanned",
        section="Data",
        title="Bytes scanned by a query",
        kind="size",
        least=GIB,
        most=2 * TIB,
        is_scaled=True,
    ),
    PageInput(key="workload.file", section="Data", title="Size of a file", kind="size", least=8 * MIB, most=4 * GIB),
    PageInput(
        key="workload.read",
        section="Data",
        title="Length of one read",
        kind="size",
        least=256 * KIB,
        most=128 * MIB,
    ),
    PageInput(
        key="workload.queries.per_hour",
        section="Load",
        title="Queries per hour",
        kind="count",
        least=1,
        most=5_000,
        is_scaled=True,
    ),
    PageInput(
        key="workload.queries.peak_per_hour",
        section="Load",
        title="Queries in the busiest hour",
        kind="count",
        least=1,
        most=5_000,
        optional=True,
        is_scaled=True,
    ),
    PageInput(
        key="workload.popularity",
        section="Load",
        title="Skew of the files (Zipf exponent)",
        kind="skew",
        least=0,
        most=1.5,
        stops=SKEWS,
    ),
    PageInput(
        key="workload.cpu_seconds_per_gib",
        section="Load",
        title="Core-seconds per GiB scanned",
        kind="ratio",
        least=1,
        most=100,
        is_scaled=True,
    ),
    HIT_RATIO.within("targets."),
    PageInput(
        key="targets.query_time",
        section="Targets",
        title="Maximum mean time of a query",
        kind="time",
        least=2,
        most=SECONDS_PER_HOUR,
        optional=True,
        stops=("15 s", "30 s", "2 min", "5 min"),
    ),
    replace(LOST_NODES, title="Workers that may be lost").within("targets."),
    BUDGET.within("targets."),
    PageInput(
        key="preferred_hosts",
        section="Cache",
        title="Workers that cache a file",
        kind="count",
        least=1,
        most=4,
        stops=("1", "2"),
    ),
)
