"""Why a snapshot of everything takes as long as it does to leave the cluster, and to come back."""

from __future__ import annotations

from sizing import snapshot
from sizing.candidate import Candidate
from sizing.explanation import Explanation, explain
from sizing.explanations.quantities import constant, fact, figure, setting
from sizing.snapshot import Copy, export_copy, import_copy

__all__ = ["snapshot_explanations"]


def snapshot_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Explain the times of both copies."""
    return {
        "snapshot.export_seconds": _copy(export_copy(candidate), candidate, "Copying {stored} to another bucket"),
        "snapshot.restore_seconds": _copy(import_copy(candidate), candidate, "Copying {stored} into the cluster"),
    }


def _copy(copy: Copy, candidate: Candidate, what: str) -> Explanation:
    mode, instance = candidate.question.mode, candidate.instance
    requirements = candidate.question.requirements
    mappers = (
        figure(copy.mappers, "mappers", "snapshot.mappers")
        if requirements.snapshot_mappers is None
        else setting(copy.mappers, "mappers", "snapshots.mappers")
    )
    return explain(
        "stored / min(nodes * network * share / copies, mappers * stream)",
        f"{what} is limited by {{mappers}} of {{stream}} each, or by {{share}} of the network of {{nodes}}, which have "
        "{network} each.",
        "an estimate for ExportSnapshot; the rate of a mapper and the share of the network are judgements",
        stored=setting(copy.copied_bytes, "B", "workload.stored"),
        nodes=figure(copy.servers, "nodes", "core.count"),
        network=fact(copy.network_bytes_per_second, "B/s", f"instance type {instance.name}"),
        share=constant(snapshot, "NETWORK_FRACTION", "fraction"),
        copies=fact(copy.replicas, "", f"mode {mode}"),
        mappers=mappers,
        stream=constant(snapshot, "STREAM_BYTES_PER_SECOND", "B/s"),
    )
