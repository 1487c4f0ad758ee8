"""An EMR release: the versions that it ships, and which settings those allow."""

from __future__ import annotations

from datetime import date
from functools import cached_property

from msgspec import Struct

__all__ = ["Improvement", "Release", "Version", "parse_version"]

Version = tuple[int, int, int]


def parse_version(text: str) -> Version:
    """`2.6.2` as (2, 6, 2). Raises ValueError when the text is not three numbers with points."""
    major, minor, patch = map(int, text.split("."))
    return (major, minor, patch)


class Improvement(Struct, frozen=True, kw_only=True):
    """An improvement over earlier releases; `text` completes the sentence "emr-7.14.0 …".

    `concerns` names the clusters that it matters to: `cache`, `s3` or `replica`; it is empty for all.
    """

    release: str
    text: str
    source: str
    concerns: str = ""


class Release(Struct, frozen=True, kw_only=True, dict=True):
    """One EMR release with HBase 2.6. Amazon's own backports are unknown, so the gates say what upstream HBase has.

    `support_until` is the last day of standard support. If the release's page was not read, it is the day of the next
    release whose page was read, so support may end earlier but not later. It is None for a release before HBase 2.6.
    `applications` are the versions of applications that only some engines need, as far as somebody has read them on a
    page of the Release Guide.
    """

    label: str
    hbase: Version
    hadoop: Version
    zookeeper: Version
    java_default: int
    zgc_documented: bool
    s3_connector: str
    read_policy_defect: bool
    applications: tuple[tuple[str, int], ...] = ()
    support_until: date | None = None

    @cached_property
    def emr(self) -> Version:
        """Return the label's numbers: (7, 12, 0) of `emr-7.12.0`."""
        return parse_version(self.label.removeprefix("emr-"))

    def version_of(self, application: str) -> int | None:
        """Return the version of an application that has a column in facts/releases.csv; None where nobody read it."""
        return dict(self.applications).get(application)

    @property
    def index_restored_in_background(self) -> bool:
        """From HBase 2.6.5 the cache index is read by a thread, before that inside the start (HBASE-28804)."""
        return self.hbase >= (2, 6, 5)

    @property
    def promotes_on_second_read(self) -> bool:
        """From HBase 2.6.5 a block enters as SINGLE and becomes MULTI when read again (HBASE-29667)."""
        return self.hbase >= (2, 6, 5)

    @property
    def honours_blockcache(self) -> bool:
        """Return whether BLOCKCACHE => 'false' keeps blocks out of the cache: from HBase 2.6.4 on (HBASE-29623).

        Earlier releases cache the blocks of files that are prefetched, flushed or compacted in spite of it. Only
        `configurations/` asks for this.
        """
        return self.hbase >= (2, 6, 4)

    @property
    def keeps_blocks_on_split(self) -> bool:
        """Return whether a split region's blocks can stay in the cache: from HBase 2.6.3 on (HBASE-28596)."""
        return self.hbase >= (2, 6, 3)

    @property
    def collector(self) -> str:
        """Return `zgc` where EMR documents Java 21 for RegionServers, else `g1`, the default of Java 17."""
        return "zgc" if self.zgc_documented else "g1"

    @property
    def java_home(self) -> str:
        """Where EMR keeps that Java (Release Guide, emr-hbase-configure and configuring-java8)."""
        return "/usr/lib/jvm/jre-21" if self.zgc_documented else "/usr/lib/jvm/jre-17"
