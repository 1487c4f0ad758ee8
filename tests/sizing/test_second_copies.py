"""Second copies: every block of the servers once more, and evictions only where the other caches have no room."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from warmbase.sizing.recovery.region_assignment import CacheBlocks, second_copies

CACHES = st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 500)), min_size=2, max_size=5)


def caches_of(caches: list[tuple[int, int]]) -> dict[str, CacheBlocks]:
    return {
        str(number): CacheBlocks(all_blocks=own + other, own_blocks=own, own_bytes=own * 10)
        for number, (own, other) in enumerate(caches)
    }


@given(contents=CACHES, capacity=st.integers(0, 5000))
def test_evictions_are_the_copies_that_find_no_room(contents: list[tuple[int, int]], capacity: int) -> None:
    caches = caches_of(contents)
    copies = second_copies(caches, sorted(caches), capacity)
    room = sum(max(0, capacity - blocks.all_blocks) for blocks in caches.values())
    assert copies.blocks == sum(own for own, _ in contents)
    assert max(0, copies.blocks - room) <= copies.evicted_blocks <= copies.blocks
    assert copies.gets == copies.blocks + copies.evicted_blocks


def test_caches_with_twice_the_room_evict_nothing() -> None:
    caches = caches_of([(100, 0), (100, 0), (100, 0)])
    assert second_copies(caches, sorted(caches), 200).evicted_blocks == 0
    assert second_copies(caches, sorted(caches), 150).evicted_blocks == 150
    assert second_copies(caches, ["0"], 100).evicted_blocks == 100
