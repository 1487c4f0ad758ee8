"""The metrics that the program on each worker publishes once a minute, of that minute.

Dashboards and alarms of an analytics cluster use no others, and CloudWatch charges for each on every worker.
ReadFromCache, ReadFromRemote and HitRate are RubiX's names for the same figures.
"""

from __future__ import annotations

from typing import Final

from configurations.metrics import Metric, MetricSource

_PUBLISHED: Final = (
    # name, CloudWatch's unit, attribute or place that it is read from, meaning
    ("Answering", "Count", "JMX", "1 while Trino responds on the worker, 0 while it does not"),
    ("ReadFromCache", "Bytes", "CacheReads.AllTime.Total", "bytes that queries read from cached pages"),
    ("ReadFromRemote", "Bytes", "ExternalReads.AllTime.Total", "bytes that queries read from S3, in whole pages"),
    (
        "RemoteOverLimit", "Bytes", "ReadFromCache, ReadFromRemote",
        "bytes from S3 beyond what the limit of the hit rate allows; the sum is above 0 when the cluster is below it",
    ),
    ("HitRate", "None", "ReadFromCache, ReadFromRemote", "bytes from the cache divided by all; none without reads"),
    ("CacheReads", "Count", "CacheReads.AllTime.Count", "reads that cached pages answered"),
    ("RemoteReads", "Count", "ExternalReads.AllTime.Count", "reads from S3, each a GET of one or more pages"),
    ("PagesEvicted", "Count", "Client.CachePagesEvicted", "pages evicted to make room for others"),
    ("SpaceUsed", "Bytes", "Client.CacheSpaceUsedCount", "bytes of all cached pages of the worker"),
    ("DiskUsed", "None", "statvfs", "fraction in use of the fullest cache volume; at 0.90 EMR replaces the node"),
)  # fmt: skip

TRINO_METRICS: Final = {
    name: Metric(
        source=MetricSource.NODE,
        bean="",
        attribute=attribute,
        cloudwatch=name,
        unit=unit,
        counter=False,
        meaning=meaning,
    )
    for name, unit, attribute, meaning in _PUBLISHED
}
"""The metrics by their names in CloudWatch."""
