"""Why each figure of a plan is what it is, by the figure's path."""

from __future__ import annotations

from msgspec.structs import replace

from sizing.candidate import Candidate
from sizing.evaluation import SearchResult
from sizing.explanation import Explanation, Explanations
from sizing.explanations.bad_hours import bad_hours_explanations
from sizing.explanations.cache import cache_explanations, hit_ratio_explanations
from sizing.explanations.choice import choice_explanations, role_explanations
from sizing.explanations.cold import cold_explanations
from sizing.explanations.hdfs import hdfs_explanations
from sizing.explanations.memory import memory_explanations
from sizing.explanations.quantities import SETTING
from sizing.explanations.regions import region_explanations
from sizing.explanations.restart import persistence_explanations, restart_explanations
from sizing.explanations.service import service_explanations
from sizing.explanations.snapshot import snapshot_explanations
from sizing.explanations.threads import thread_explanations
from sizing.explanations.volume import volume_explanations
from sizing.explanations.writes import write_explanations

__all__ = ["explanations"]


def explanations(candidate: Candidate, result: SearchResult, *, relaxed: bool = False) -> Explanations:
    """Return the explanations by path, such as `bucket_cache.size_mib`, in the order in which one reads a plan.

    `relaxed` is true where no cluster meets the targets, and the result meets the nearest ones instead.
    """
    choice = choice_explanations(candidate, result)
    if relaxed:
        choice = {
            path: replace(why, sentence=why.sentence.replace("your targets", "the nearest feasible targets"))
            for path, why in choice.items()
        }
    reasons = {
        **choice,
        **cache_explanations(candidate),
        **hit_ratio_explanations(candidate),
        **volume_explanations(candidate),
        **memory_explanations(candidate),
        **thread_explanations(candidate),
        **persistence_explanations(candidate),
        **service_explanations(candidate),
        **write_explanations(candidate),
        **cold_explanations(candidate),
        **bad_hours_explanations(candidate),
        **restart_explanations(candidate),
        **snapshot_explanations(candidate),
        **region_explanations(candidate),
        **hdfs_explanations(candidate),
        **role_explanations(candidate),
    }
    if not candidate.question.requirements.workload.tables:
        return reasons
    return {path: _of_tables(reason) for path, reason in reasons.items()}


def _of_tables(reason: Explanation) -> Explanation:
    """Return the explanation with the keys of the tables, because the values of the workload follow from them."""
    inputs = {
        name: replace(quantity, source=quantity.source.replace("workload.", "workload.tables.NAME."))
        if quantity.source.startswith(SETTING)
        else quantity
        for name, quantity in reason.inputs.items()
    }
    return replace(reason, inputs=inputs)
