"""The handlers of a cold lab limit its reads, because they wait for S3; the warmer it is, the more it serves."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from lab.prediction import ColdLab, Course, cold_course
from lab.scaled_plan import Small, miniature
from warmbase.configurations.launch import Launch
from warmbase.facts.releases import releases
from warmbase.ground.units import GIB, MIB
from warmbase.sizing.service.resource import Disk

DISK = Disk(kind="ebs", bytes_per_second=GIB, ios_per_second=1e5, latency_seconds=0.1e-3)


@pytest.fixture(scope="module")
def cold(launches: Callable[[str], Launch]) -> ColdLab:
    launch = launches("prod")
    small = Small(memory_bytes=4 * GIB, data_bytes=96 * MIB, servers=3)
    plan = miniature(launch.plan, launch.environment.workload, releases()[launch.environment.release], small)
    return ColdLab(miniature=plan, vcpus=2, handlers=2, first_byte_seconds=0.168)


def test_handlers_that_wait_for_s3_are_the_limit_at_first(cold: ColdLab) -> None:
    # Of two handlers and eight files on each of three servers, 2 x 8 / 9 work at once, some 2 ms of it without S3.
    assert cold_course(cold, DISK).per_second[0] == pytest.approx(3 * (16 / 9) / 0.170, rel=0.01)


def test_the_time_to_warm_is_that_of_the_misses(cold: ColdLab) -> None:
    """After A reads of n equal blocks, n (1 - exp(-A / n)) were misses, and each of them occupies a handler."""
    course, blocks = cold_course(cold, DISK), cold.miniature.demand.blocks.count
    misses_per_second = course.per_second[0]
    # Three times the load is carried when a third of the reads miss, after two thirds of the blocks were read.
    assert course.seconds_to(3 * misses_per_second) == pytest.approx(2 / 3 * blocks / misses_per_second, rel=0.05)


def test_a_course_that_begins_warmer_is_the_rest_of_the_other(cold: ColdLab) -> None:
    whole = cold_course(cold, DISK)
    rest = cold_course(replace(cold, cached_blocks=cold.miniature.demand.blocks.count / 10), DISK)
    load = 3 * whole.per_second[0]
    assert rest.per_second[0] == pytest.approx(whole.per_second[0] / 0.9, rel=0.02)
    assert rest.seconds_to(load) < whole.seconds_to(load)


def test_the_mean_of_a_course_is_taken_over_time() -> None:
    course = Course([0.0, 10.0, 20.0], [10.0, 10.0, 30.0])
    assert course.mean_until(20.0) == pytest.approx(15.0, rel=0.01)
    assert course.seconds_to(30.0) == 20.0
    assert course.seconds_to(31.0) == float("inf")
