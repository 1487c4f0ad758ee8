"""Table definitions that we emit, as HBase's own builders read them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from lab.hbase.admin import TableFamily, TableSpec
from lab.hbase.result import Measurement, MeasurementTarget, TargetKind

__all__ = ["defined_tables", "table_figures"]

ALTER: Final = re.compile(r"^alter '(?P<table>[^']+)', \{\n(?P<settings>.*?)^\}", re.MULTILINE | re.DOTALL)
SETTING: Final = re.compile(r"^\s*(?P<name>[A-Z_]+) => '(?P<value>[^']*)'", re.MULTILINE)


def defined_tables(script: str) -> tuple[TableSpec, ...]:
    """Return the tables that a script for HBase's shell alters, each with all its families."""
    families: dict[str, list[TableFamily]] = {}
    for found in ALTER.finditer(script):
        attributes = {setting["name"]: setting["value"] for setting in SETTING.finditer(found["settings"])}
        family = TableFamily(name=attributes.pop("NAME"), attributes=attributes)
        families.setdefault(found["table"], []).append(family)
    return tuple(TableSpec(name=name, families=tuple(each)) for name, each in families.items())


def table_figures(case: str, table: TableSpec, described: Mapping[str, Any]) -> Iterator[Measurement]:
    """Yield each attribute beside what the cluster made of it."""
    held = {family["name"]: family for family in described["families"]}
    for family in table.families:
        for name, value in (family.attributes or {}).items():
            yield Measurement(
                case=f"{case}, {table.name}:{family.name}",
                name=name,
                unit="",
                measured=str(held.get(family.name, {}).get(name, "not there")),
                predicted=value,
                because="the table's descriptor, as the master gives it back",
                target=MeasurementTarget(kind=TargetKind.SAME),
            )
