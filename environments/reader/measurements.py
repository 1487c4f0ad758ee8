"""How to measure the workload on a running cluster, for each key that a person has to find out.

Names of options, counters and printed lines were read from HBase 2.6.4 and 2.6.5 (`HFilePrettyPrinter`,
`MetricsRegionServerSource`, `MetricsRegionSource`, `MetricsWALSource`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SERVER: Final = "Hadoop:service=HBase,name=RegionServer,sub=Server"
REGIONS: Final = "Hadoop:service=HBase,name=RegionServer,sub=Regions"
LOG: Final = "Hadoop:service=HBase,name=RegionServer,sub=WAL"
COUNTERS: Final = (
    "Counters are on each RegionServer at `http://SERVER:16030/jmx?qry=BEAN`, and count from its start. Take the"
    " difference between two readings, an hour apart, and add up all RegionServers."
)

MEASUREMENTS: Final[Mapping[str, str]] = {
    "workload.stored": "`hdfs dfs -du -s -h s3://BUCKET/PREFIX/data` (or `/user/hbase/data` on HDFS) prints it in the"
    " first column; `warmbase inspect s3://BUCKET/PREFIX/` measures it.",
    "workload.inspection": "`warmbase inspect s3://BUCKET/PREFIX/` writes the file.",
    "workload.reads.per_second": f"The growth of `readRequestCount` in the JMX bean `{SERVER}`, divided by the seconds"
    " between two readings and summed over RegionServers. It counts rows: divide it by `rows`.",
    "workload.reads.peak_per_second": "The same as `per_second`, in the busiest hour of a week.",
    "workload.reads.seasons.peak": "Measure the rate in the busiest hours of a day in the same way as `per_second`, and"
    " divide it by the mean rate.",
    "workload.reads.seasons.hours": "The number of hours a day in which the rate is close to that of the busiest"
    " hours.",
    "workload.reads.concurrency": "The number of threads of your benchmark that wait for an answer.",
    "workload.reads.kind": "`rpcGetRequestCount`, `rpcMultiRequestCount` or `rpcScanRequestCount`, whichever grows most"
    f" in the JMX bean `{SERVER}`.",
    "workload.reads.rows": "The growth of `readRequestCount`, divided by that of `rpcScanRequestCount` or"
    f" `rpcMultiRequestCount`, in the JMX bean `{SERVER}`.",
    "workload.row": "`hbase hfile -s -f FILE` prints the mean under `Row size (bytes)`, for a store file of the table."
    " If you read only some columns, count only those.",
    "workload.cell": "`hbase hfile -m -f FILE` prints it as `avgValueLen`; `warmbase inspect` prints it as mean value.",
    "workload.block_size": "`describe 'TABLE'` in `hbase shell` prints it as BLOCKSIZE.",
    "workload.compression.codec": "`describe 'TABLE'` in `hbase shell` prints it as COMPRESSION.",
    "workload.compression.ratio": "`hbase hfile -m -f FILE`: `totalUncomressedBytes` (HBase's spelling) divided by"
    " `length`.",
    "workload.encoding": "`describe 'TABLE'` in `hbase shell` prints it as DATA_BLOCK_ENCODING.",
    "workload.writes.bytes_per_second": f"The growth of `writtenBytes` in the JMX bean `{LOG}`, divided by the seconds"
    " between two readings and summed over RegionServers; it includes keys, so it is a little too high.",
    "workload.writes.cells_per_put": "The batch size of your clients, divided by the number of regions that a batch"
    " goes to.",
    "workload.popularity": "HBase does not count how often a row is read. Count the row keys in a sample of your"
    " clients' requests, and write the cumulative shares into a CSV file: {curve: FILE}.",
    "workload.regions": f"The sum of `regionCount` in the JMX bean `{SERVER}` over RegionServers; `status` in"
    " `hbase shell` prints the mean for a server as average load.",
    "workload.spread": "Compare the regions' `readRequestCount`: attributes"
    f" `Namespace_NS_table_TABLE_region_REGION_metric_readRequestCount` in the JMX bean `{REGIONS}`.",
}
"""Each key, and how to find its value. The table of the environment page and the drafts of `warmbase new` show it."""
