"""Classifications as the files they become on a node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from xml.sax.saxutils import escape

from configurations.classification import Classification

__all__ = ["hbase_site_xml", "site_properties"]


def site_properties(classifications: Iterable[Classification]) -> Mapping[str, str]:
    """The properties of `hbase-site`; empty when there is none."""
    return next((found.properties for found in classifications if found.name == "hbase-site"), {})


def hbase_site_xml(classifications: Iterable[Classification]) -> str:
    """`hbase-site.xml`, one property after the other in the order rendered."""
    properties = "".join(
        f"  <property>\n    <name>{escape(key)}</name>\n    <value>{escape(value)}</value>\n  </property>\n"
        for key, value in site_properties(classifications).items()
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<configuration>\n{properties}</configuration>\n'
