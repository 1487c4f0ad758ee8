"""Files that lint refuses, booted all the same."""

from __future__ import annotations

from typing import Final

from lab.hbase.boots import refused as run

__all__ = ["QUESTION", "TITLE", "run"]

TITLE: Final = "What lint refuses"
QUESTION: Final = "Does HBase fail or misbehave with them as the rule says?"
