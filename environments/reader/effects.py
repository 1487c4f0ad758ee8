"""The parts of a plan that each key of an environment file moves; the other keys change only the deployment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

EFFECTS: Final[Mapping[str, str]] = {
    "region": "Prices, and the hours of nightly compactions.",
    "release": "Which properties exist, the Java version, S3 client and instance types.",
    "storage.mode": "Everything: `warmbase compare` shows the modes beside each other.",
    "storage.wal": "The price of the EMR WAL service, and the size of the system volume.",
    "network.vpc": "The price of the endpoints of a new VPC.",
    "workload.stored": "The size of the cache and its volumes, the number of nodes, warm-up, S3 storage.",
    "workload.inspection": "The same as `stored` and `regions`; also bucket sizes, indexes and Bloom filters.",
    "workload.block_size": "Blocks for each read, disk operations, bucket sizes, the heap for indexes.",
    "workload.cell": "The mean length of a block, the number of cells, CPU for writes and compactions.",
    "workload.row": "Blocks for each read, disk and network throughput, the skew of block reads.",
    "workload.compression.codec": "CPU for each read: cached blocks stay compressed, and a hit decompresses its block.",
    "workload.compression.ratio": "The length of a block in the cache, and bytes sent to clients.",
    "workload.encoding": "The length of an encoded block.",
    "workload.reads.per_second": "The number of nodes, their disks' throughput, S3 requests and their price.",
    "workload.reads.peak_per_second": "The number of nodes and their disks' throughput.",
    "workload.reads.concurrency": "The rate that the cluster reaches, its latency, and the number of handlers.",
    "workload.reads.kind": "Blocks and RegionServers for each request.",
    "workload.reads.rows": "Blocks for each request.",
    "workload.writes.bytes_per_second": "Memstore, log, flush and compaction throughput, S3 PUTs.",
    "workload.writes.cells_per_put": "CPU for each write.",
    "workload.popularity": "The hit ratio for each size of cache, and so the size of the cache.",
    "workload.regions": "The split limit, the time to open regions, how evenly load spreads over nodes.",
    "workload.spread": "The load of the busiest RegionServer.",
    "workload.cache": "S3 requests and their price, the latency of the table, and the cache that the others need.",
    "workload.tables": "What the keys of each table move, and the hit ratio of each table in the shared cache.",
    "targets.hit_ratio": "The smallest cache.",
    "targets.p99": "Which instance types, caches and volumes are fast enough.",
    "targets.warm_up": "The volumes' throughput, and the number of nodes.",
    "targets.carries_load_within": "How many reads S3 may have to answer at first: cache, nodes and volumes.",
    "targets.offline_after_crash": "The number of nodes, so that each has fewer regions.",
    "targets.lost_nodes": "The number of nodes: targets hold on those that are left.",
    "targets.budget_usd_per_month": "Whether the cheapest cluster is acceptable.",
    "clusters.NAME.primaries": "The price of the primary nodes.",
    "clusters.NAME.primary.type": "The price of the primary nodes.",
    "clusters.NAME.core.type": "Everything about the core nodes.",
    "clusters.NAME.core.count": "Everything about the core nodes.",
    "clusters.NAME.core.families": "Which instance types may be chosen.",
    "clusters.NAME.core.volumes": "The size of the cache, throughput, warm-up and price.",
    "clusters.NAME.role": "A replica writes nothing and is planned for its own reads and targets.",
    "clusters.NAME.workload": "The plan of this cluster alone.",
    "clusters.NAME.targets": "The plan of this cluster alone.",
    "discount": "The price of the instances.",
    "snapshots.mappers": "The time to copy a snapshot.",
    "overrides": "An override of a property that states a figure of the plan replaces the figure.",
}
"""Each key that moves the plan, and the figures that it moves."""
