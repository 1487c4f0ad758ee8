"""The descriptions of the keys of an environment file, which an editor shows with `environments/schema.json`.

A field's own `description` is a phrase for error messages. Only keys whose form needs explaining have one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

DESCRIPTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "EnvironmentFile": {
        "name": "The name of the environment. The names of its stacks and buckets begin with it.",
        "account": "The AWS account: twelve digits in quotes. The default is the account of your credentials.",
        "region": "The AWS Region to deploy to. Plans use its prices.",
        "release": "The Amazon EMR release label.",
        "os_release": "The release of Amazon Linux 2023. By default, EMR uses the latest one.",
        "storage": "Where the data is stored and where the write-ahead log is.",
        "network": "The VPC to launch clusters in, or a new one.",
        "access": "The clients that may reach ZooKeeper, the master and the RegionServers.",
        "security": "Authentication, and encryption in transit and on local disks. Encryption in S3 is always on.",
        "tags": "Tags for every resource, besides warmbase's own.",
        "workload": "The stored data and its reads and writes.",
        "targets": "The targets that a plan has to meet.",
        "clusters": "The clusters of the environment by name: one active cluster, replicas of it, and"
        " analytics clusters, which run Trino.",
        "fencing": "What a node does when another cluster has claimed the root: `alarm` notifies you; `stop` also kills"
        " HBase on the node. It applies to clusters launched afterwards.",
        "discount": "The share that a savings plan or private pricing takes off EC2's on-demand prices.",
        "snapshots": "How snapshots are copied to another HBase root and back.",
        "alarms": "Who is notified of alarms.",
        "overrides": "Properties that replace planned ones, by classification. warmbase checks and marks them.",
    },
    "Storage": {
        "mode": "s3-cached: data in S3 and a BucketCache on each node. s3-plain: data in S3 without a BucketCache."
        " hdfs: data on the nodes' volumes.",
        "root": "`new` for a bucket that warmbase creates, or s3://BUCKET/PREFIX/ for an existing HBase root.",
        "key": "The ARN of the KMS key that encrypts the bucket of an existing root.",
        "owner": "The AWS account that the bucket of an existing root belongs to. The default is the environment's.",
        "wal": "Where HBase writes its write-ahead log: on HDFS, or in Amazon's EMR WAL service.",
    },
    "NetworkSection": {
        "vpc": "`new`, or the id of an existing VPC.",
        "subnet": "The id of a private subnet in the existing VPC.",
        "route_table": "The id of that subnet's route table, if warmbase has to add an S3 gateway endpoint to it.",
        "availability_zone": "The Availability Zone that all nodes are launched in.",
        "endpoint_policies": "Whether policies limit a new VPC's endpoints to this account and what EMR itself needs.",
    },
    "AccessSection": {
        "security_groups": "Security groups in the same VPC whose members may connect to HBase.",
        "cidrs": "IPv4 networks from which clients may connect to HBase, such as 10.0.0.0/16.",
    },
    "InTransit": {
        "pem": "The zip file in S3 with privateKey.pem, certificateChain.pem and trustedCertificates.pem.",
    },
    "Security": {
        "in_transit": "The certificates for encrypting the traffic between nodes. By default, it is not encrypted.",
        "local_disks": "Whether EMR encrypts the volumes of the nodes.",
        "kerberos": "The Kerberos realm in which new clusters are launched. By default, HBase authenticates nobody.",
    },
    "KerberosSection": {
        "kdc": "`cluster` for a KDC on the primary node of each cluster, or the address of an external KDC.",
        "admin_server": "The address of the external KDC's admin server, on which EMR creates principals.",
        "realm": "The Kerberos realm, such as EC2.INTERNAL.",
        "admin_password": "A reference to the password of the KDC's administrator in AWS Secrets Manager.",
    },
    "Alarms": {"email": "The mail address that is notified of alarms."},
    "SnapshotsSection": {"mappers": "How many mappers copy a snapshot. The default is one for each core node."},
    "ClusterSection": {
        "engine": "hbase: an HBase cluster over the root. trino: an analytics cluster, which has its own keys.",
        "role": "active: the cluster that writes to the root. replica: a cluster that only reads it.",
        "primaries": "The number of primary nodes: 1 or 3. With three, HBase stays available if one fails.",
        "primary": "The primary nodes.",
        "core": "The core nodes, on which the RegionServers run.",
        "workload": "The replica's own load, where it differs from that of the environment.",
        "targets": "The replica's own targets, where they differ from those of the environment.",
    },
    "TrinoSection": {
        "engine": "trino: an analytics cluster whose workers cache files of S3. It neither reads nor writes the root.",
        "catalog": "The connector of the tables: Hive, Iceberg or Delta Lake. The files of one catalog are cached.",
        "preferred_hosts": "The number of workers on which Trino prefers to read a file. Each of them caches a copy of"
        " it: with two, the caches must be twice as large, and stay warm if a worker is lost.",
        "data": "The prefixes in S3 below which the tables lie, each s3://BUCKET/PREFIX/ in a bucket of this account."
        " The nodes may read only what lies below them, and write nothing.",
        "workload": "The queries and the files that they read.",
        "targets": "The targets that the plan of this cluster has to meet.",
        "coordinator": "The coordinator, on the primary node.",
        "workers": "The workers, on the core nodes.",
    },
    "ScanSection": {
        "working_set": "The size of all files, or columns of files, that should stay cached, because they are read"
        " again.",
        "scanned": "The compressed bytes that one query reads on average, without the partitions and columns that Trino"
        " skips. Trino calls it the physical input of a query.",
        "queries": "The rate of the queries.",
        "file_format": "The format of the files.",
        "file": "The mean size of a file.",
        "read": "The mean length of one contiguous read of a file: a column chunk, or a run of neighbouring ones.",
        "cpu_seconds_per_gib": "The CPU time of a query divided by its physical input, in core-seconds for each GiB.",
        "popularity": "How the reads are distributed over files. `uniform`: every file is read equally often.",
        "growth": "How much the working set and the rate of the queries grow each month, for `warmbase plan ENV"
        " --cluster NAME --months N`, which assumes 8 % a month by default. Without --months, a plan is for today.",
    },
    "QueriesSection": {
        "per_hour": "The mean number of queries in an hour. The bill for S3 is based on it.",
        "peak_per_hour": "The number of queries in the busiest hour, for which the cluster is sized.",
    },
    "QueryTargetsSection": {
        "hit_ratio": "The smallest share of page reads that warm caches must answer.",
        "query_time": "The longest mean time of a query in the busiest hour, with warm caches.",
        "lost_nodes": "The number of workers that the cluster can lose and still meet its targets.",
        "budget_usd_per_month": "The most that the cluster may cost in a month, in US dollars.",
    },
    "Workers": {
        "type": "The instance type of the workers. By default, the calculator chooses it.",
        "count": "How many workers the cluster has. By default, the calculator chooses it.",
        "families": "The instance families from which the calculator chooses.",
        "volumes": "The volumes of each worker. By default, the calculator chooses them.",
    },
    "ClusterWorkload": {"reads": "The reads of this cluster."},
    "PrimarySection": {"type": "The instance type of the primary nodes. By default, the calculator chooses it."},
    "Core": {
        "type": "The instance type of the core nodes. By default, the calculator chooses it.",
        "count": "How many core nodes the cluster has. By default, the calculator chooses it.",
        "families": "The instance families from which the calculator chooses.",
        "volumes": "The volumes of each core node. By default, the calculator chooses them.",
    },
    "VolumeSection": {
        "purpose": "cache: a volume for the BucketCache, or Trino's file-system cache, alone. system: a volume for"
        " HDFS, YARN and logs.",
        "type": "gp3: an EBS volume. nvme: the instance's own NVMe drive.",
        "count": "The number of volumes of this kind on each core node.",
        "size": "The size of each volume, in whole GiB.",
        "iops": "The IOPS of a gp3 volume; 3,000 are included in its price.",
        "throughput": "The throughput of a gp3 volume; 125 MiB/s are included in its price.",
    },
    "WorkloadSection": {
        "stored": "The size of the data under the HBase root, as stored (compressed). State this or `inspection`.",
        "inspection": "The file that `warmbase inspect` writes for real store files, relative to the environment file.",
        "block_size": "The BLOCKSIZE of the column families.",
        "cell": "The mean size of a cell's value.",
        "row": "The mean number of bytes that a read touches in one row, all cells together.",
        "compression": "The codec of the store files and what it saves.",
        "encoding": "The DATA_BLOCK_ENCODING of the column families.",
        "reads": "The rate and the kind of the reads.",
        "writes": "The rate of the writes.",
        "popularity": "How the reads are distributed over rows. `uniform`: every row is read equally often.",
        "regions": "The number of regions of all tables together.",
        "spread": "How the reads are distributed over regions. `hashed`: popular rows lie anywhere in the key space."
        " `even`: every region is read equally often. {zipf: …}: popular rows have neighbouring keys.",
        "cache": "The BLOCKCACHE of the column families. `false`: every data block that a read needs comes from S3, and"
        " the blocks take no room in the cache. The target hit ratio then applies to the reads of the other tables.",
        "growth": "How much data, reads and writes grow each month, for `warmbase plan ENV --months N`, which assumes"
        " 8 % a month by default. Without --months, a plan is for today.",
    },
    "TablesSection": {
        "tables": "The tables by name, instead of one workload for all of them. TABLE/FAMILY is one family of a table."
        " Each table has the keys of `workload`. All tables share the cache.",
    },
    "PopularitySection": {
        "zipf": "The exponent of a Zipf distribution over rows, or over a Trino cluster's files, such as YCSB's 0.99.",
        "hot": "The share of rows, or of a Trino cluster's files, in the hot set, such as 10 %. It needs `of_reads`.",
        "of_reads": "The share of reads that go to the hot set, such as 90 %. It needs `hot`.",
        "curve": "The CSV file with the measured popularity, relative to the environment file.",
    },
    "SpreadSection": {
        "zipf": "The exponent of a Zipf distribution over regions that fits their reads on the HBase master's page.",
    },
    "Compression": {
        "codec": "The COMPRESSION of the column families.",
        "ratio": "The number of bytes before compression that become one byte in a store file.",
    },
    "SeasonsSection": {
        "peak": "The rate in the busiest hours, as a multiple of the mean rate.",
        "hours": "The number of hours per day that the peak lasts.",
    },
    "ReadsSection": {
        "per_second": "The mean number of requests that clients send in a second. The bill is based on it. State this"
        " or `concurrency`.",
        "peak_per_second": "The number of requests per second in the busiest hour, for which the cluster is sized.",
        "seasons": "The daily peak, for which the cluster is sized: its rate as a multiple of the mean, and its"
        " length. Do not state `peak_per_second` as well.",
        "concurrency": "The number of requests in flight, for a benchmark whose clients wait for each answer. State"
        " this or `per_second`.",
        "kind": "get: one row. multi-get: several rows in one call. scan: several rows with neighbouring keys.",
        "rows": "How many rows one request reads.",
    },
    "Writes": {
        "bytes_per_second": "The bytes of cell values that clients write in a second.",
        "cells_per_put": "How many cells a client sends to a region in one call. Larger batches take less CPU.",
    },
    "TargetsSection": {
        "hit_ratio": "The smallest share of block reads that warm caches must answer. Reads of tables with"
        " `cache: false` do not count.",
        "p99": "The longest time within which 99 % of the reads are answered.",
        "warm_up": "The longest time in which the cluster fills its cold caches.",
        "carries_load_within": "The longest time until a cluster that starts with cold caches serves all its reads.",
        "offline_after_crash": "The longest time for which the rows of a crashed RegionServer are offline.",
        "lost_nodes": "The number of core nodes that the cluster can lose and still meet its targets.",
        "budget_usd_per_month": "The most that the cluster may cost in a month, in US dollars.",
    },
}


def describe(schema: dict[str, Any]) -> None:
    """Give every key of a JSON schema its description. Raises KeyError for a key without one."""
    for section in (schema, *schema["$defs"].values()):
        for key, entry in section.get("properties", {}).items():
            entry["description"] = DESCRIPTIONS[section["title"]][key]
