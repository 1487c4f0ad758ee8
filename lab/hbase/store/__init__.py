"""The S3 of the lab: a real S3-protocol server on local files, and in front of it a proxy that counts and delays.

HBase talks to the proxy only. What differs from Amazon S3: the proxy's delays are drawn, not caused by load; a limit of
requests holds for the whole bucket, not for a prefix; signatures are not checked.
"""

from lab.hbase.store.client import StoreClient, StoreCounters
from lab.hbase.store.processes import BUCKET, Program, RunningStore, start_proxy, start_store, store, store_at
from lab.hbase.store.settings import Settings

__all__ = [
    "BUCKET",
    "Program",
    "RunningStore",
    "Settings",
    "StoreClient",
    "StoreCounters",
    "start_proxy",
    "start_store",
    "store",
    "store_at",
]
