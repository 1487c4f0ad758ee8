"""A real Trino on this machine, whose file-system cache is measured against the lab's S3, and its scenarios by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lab.hbase.scenarios import Scenario

TRINO_CACHE: Final = "trino-cache"
SCENARIOS: Final[Mapping[str, Scenario]] = {
    TRINO_CACHE: Scenario(
        "Trino's file-system cache",
        "How many bytes does Trino read from its cache and from S3: cold, warm, restarted, and with too small a cache?",
    ),
}
