"""A cache that holds all the data caches the output of compactions; no single compaction replaces a smaller cache."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from warmbase.ground.units import TIB
from warmbase.sizing.cache.bucket_cache import largest_cached_compaction_bytes

BYTES = st.integers(1, 100 * TIB)


@given(cache=BYTES, servers=st.integers(1, 200), data=BYTES)
def test_only_a_cache_below_the_data_has_a_limit(cache: int, servers: int, data: int) -> None:
    limit = largest_cached_compaction_bytes(cache, servers, data)
    assert (limit is None) == (cache * servers >= data)
    assert limit is None or limit <= cache / 10
