"""Moving Cloudera's 20 TB: snapshots, and the warming of caches."""

from __future__ import annotations

from typing import Final

from published.cod import STORED_BYTES, WORKERS, Cod, copied
from published.figure import PublishedFigure, arithmetic_figure, model_figure
from sizing.resource import S3_GETS_PER_SECOND_PER_PREFIX
from sizing.snapshot import NETWORK_FRACTION
from sizing.units import SECONDS_PER_HOUR, format_percent
from sizing.warm_up import PREFETCH_THREADS

GB: Final = 10**9
SNAPSHOT: Final = "important findings, snapshot time"
WARMING_BYTES_PER_SECOND: Final = 2.62e9
LARGE_CACHE_BYTES: Final = 1_500 * GB


def snapshot_figures() -> tuple[PublishedFigure, ...]:
    """How long a snapshot takes to be copied."""
    return (_out(), _back(), _across())


def _out() -> PublishedFigure:
    copy = copied(into_hdfs=False)
    return model_figure(
        what="snapshot, cluster to cloud",
        place=SNAPSHOT,
        published="~70",
        ours=copy.seconds / 60,
        unit="min",
        how=f"20 TB over {format_percent(NETWORK_FRACTION)} of 20 x 2.5 Gbit/s; limit: {copy.limit}",
        remark=f"Stated: {STORED_BYTES / (70 * 60) / GB:.2f} GB/s; ours: {copy.bytes_per_second / GB:.2f} GB/s. It "
        "rests on the network that the workers sustain (they burst to four times that) and on a judgement, that a "
        "quarter of it is left to the RegionServers. Without that it would be "
        f"{copy.seconds * NETWORK_FRACTION / 60:.0f} min.",
    )


def _back() -> PublishedFigure:
    copy = copied(into_hdfs=True)
    return model_figure(
        what="snapshot, cloud to cluster",
        place=SNAPSHOT,
        published="~3",
        ours=copy.seconds / SECONDS_PER_HOUR,
        unit="h",
        how="the same, each byte sent again for two more replicas",
        remark=f"Stated: {STORED_BYTES / (3 * SECONDS_PER_HOUR) / GB:.2f} GB/s; ours: "
        f"{copy.bytes_per_second / GB:.2f} GB/s.",
    )


def _across() -> PublishedFigure:
    once = copied(into_hdfs=False)
    return model_figure(
        what="snapshot, cluster to cluster",
        place=SNAPSHOT,
        published="~70",
        ours=copied(into_hdfs=True).seconds / 60,
        unit="min",
        how="into another HDFS with three replicas",
        remark="Does not agree: what arrives in HDFS is written three times, like that from the cloud, which took 3 h. "
        f"With one replica it would be {once.seconds / 60:.0f} min.",
    )


def warming_figures(cod: Cod) -> tuple[PublishedFigure, ...]:
    """How long caches take to warm, by the source's own rate and by the calculator."""
    return (*_by_rate(cod), *_by_prefetch(cod))


def _by_rate(cod: Cod) -> tuple[PublishedFigure, ...]:
    worker = WARMING_BYTES_PER_SECOND / WORKERS
    gets = WARMING_BYTES_PER_SECOND / cod.question.demand.blocks.on_disk_bytes
    return (
        arithmetic_figure(
            what="cache warming",
            place="key takeaways",
            published="~130",
            ours=STORED_BYTES / WARMING_BYTES_PER_SECOND / 60,
            unit="min",
            how="20 TB / 2.62 GB/s",
            remark=f"{worker / 10**6:.0f} MB/s a worker. Block by block that would be {gets:,.0f} GETs/s, "
            f"{gets / S3_GETS_PER_SECOND_PER_PREFIX:.0f} times what S3 documents for one prefix: requests were larger, "
            "or prefixes many.",
        ),
        arithmetic_figure(
            what="cache warming, 1.5 TB a worker",
            place="things to consider",
            published="3-5",
            ours=LARGE_CACHE_BYTES / worker / SECONDS_PER_HOUR,
            unit="h",
            how="1.5 TB / (2.62 GB/s / 20)",
        ),
    )


def _by_prefetch(cod: Cod) -> tuple[PublishedFigure, ...]:
    filled, longer = cod.warm_up(STORED_BYTES / WORKERS), cod.warm_up(LARGE_CACHE_BYTES)
    how = f"{PREFETCH_THREADS} prefetch threads a worker, 64 MiB a GET; limit: {filled.limit}"
    return (
        model_figure(
            what="cache warming by prefetch",
            place="key takeaways",
            published="~130",
            ours=filled.seconds / 60,
            unit="min",
            how=how,
            remark="HBase's default of four threads, at the low end of what one stream from S3 brings (a judgement).",
        ),
        model_figure(
            what="cache warming by prefetch, 1.5 TB a worker",
            place="things to consider",
            published="3-5",
            ours=longer.seconds / SECONDS_PER_HOUR,
            unit="h",
            how=how,
        ),
    )
