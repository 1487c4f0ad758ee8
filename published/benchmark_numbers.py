"""The numbers that the EMR benchmark's source gives, one by one."""

from __future__ import annotations

from typing import Final

RECORDS: Final = 49_828_500
FIELDS: Final = 2_000
FIELD_BYTES: Final = 425
STORED_BYTES: Final = 7_900_000_000_000
# Operations a second and their mean latency, without the cache and with it.
COLD: Final = 371.93
COLD_MS: Final = 2_680
WARM: Final = 888.67
WARM_MS: Final = 1_127
# GETs an hour: at the start, after 24 h, and the peak of figure 4.
COLD_GETS: Final = 95_000
WARM_GETS: Final = 1_000
PEAK_GETS: Final = 900_000
NODE_CACHE_GB: Final = (18, 20)
"""The bytes that the caches of the three nodes held in the restart test (figure 5)."""
