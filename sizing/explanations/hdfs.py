"""Why HDFS has the settings that it has where it stores the data."""

from __future__ import annotations

import math

from sizing import hdfs_load
from sizing.candidate import Candidate
from sizing.explanation import Explanation, Quantity, explain
from sizing.explanations.quantities import WHOLE, computed, constant, fact, figure, pinned, setting
from sizing.hdfs_load import HdfsLoad


def hdfs_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Explain recovery after a lost node, and the threads of the daemons; nothing where the data is in S3."""
    load = candidate.hdfs_load
    if load is None:
        return {}
    pins = candidate.question.requirements.pins
    nodes = figure(load.nodes, "nodes", "core.count")
    fewest = constant(hdfs_load, "FEWEST_HANDLERS")
    return {
        "hdfs.recovery_seconds": _recovery(candidate, nodes),
        "hdfs.namenode_handlers": pinned(pins, "namenode_handlers")
        or explain(
            "max(default, ceil(per_ln * ln(nodes)))",
            "{per_ln} handlers times the natural logarithm of {nodes}, and at least Hadoop's default of {default}.",
            "Hadoop 3.4.1 hdfs-default.xml; the factor is a judgement, the usual rule of operators",
            {"ln": math.log},
            default=fewest,
            per_ln=constant(hdfs_load, "NAMENODE_HANDLERS_PER_LN"),
            nodes=nodes,
        ),
        "hdfs.datanode_handlers": pinned(pins, "datanode_handlers")
        or explain(
            "max(default, volumes)",
            "One handler for each of the {volumes} volumes of a node, and at least Hadoop's default of {default}.",
            "judgement",
            default=fewest,
            volumes=figure(load.volumes, "", "core.volumes.data.count"),
        ),
        "hdfs.transfer_threads": pinned(pins, "transfer_threads")
        or explain(
            "max(least, per_region * ceil(regions / nodes))",
            "A DataNode may transfer {least} blocks at the same time, or {per_region} for each region of its server if"
            " that is more.",
            "HBase reference guide, dfs.datanode.max.transfer.threads; the number for each region is a judgement",
            least=constant(hdfs_load, "TRANSFER_THREADS"),
            per_region=constant(hdfs_load, "TRANSFERS_PER_REGION"),
            regions=setting(load.regions, "regions", "workload.regions"),
            nodes=nodes,
        ),
        "hdfs.refreshes_per_second": _refreshes(load),
    }


def _recovery(candidate: Candidate, nodes: Quantity) -> Explanation:
    load = candidate.hdfs_load
    assert load is not None  # noqa: S101 - the caller has looked
    return explain(
        "(read_and_write * node / (nodes - whole) if nodes - whole >= copies else node) / (share * disks)",
        "After a node is lost, the others copy its {node} again. Each reads and writes its part at {share} of {disks}."
        " The plan allows at most {longest}, because losing a second node meanwhile would leave some blocks with a"
        " single copy.",
        f"HDFS re-replicates blocks with fewer than {load.copies} copies; the share and the limit are judgements",
        read_and_write=fact(2, "", "a read and a write of each byte"),
        node=computed(load.node_bytes, "B", "workload.stored x copies / core.count"),
        nodes=nodes,
        whole=WHOLE,
        copies=fact(load.copies, "copies", f"mode {candidate.question.mode}"),
        share=constant(hdfs_load, "RECOVERY_FRACTION", "fraction"),
        disks=computed(load.disk_bytes_per_second, "B/s", "sizing.resource.ebs_disk"),
        longest=constant(hdfs_load, "LONGEST_RECOVERY_SECONDS", "s"),
    )


def _refreshes(load: HdfsLoad) -> Explanation:
    return explain(
        "in_a_second * files * regions / refresh",
        "If no block is local, for example after regions have moved, each of the {files} open store files in each"
        " of {regions} asks the NameNode for its block locations every {refresh}. A file whose blocks are all"
        " local does not ask. A NameNode with 4 vCPUs has answered {capacity}.",
        "Hadoop 3.4 LocatedBlocksRefresher; HubSpot, NNThroughputBenchmark; the number of files is a judgement",
        in_a_second=fact(1000, "ms", "a second"),
        files=constant(hdfs_load, "STORE_FILES_PER_REGION"),
        regions=setting(load.regions, "regions", "workload.regions"),
        refresh=constant(hdfs_load, "LOCATION_REFRESH_MS", "ms"),
        capacity=constant(hdfs_load, "NAMENODE_REQUESTS_PER_SECOND", "requests/s"),
    )
