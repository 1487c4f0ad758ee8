"""Why regions split where they do."""

from __future__ import annotations

from sizing import region_size
from sizing.candidate import Candidate
from sizing.explanation import Explanation, explain
from sizing.explanations.quantities import GIBIBYTE, constant, pinned, setting


def region_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Explain the size of a region, and the limit at which it splits."""
    requirements = candidate.question.requirements
    largest = max(requirements.workload.parts, key=lambda part: part.stored_bytes / part.regions)
    stored = setting(largest.stored_bytes, "B", "workload.stored")
    count = setting(largest.regions, "regions", "workload.regions")
    of_table = f" of {largest.name}, the table with the largest regions" if largest.name else ""
    keeps_blocks = candidate.question.world.release.keeps_blocks_on_split
    why = "" if keeps_blocks else "A split drops cached blocks, so a region splits only after it has grown."
    return {
        "regions.mean_bytes": explain(
            "ceil(stored / regions)",
            f"The mean size of {{regions}} that hold {{stored}}{of_table}.",
            "the environment file, or an inspection",
            stored=stored,
            regions=count,
        ),
        "regions.split_bytes": pinned(requirements.pins, "split_bytes")
        or explain(
            "max(default, up_to(growth * ceil(stored / regions), gibibyte))",
            "A region splits when it reaches {growth} times the mean size of {regions} that hold {stored}, and never"
            f" below HBase's default of {{default}}. {why}",
            "HBase 2.6.2 SteppingSplitPolicy; each region draws its own limit, up to an eighth above or below this one",
            default=constant(region_size, "DEFAULT_SPLIT_BYTES", "B"),
            growth=constant(region_size, "SPLIT_GROWTH"),
            stored=stored,
            regions=count,
            gibibyte=GIBIBYTE,
        ),
    }
