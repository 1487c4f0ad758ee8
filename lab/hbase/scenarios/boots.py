"""Rendered files on a real RegionServer: what its log and its JMX say, beside the plan."""

from __future__ import annotations

from typing import Final

from lab.hbase.boots import boots as run

__all__ = ["QUESTION", "TITLE", "run"]

TITLE: Final = "Rendered files boot"
QUESTION: Final = "Does a real HBase start with what is rendered, for each mode and role, and set itself as planned?"
