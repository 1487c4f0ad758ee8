"""Where the data lies and what reads are served from."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Mode"]


class Mode(StrEnum):
    """Three ways to keep and serve the same data.

    `s3-cached`: data in S3, reads from a BucketCache on local disks. `s3-plain`: data in S3 and no cache of it, for
    disaster recovery. `hdfs`: data on the nodes' own volumes, three times.
    """

    S3_CACHED = "s3-cached"
    S3_PLAIN = "s3-plain"
    HDFS = "hdfs"

    @property
    def in_s3(self) -> bool:
        """Return whether the data outlives the cluster."""
        return self is not Mode.HDFS

    @property
    def cached(self) -> bool:
        """Return whether reads are served from a BucketCache."""
        return self is Mode.S3_CACHED
