"""Tables and column families as the lab creates them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct


class TableFamily(Struct, frozen=True, kw_only=True):
    """A column family. `attributes` have HBase's names (PREFETCH_BLOCKS_ON_OPEN); None leaves HBase's default."""

    name: str
    compression: str | None = None
    block_bytes: int | None = None
    encoding: str | None = None
    bloom: str | None = None
    configuration: Mapping[str, str] | None = None
    attributes: Mapping[str, str] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the value in the form that the process reads."""
        named = {
            "name": self.name,
            "compression": self.compression,
            "block_bytes": self.block_bytes,
            "encoding": self.encoding,
            "bloom": self.bloom,
            "configuration": self.configuration and dict(self.configuration),
        }
        return {key: value for key, value in named.items() if value is not None} | dict(self.attributes or {})


class TableSpec(Struct, frozen=True, kw_only=True):
    """A table to create: cut at `split_keys`, or into `regions` that hold equal numbers of YCSB's rows."""

    name: str
    families: Sequence[TableFamily]
    regions: int = 1
    split_keys: Sequence[str] = ()
    attributes: Mapping[str, str] | None = None
    configuration: Mapping[str, str] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the value in the form that the process reads."""
        return {
            "table": self.name,
            "families": [family.to_json() for family in self.families],
            "regions": self.regions,
            "split_keys": list(self.split_keys),
            "attributes": dict(self.attributes or {}),
            "configuration": dict(self.configuration or {}),
        }
