"""Classifications as the files they become on a node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from xml.sax.saxutils import escape

from emr.classification import Classification
from environments.override import Override

__all__ = ["hbase_site_xml", "site_properties"]


def site_properties(classifications: Iterable[Classification]) -> Mapping[str, str]:
    """The properties of `hbase-site`; empty when there is none."""
    return next((found.properties for found in classifications if found.name == "hbase-site"), {})


def hbase_site_xml(classifications: Iterable[Classification], overrides: Iterable[Override] = ()) -> str:
    """`hbase-site.xml`, one property after the other in the order rendered; an override says where it comes from."""
    marks = {override.key: override.where for override in overrides if override.classification == "hbase-site"}
    properties = "".join(
        f"{_mark(marks.get(key))}  <property>\n    <name>{escape(key)}</name>\n    <value>{escape(value)}</value>\n"
        "  </property>\n"
        for key, value in site_properties(classifications).items()
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<configuration>\n{properties}</configuration>\n'


def _mark(where: str | None) -> str:
    return f"  <!-- an override: {escape(where).replace('--', '- -')} -->\n" if where else ""
