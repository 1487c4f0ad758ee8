"""The files that classifications become on a node: `hbase-site.xml`, and the variables of `hbase-env.sh`."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from xml.sax.saxutils import escape

from emr.classification import Classification, flattened
from environments.override import Override


def site_properties(classifications: Iterable[Classification]) -> Mapping[str, str]:
    """Return the properties of `hbase-site`; it is empty when there is no such classification."""
    return next(
        (classification.properties for classification in classifications if classification.name == "hbase-site"), {}
    )


def hbase_site_xml(classifications: Iterable[Classification], overrides: Iterable[Override] = ()) -> str:
    """Return `hbase-site.xml` in the order rendered; a comment above each override names its place in the file."""
    places = {override.key: override.where for override in overrides if override.classification == "hbase-site"}
    properties = "".join(
        f"{_comment(places.get(key))}  <property>\n    <name>{escape(key)}</name>\n    <value>{escape(value)}</value>\n"
        "  </property>\n"
        for key, value in site_properties(classifications).items()
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<configuration>\n{properties}</configuration>\n'


def _comment(where: str | None) -> str:
    return f"  <!-- an override: {escape(where).replace('--', '- -')} -->\n" if where else ""


def exported(rendered: Iterable[Classification]) -> Mapping[str, str]:
    """Return the variables that `hbase-env` exports to the daemons, by name."""
    return {key: value for path, key, value in flattened(rendered) if path == "hbase-env/export"}


def region_server_flags(variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return every JVM flag of a RegionServer, collector first. EMR's `$HBASE_REGIONSERVER_OPTS` is not expanded."""
    names = ("HBASE_REGIONSERVER_GC_OPTS", "HBASE_REGIONSERVER_OPTS")
    options = " ".join(variables.get(name, "").strip('"') for name in names)
    return tuple(flag for flag in shlex.split(options) if not flag.startswith("$"))
