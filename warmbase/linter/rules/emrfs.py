"""Settings of EMRFS on a cluster that reads S3 with S3A."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from warmbase.configurations.properties.property import Span
from warmbase.facts.table import rows
from warmbase.linter.finding import REMOVED, Consequence, Severity
from warmbase.linter.node import LintedNode
from warmbase.linter.rule import NO_AWS, Rule, Violation

CONSISTENT: Final = "fs.s3.consistent"
MAPPING: Final = "fs.s3a.emrfs.compatibility.enable"
OF_EMRFS: Final = ("fs.s3.", "fs.s3n.")
IMPLEMENTATION: Final = ("fs.s3.impl", "fs.s3n.impl")
READERS: Final = ("emrfs-site", "core-site", "hbase-site")


@cache
def _emrfs_only() -> Mapping[str, str]:
    """Return the keys that only EMRFS reads, each with what to do instead."""
    return {row["key"]: row["instead"] for row in rows("emrfs-only.csv")}


@Rule(
    id="WB611",
    severity=Severity.WARNING,
    consequence=Consequence.IGNORED,
    title="EMRFS key that S3A does not read",
    because="from EMR 7.10 on, S3A reads s3://, and EMR maps only some keys of EMRFS to keys of S3A",
    fix="remove it",
    source="EMR Release Guide, emr-s3a-migrate",
    proof=NO_AWS,
    emr=Span(since=(7, 10, 0)),
    of_hbase=False,
)
def _without_counterpart(node: LintedNode) -> Iterator[Violation]:
    if node.on_emrfs:
        return
    view = node.text(CONSISTENT, "emrfs-site")
    has_no_view = view is not None and view.lower() == "false"
    maps = (node.text(MAPPING, "core-site") or "true").lower() != "false"
    for (path, key), setting in node.settings.items():
        if path not in READERS or (key.startswith(CONSISTENT) and (has_no_view or _is_off(setting.value))):
            continue
        instead = _emrfs_only().get(CONSISTENT if key.startswith(CONSISTENT) else key)
        if instead is not None:
            yield Violation(
                setting,
                f"{key} configures EMRFS; S3A has no counterpart",
                fix=instead,
                edit=REMOVED if instead.startswith("remove it") else None,
            )
        elif not maps and key.startswith(OF_EMRFS) and key not in IMPLEMENTATION:
            yield Violation(
                setting,
                f"{key} configures EMRFS, and {MAPPING}=false keeps EMR from mapping it to S3A",
                fix=f"write the key of S3A, or remove {MAPPING}",
            )


def _is_off(value: str) -> bool:
    return value.strip().lower() == "false"
