"""The best assignment of regions: equal to brute force on small cases, and lawful on all."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Mapping
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from warmbase.sizing.recovery.region_assignment import SLACK, CachedRegion, best_assignment, region_bound

SERVERS = ("a", "b", "c")
Regions = dict[str, CachedRegion]


def a_region(server: str, cached: tuple[int, int, int]) -> CachedRegion:
    return CachedRegion(
        server=server, cached_bytes={name: size for name, size in zip(SERVERS, cached, strict=True) if size}
    )


some_bytes = st.integers(min_value=0, max_value=5)
some_regions: st.SearchStrategy[Regions] = st.lists(
    st.builds(a_region, st.sampled_from(SERVERS), st.tuples(some_bytes, some_bytes, some_bytes)), max_size=6
).map(lambda regions: {f"r{number}": region for number, region in enumerate(regions)})
bounds = st.integers(min_value=0, max_value=6)


def cached(regions: Regions, places: Mapping[str, str]) -> int:
    return sum(regions[name].bytes_on(server) for name, server in places.items())


def moves(regions: Regions, places: Mapping[str, str]) -> int:
    return sum(regions[name].server != server for name, server in places.items())


def now(regions: Regions) -> dict[str, str]:
    return {name: region.server for name, region in regions.items()}


def is_within(regions: Regions, places: Mapping[str, str], bound: int) -> bool:
    before, after = Counter(now(regions).values()), Counter(places.values())
    return all(count <= max(bound, before[server]) for server, count in after.items())


def worth(regions: Regions, places: Mapping[str, str], bound: int, move_bytes: int) -> tuple[int, int]:
    """Return the bytes after what is paid for, and what decides among equals."""
    moved = [name for name, server in places.items() if regions[name].server != server]
    blind = sum(regions[name].bytes_on(places[name]) <= move_bytes for name in moved)
    even = min(bound, region_bound(len(regions), len(SERVERS), 0)) if regions else 0
    surplus = sum(max(0, load - even) for load in Counter(places.values()).values())
    paid = len(moved) + blind + surplus
    return cached(regions, places) - move_bytes * paid, -len(moved) - 2 * (blind + surplus)


def brute_force(regions: Regions, bound: int, move_bytes: int) -> tuple[int, int]:
    """Return the most that any assignment within the bound is worth."""
    every = (dict(zip(regions, places, strict=True)) for places in product(SERVERS, repeat=len(regions)))
    return max(worth(regions, places, bound, move_bytes) for places in every if is_within(regions, places, bound))


@given(some_regions, bounds, st.integers(min_value=0, max_value=3))
def test_no_other_assignment_is_better(regions: Regions, bound: int, move_bytes: int) -> None:
    places = best_assignment(regions, SERVERS, bound, move_bytes)
    assert worth(regions, places, bound, move_bytes) == brute_force(regions, bound, move_bytes)


@given(some_regions, bounds, st.integers(min_value=0, max_value=3))
def test_the_bound_holds_and_no_cached_bytes_are_lost(regions: Regions, bound: int, move_bytes: int) -> None:
    places = best_assignment(regions, SERVERS, bound, move_bytes)
    assert is_within(regions, places, bound)
    assert cached(regions, places) >= cached(regions, now(regions))


@given(some_regions, bounds)
def test_a_looser_bound_never_gives_fewer_cached_bytes(regions: Regions, bound: int) -> None:
    tight, loose = (best_assignment(regions, SERVERS, limit) for limit in (bound, bound + 1))
    assert cached(regions, loose) >= cached(regions, tight)


@given(some_regions, bounds, st.integers(min_value=0, max_value=3))
def test_after_the_moves_no_move_is_better(regions: Regions, bound: int, move_bytes: int) -> None:
    places = best_assignment(regions, SERVERS, bound, move_bytes)
    moved = {name: replace(region, server=places[name]) for name, region in regions.items()}
    assert best_assignment(moved, SERVERS, bound, move_bytes) == places


def places_on_a_large_cluster() -> dict[str, str]:
    """Every region is best on the same few servers, so that most of them cannot be where they are worth most."""
    draw = random.Random(1)
    servers = [f"s{number}" for number in range(11)]
    regions = {
        f"r{number}": CachedRegion(
            server=draw.choice(servers),
            cached_bytes={server: draw.randrange(1 << 30) // (place + 1) for place, server in enumerate(servers)},
        )
        for number in range(2_640)
    }
    return best_assignment(regions, servers, region_bound(len(regions), len(servers)))


def test_a_large_cluster_is_balanced() -> None:
    assert max(Counter(places_on_a_large_cluster().values()).values()) <= 288


@pytest.mark.bench
def test_a_large_cluster_takes_no_time() -> None:
    began = time.process_time()
    places_on_a_large_cluster()
    assert time.process_time() - began < 5.0


def test_regions_return_to_the_server_that_lost_them() -> None:
    caches = {f"r{number}": SERVERS[number % 3] for number in range(24)}
    regions = {
        name: CachedRegion(server="a" if home == "c" else home, cached_bytes={home: 8, "a": 1})
        for name, home in caches.items()
    }
    assert best_assignment(regions, SERVERS, region_bound(24, 3)) == caches


def test_a_server_beyond_the_mean_gives_away_only_what_another_cache_has() -> None:
    """Two caches have the first two regions, which follow evenness; of the others, the first cache has more."""
    regions = {f"r{number}": a_region("a", (8, 8 if number < 2 else 7, 0)) for number in range(6)}
    places = best_assignment(regions, SERVERS, bound=6, move_bytes=4)
    assert [name for name, server in places.items() if server == "b"] == ["r0", "r1"]


def test_regions_that_no_cache_has_stay() -> None:
    regions = {f"r{number}": a_region("a", (0, 0, 0)) for number in range(6)}
    assert best_assignment(regions, SERVERS, bound=2, move_bytes=4) == now(regions)


def test_a_cache_with_second_copies_does_not_keep_the_regions_of_a_server_that_returned() -> None:
    """The regions were prefetched by other servers after theirs had died, so two caches have all of each."""
    caches = {f"r{number:02}": SERVERS[number % 3] for number in range(24)}
    regions = {
        name: CachedRegion(server=place, cached_bytes={home: 8, place: 8})
        for number, (name, home) in enumerate(caches.items())
        for place in [SERVERS[number % 2] if home == "c" else home]
    }
    assert best_assignment(regions, SERVERS, region_bound(24, 3), move_bytes=2) == caches


def test_a_region_on_an_unknown_server_is_an_error() -> None:
    with pytest.raises(KeyError):
        best_assignment({"r": a_region("a", (1, 0, 0))}, ("b", "c"), 1)


@pytest.mark.parametrize(
    ("regions", "servers", "slack", "bound"),
    [(24, 3, SLACK, 10), (2_640, 11, SLACK, 288), (5, 2, 0.0, 3), (1, 3, 0.0, 1)],
)
def test_the_bound_is_a_fraction_above_the_mean(regions: int, servers: int, slack: float, bound: int) -> None:
    assert region_bound(regions, servers, slack) == bound
