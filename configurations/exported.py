"""What `hbase-env` exports to the daemons of a node, and the flags of a RegionServer's JVM among it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping

from emr.classification import Classification, flattened

__all__ = ["exported", "region_server_flags"]


def exported(rendered: Iterable[Classification]) -> Mapping[str, str]:
    """Variables by name; none where nothing is exported."""
    return {key: value for path, key, value in flattened(rendered) if path == "hbase-env/export"}


def region_server_flags(variables: Mapping[str, str]) -> tuple[str, ...]:
    """Every flag that is rendered for it, collector first. EMR's own `$HBASE_REGIONSERVER_OPTS` is not expanded."""
    names = ("HBASE_REGIONSERVER_GC_OPTS", "HBASE_REGIONSERVER_OPTS")
    said = " ".join(variables.get(name, "").strip('"') for name in names)
    return tuple(flag for flag in shlex.split(said) if not flag.startswith("$"))
