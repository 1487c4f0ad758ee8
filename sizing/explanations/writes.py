"""Why the cluster carries the writes that it carries, and which settings and volumes they need."""

from __future__ import annotations

from sizing import compaction, gp3, inputs, memstore, system_volume
from sizing.candidate import Candidate
from sizing.cluster import Volume
from sizing.compaction import day_limit, has_night, store_writes
from sizing.explanation import Explanation, Quantity, constraint, explain
from sizing.explanations.quantities import MEBIBYTE, WHOLE, computed, constant, figure, pinned, setting
from sizing.pins import PINNED_BY
from sizing.system_volume import write_share
from sizing.writes import blocking_resource

__all__ = ["write_explanations"]

SELECTION = "HBase 2.6.2 ExploringCompactionPolicy, simulated"
LEAST = "HBase's own default where that is enough"


def write_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Explain the bound of the writes, the settings of flushes and compactions, and the system volume."""
    settings = {
        **_flush_explanations(candidate),
        **_compaction_threads(candidate),
        **_compaction_bounds(candidate),
    }
    if not _cells(candidate)["cells"].value:
        settings |= _without_writes()
    pins = candidate.question.requirements.pins
    return {
        **_load(candidate),
        **{
            f"writes.settings.{name}": (pinned(pins, name) if name in PINNED_BY else None) or explanation
            for name, explanation in settings.items()
        },
        **_system_volume(candidate),
    }


def _load(candidate: Candidate) -> dict[str, Explanation]:
    if not _cells(candidate)["cells"].value:
        return {}
    return {
        "writes.bottleneck": _bottleneck(candidate),
        "writes.settings.amplification": _amplification(candidate),
    }


def _without_writes() -> dict[str, Explanation]:
    """Return the explanations of the settings that follow from the rate of the writes, where nothing is written."""
    return {
        "flushers": explain(
            "fewest",
            "The workload does not write, so HBase's default of {fewest} is enough.",
            LEAST,
            fewest=constant(compaction, "FEWEST_FLUSHERS"),
        ),
        "small_compactions": explain(
            "fewest - whole",
            "The workload does not write, so {fewest} threads are enough, and one of them is for large compactions.",
            LEAST,
            fewest=constant(compaction, "FEWEST_COMPACTIONS"),
            whole=WHOLE,
        ),
        "compaction_lower_bytes": explain(
            "default",
            "HBase limits compactions to its default of {default} while stores have few files.",
            LEAST,
            default=constant(compaction, "LOWER_BOUND_BYTES", "B"),
        ),
    }


def _bottleneck(candidate: Candidate) -> Explanation:
    resources = candidate.writes(candidate.count).resources
    limit = blocking_resource(resources)
    others = [other.max_bytes_per_second for other in resources if other is not limit]
    return constraint(
        "capacity / per_byte <= next_limit",
        "The bottleneck of writes is {resource}. The reads leave {capacity}, and a byte of values takes {per_byte}. The"
        " next resource would be used up at {next_limit}.",
        "utilisation law, with sustained limits only",
        resource=computed(limit.name, "", "sizing.writes.blocking_resource"),
        capacity=Quantity(value=limit.capacity, unit=limit.unit, source="sizing.writes.write_resources"),
        per_byte=computed(limit.demand_per_byte, limit.unit.removesuffix("/s"), "sizing.writes.write_resources"),
        next_limit=computed(min(others), "B/s", "sizing.writes.write_resources"),
    )


def _amplification(candidate: Candidate) -> Explanation:
    server, share = candidate.writing_server, write_share(candidate.question, candidate.survivors)
    stored_bytes = server.flush_cells * server.cells.stored_bytes
    writes = store_writes(share, stored_bytes, server.settings.min_size_bytes)
    return explain(
        "merged(limit)",
        "A cell is written by its flush and again by each compaction. A flush makes a store file of {store_file}, and"
        " compactions merge files until one is as large as a region's {region}, those above {limit} at night.",
        f"{SELECTION}, within 15 % by day, and from 10 % below to 22 % above with nights",
        {"merged": writes.amplification_with_nights},
        store_file=computed(stored_bytes, "B", "sizing.memstore.Memstore.flush_heap_bytes"),
        region=setting(share.region_bytes, "B", "workload.stored and workload.regions"),
        limit=figure(server.settings.day_limit_bytes, "B", "writes.settings.day_limit_bytes"),
    )


def _flush_explanations(candidate: Candidate) -> dict[str, Explanation]:
    server, share = candidate.writing_server, write_share(candidate.question, candidate.survivors)
    return {
        "flush_size_bytes": explain(
            "min(most, max(whole, ceil(cells * heap / max(regions, one_region) * shortest / default)) * default)",
            "A region is flushed at {default}. If it receives more than that in {shortest}, it is flushed at a multiple"
            " of it, up to {most}, because more frequent flushes make too many small files.",
            LEAST,
            most=constant(memstore, "MOST_FLUSH_BYTES", "B"),
            default=constant(memstore, "FLUSH_SIZE_BYTES", "B"),
            shortest=constant(memstore, "SHORTEST_FLUSH_SECONDS", "s"),
            regions=setting(share.regions, "regions", "workload.regions, one surviving node's share"),
            one_region=constant(memstore, "FEWEST_REGIONS"),
            whole=WHOLE,
            **_cells(candidate),
        ),
        "lower_limit": explain(
            "limit",
            "HBase starts to flush when the memstore is {limit} full. The rest takes the writes that arrive during the"
            " flush.",
            "judgement: HBase's default of 0.95 leaves hardly any room in a small memstore",
            limit=constant(memstore, "LOWER_LIMIT", "fraction"),
        ),
        "flushers": explain(
            "max(fewest, min(most, ceil(cells / utilisation * seconds / flush)))",
            "A flush of {flush} takes {seconds}, so {cells} need this many threads, each busy for {utilisation} of the"
            " time. HBase's default of {fewest} is the minimum.",
            LEAST,
            fewest=constant(compaction, "FEWEST_FLUSHERS"),
            most=constant(compaction, "MOST_FLUSHERS"),
            utilisation=constant(inputs, "UTILISATION", "fraction"),
            seconds=computed(server.flush_seconds, "s", "sizing.compaction.FileWriting.flush_seconds"),
            flush=computed(server.flush_cells, "cells", "sizing.writing_server.WritingServer.flush_cells"),
            cells=_cells(candidate)["cells"],
        ),
    }


def _compaction_threads(candidate: Candidate) -> dict[str, Explanation]:
    server = candidate.writing_server
    return {
        "small_compactions": explain(
            "max(fewest, min(max(fewest, per_core * cores), ceil(cells / utilisation * (amplification - whole) *"
            " seconds))) - whole",
            "A thread compacts a cell in {seconds}, and {cells} are each written {amplification}, the first time by"
            " their flush. One more thread is for large compactions, and takes small ones, too.",
            LEAST,
            fewest=constant(compaction, "FEWEST_COMPACTIONS"),
            per_core=constant(compaction, "MOST_COMPACTIONS_PER_VCPU"),
            cores=setting(candidate.instance.vcpus, "vCPUs", f"instance type {candidate.instance.name}"),
            seconds=computed(
                server.files.compaction_seconds(server.cells), "s", "sizing.compaction.FileWriting.compaction_seconds"
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


def _compaction_bounds(candidate: Candidate) -> dict[str, Explanation]:
    server = candidate.writing_server
    return {
        "compaction_lower_bytes": explain(
            "max(default, up_to(cells / utilisation * (amplification - whole) * key_value, mebibyte))",
            "HBase limits compactions to this rate while stores have few files. The rate is HBase's default of"
            " {default}, or higher if the writes need more than {utilisation} of that.",
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
            "By default, HBase does not limit compactions at night. This limit is the rate of a quiet day.",
            "the cache volume serves reads at night, too",
            lower=figure(server.settings.compaction_lower_bytes, "B", "writes.settings.compaction_lower_bytes"),
        ),
        "day_limit_bytes": _day_limit(candidate),
        "min_size_bytes": explain(
            "min(default, up_to(cells * stored, mebibyte))",
            "HBase merges files that together are smaller than this whatever their ratio. One flush has {cells} of"
            " {stored} in its store file; at HBase's default of {default}, smaller flushes are written more often.",
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
    """Return the cells that compactions rewrite, and how often each is written."""
    return {
        "cells": _cells(candidate)["cells"],
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
        "By day, a compaction reads at most {limit}. That is {least}, or a quarter of what a region receives in a day"
        " if that is more, so that a store has few files when the night begins."
        if has_night(share, files)
        else "By day, a compaction reads up to {limit}, enough to merge all files of a region. No compaction waits for"
        " the night, because one at a time cannot merge the writes of a day in a night."
    )
    return explain(
        "limit",
        why,
        SELECTION,
        limit=computed(limit_bytes, "B", "sizing.compaction.day_limit"),
        least=constant(compaction, "DAY_LIMIT_BYTES", "B"),
    )


def _system_volume(candidate: Candidate) -> dict[str, Explanation]:
    volume = next((volume for volume in candidate.layout.volumes if volume.purpose == "system"), None)
    core, server = candidate.question.requirements.cluster.core, candidate.writing_server
    if volume is None or core.volumes is not None or server.log is None:
        return {}
    return {
        "core.volumes.system.throughput_mib_s": _system_throughput(candidate, volume),
        "core.volumes.system.size_gib": constraint(
            "size >= usual",
            "HDFS, YARN and logs get {usual}, and more if faster writes fill more logs: HBase deletes a write-ahead log"
            " up to {archived} after the last memstore that needs it is flushed.",
            "HBase 2.6.2 TimeToLiveLogCleaner",
            size=figure(volume.size_gib, "GiB", "core.volumes.system.size_gib"),
            usual=constant(system_volume, "SYSTEM_GIB", "GiB"),
            archived=constant(system_volume, "ARCHIVE_SECONDS", "s"),
        ),
    }


def _system_throughput(candidate: Candidate, volume: Volume) -> Explanation:
    server, cells = candidate.writing_server, _cells(candidate)["cells"]
    throughput = figure(volume.throughput_mib_s, "MiB/s", "core.volumes.system.throughput_mib_s")
    included = constant(gp3, "INCLUDED_MIB_S", "MiB/s")
    if not cells.value:
        return constraint(
            "throughput >= included",
            "The workload does not write, so the {included} that gp3 includes is enough.",
            "gp3 volumes cost nothing more for it",
            throughput=throughput,
            included=included,
        )
    most = candidate.instance.ebs_sustained_bytes_per_second
    return constraint(
        "throughput >= included and throughput * mebibyte >= min(most - mebibyte, cells * per_cell / utilisation)",
        "The write-ahead log and the uploads to S3 write {per_cell} to this volume for each cell. The throughput"
        " carries {cells} at {utilisation} of its limit. It is at least the {included} that gp3 includes, and the"
        " instance sustains {most} to all its volumes.",
        "judgement: the parts of an upload are written to disk before they are sent",
        throughput=throughput,
        included=included,
        most=computed(float(most), "B/s", f"instance type {candidate.instance.name}"),
        per_cell=computed(server.log_volume_bytes, "B", "sizing.writing_server.WritingServer.log_volume_bytes"),
        utilisation=constant(inputs, "UTILISATION", "fraction"),
        mebibyte=MEBIBYTE,
        cells=cells,
    )


def _cells(candidate: Candidate) -> dict[str, Quantity]:
    """Return the cells that one surviving server takes, and the heap of each."""
    share = write_share(candidate.question, candidate.survivors)
    return {
        "cells": computed(share.cells_per_second, "cells/s", "sizing.memstore.WriteShare.cells_per_second"),
        "heap": computed(share.cells.heap_bytes, "B", "sizing.memstore.CellSizes.heap_bytes"),
    }
