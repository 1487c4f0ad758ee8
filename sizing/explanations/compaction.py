"""The reasons for the settings of compactions: their threads, their limits, and the files that they merge."""

from __future__ import annotations

from sizing import compaction, inputs
from sizing.candidate import Candidate
from sizing.compaction import day_limit, has_night
from sizing.explanation import Explanation, Quantity, explain
from sizing.explanations.quantities import MEBIBYTE, WHOLE, computed, constant, figure, setting
from sizing.system_volume import write_share

__all__ = ["LEAST", "SELECTION", "cells", "compaction_explanations"]

SELECTION = "HBase 2.6.2 ExploringCompactionPolicy, simulated"
LEAST = "HBase's default if that is enough"


def compaction_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Explain the threads, the limits and the choice of files of compactions, each by its setting."""
    of_rate = {**_threads(candidate), **_limits(candidate)}
    return of_rate | _merges(candidate) | ({} if cells(candidate)["cells"].value else _without_writes())


def cells(candidate: Candidate) -> dict[str, Quantity]:
    """Return the cells that one surviving server takes, and the heap of each."""
    share = write_share(candidate.question, candidate.survivors)
    return {
        "cells": computed(share.cells_per_second, "cells/s", "sizing.cells.WriteShare.cells_per_second"),
        "heap": computed(share.cells.heap_bytes, "B", "sizing.cells.CellSizes.heap_bytes"),
    }


def _threads(candidate: Candidate) -> dict[str, Explanation]:
    server = candidate.writing_server
    return {
        "small_compactions": explain(
            "max(fewest, min(max(fewest, per_core * cores), ceil(cells / utilisation * (amplification - whole) *"
            " seconds))) - whole",
            "A thread compacts a cell in {seconds}. The server receives {cells}, and each cell is written"
            " {amplification}, the first time by its flush. One more thread runs large compactions, and small ones when"
            " it is free.",
            LEAST,
            fewest=constant(compaction, "FEWEST_COMPACTIONS"),
            per_core=constant(compaction, "MOST_COMPACTIONS_PER_VCPU"),
            cores=setting(candidate.instance.vcpus, "vCPUs", f"instance type {candidate.instance.name}"),
            seconds=computed(
                server.files.compaction_seconds(server.cells), "s", "sizing.file_writing.FileWriting.compaction_seconds"
            ),
            **_rewriting(candidate),
        ),
        "large_compactions": explain(
            "threads",
            "{threads} thread runs the compactions that exceed HBase's default threshold for large ones.",
            LEAST,
            threads=constant(compaction, "LARGE_COMPACTIONS"),
        ),
    }


def _limits(candidate: Candidate) -> dict[str, Explanation]:
    server = candidate.writing_server
    return {
        "compaction_lower_bytes": explain(
            "max(default, up_to(cells / utilisation * (amplification - whole) * key_value, mebibyte))",
            "HBase limits compactions to this rate while stores have few files. The rate is HBase's default of"
            " {default} a second, or more if the writes would use more than {utilisation} of that.",
            LEAST,
            default=constant(compaction, "LOWER_BOUND_BYTES", "B"),
            key_value=computed(server.cells.key_value_bytes, "B", "sizing.workload.Workload.key_value_bytes"),
            mebibyte=MEBIBYTE,
            **_rewriting(candidate),
        ),
        "compaction_higher_bytes": explain(
            "factor * lower",
            "As stores get more files, the limit rises to this rate, which is {factor} times the lower one, as in"
            " HBase's defaults.",
            LEAST,
            factor=constant(compaction, "HIGHER_BOUND_FACTOR"),
            lower=figure(server.settings.compaction_lower_bytes, "B", "writes.settings.compaction_lower_bytes"),
        ),
        "night_bytes": explain(
            "lower",
            "By default, HBase does not limit compactions in the off-peak hours. The plan limits them to the lower"
            " rate of the day.",
            "the cache volume also serves reads at night",
            lower=figure(server.settings.compaction_lower_bytes, "B", "writes.settings.compaction_lower_bytes"),
        ),
    }


def _merges(candidate: Candidate) -> dict[str, Explanation]:
    server = candidate.writing_server
    return {
        "day_limit_bytes": _day_limit(candidate),
        "min_size_bytes": explain(
            "min(default, up_to(cells * stored, mebibyte))",
            "HBase merges files that together are smaller than this, whatever their ratio. This is the store file of"
            " one flush ({cells} of {stored}), but at most HBase's default of {default}, with which smaller flushes are"
            " written more often.",
            SELECTION,
            default=constant(compaction, "MOST_MIN_SIZE_BYTES", "B"),
            cells=computed(server.flush_cells, "cells", "sizing.writing_server.WritingServer.flush_cells"),
            stored=computed(server.cells.stored_bytes, "B", "sizing.cells.CellSizes.of"),
            mebibyte=MEBIBYTE,
        ),
        "blocking_store_files": explain(
            "files",
            "HBase does not flush a store with more than {files} until a compaction has merged some. A store whose"
            " compactions keep up has fewer.",
            f"HBase's default; EMR documents 10. {SELECTION}",
            files=constant(compaction, "BLOCKING_STORE_FILES", "store files"),
        ),
    }


def _rewriting(candidate: Candidate) -> dict[str, Quantity]:
    """Return the rate of the cells that compactions rewrite, and how often each cell is written."""
    return {
        "cells": cells(candidate)["cells"],
        "utilisation": constant(inputs, "UTILISATION", "fraction"),
        "amplification": figure(
            candidate.writing_server.settings.amplification, "times", "writes.settings.amplification"
        ),
        "whole": WHOLE,
    }


def _day_limit(candidate: Candidate) -> Explanation:
    share, files = write_share(candidate.question, candidate.survivors), candidate.writing_server.files
    limit_bytes = day_limit(share, files)
    why = (
        "By day, a compaction reads at most {limit}: a quarter of what a region receives in a day, and at least"
        " {least}, so that a store has few files when the night begins."
        if has_night(share, files)
        else "By day, a compaction reads up to {limit}, enough to merge all files of a region. No compaction waits for"
        " the night, because HBase runs one such compaction at a time, which would not end in time."
    )
    return explain(
        "limit",
        why,
        SELECTION,
        limit=computed(limit_bytes, "B", "sizing.compaction.day_limit"),
        least=constant(compaction, "DAY_LIMIT_BYTES", "B"),
    )


def _without_writes() -> dict[str, Explanation]:
    """Return the explanations of the settings that follow from the rate of writes, for a workload without any."""
    return {
        "small_compactions": explain(
            "fewest - whole",
            "The workload does not write, so {fewest} threads are enough, and one of them is for large compactions.",
            LEAST,
            fewest=constant(compaction, "FEWEST_COMPACTIONS"),
            whole=WHOLE,
        ),
        "compaction_lower_bytes": explain(
            "default",
            "HBase limits compactions to its default of {default} a second while stores have few files.",
            LEAST,
            default=constant(compaction, "LOWER_BOUND_BYTES", "B"),
        ),
    }
