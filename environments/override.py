"""A property that a person sets against the plan's own value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """`classification` is a path such as `hbase-env/export`; `where` is file and line."""

    classification: str
    key: str
    value: str
    where: str
