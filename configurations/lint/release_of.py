"""From a label that somebody wrote to a release whose facts we know."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from facts.releases import releases
from sizing.release import Release, parse_version

__all__ = ["KnownRelease", "release_of"]

OLDER_HBASE: Final = (2, 4, 17)
"""What EMR 6.12 to 7.3 ship; rules ask of older releases only that they come before 2.6."""
OLDER_HADOOP: Final = (3, 3, 6)
OLDER_ZOOKEEPER: Final = (3, 9, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRelease:
    """`exact` is false for a release beyond our table: keys and defaults of that one are not judged."""

    release: Release | None
    exact: bool


def release_of(label: str | None) -> KnownRelease:
    """The release itself; of a newer one the newest we know, of an older one what all older ones have in common.

    None where there is no label, or it is none of EMR's.
    """
    if label is None or not re.fullmatch(r"emr-\d+\.\d+\.\d+", label):
        return KnownRelease(release=None, exact=False)
    known = releases()
    if label in known:
        return KnownRelease(release=known[label], exact=True)
    *_, newest = known.values()
    emr = parse_version(label.removeprefix("emr-"))
    if emr > newest.emr:
        return KnownRelease(release=newest, exact=False)
    return KnownRelease(release=_older(label), exact=False)


def _older(label: str) -> Release:
    return Release(
        label=label,
        hbase=OLDER_HBASE,
        hadoop=OLDER_HADOOP,
        zookeeper=OLDER_ZOOKEEPER,
        java_default=17 if label.startswith("emr-7.") else 8,
        zgc_documented=False,
        s3_connector="emrfs",
        read_policy_defect=False,
    )
