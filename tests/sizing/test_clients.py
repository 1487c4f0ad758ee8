"""Clients outlast a lost server, and no longer than they must."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.sizing.clusters import PINNED, WORLD
from warmbase.sizing.calculator import plan
from warmbase.sizing.server.restart import DEFAULT_RETRIES, RESERVE, Restart, client_settings, patience_seconds

RESTART: Restart = plan(PINNED, WORLD).restart


@pytest.mark.parametrize(("retries", "seconds"), [(0, 0), (1, 0.1), (7, 8.1), (11, 48.1), (15, 128.1), (32, 468.1)])
def test_waits_of_a_client(retries: int, seconds: float) -> None:
    """HBase waits 1, 2, 3, 5, 10, 20, 40, 100, 100, 100, 100, 200 and then always 200 pauses of 100 ms."""
    assert patience_seconds(retries) == pytest.approx(seconds)


@given(window=st.floats(0, 4_000), opening=st.floats(0, 300), p99=st.floats(0.001, 100))
def test_retries_outlast_a_lost_server_and_an_operation_its_retries(window: float, opening: float, p99: float) -> None:
    restart = replace(RESTART, retention_window_seconds=window, opening_seconds=opening)
    settings = client_settings(restart, p99, retains=True)
    assert settings.outage_seconds == pytest.approx(40 + window + opening)
    assert patience_seconds(settings.retries) >= RESERVE * settings.outage_seconds
    fewest = settings.retries == DEFAULT_RETRIES
    assert fewest or patience_seconds(settings.retries - 1) < RESERVE * settings.outage_seconds
    assert settings.operation_timeout_ms / 1000 >= settings.patience_seconds + settings.rpc_timeout_ms / 1000
    assert 10_000 <= settings.rpc_timeout_ms <= 60_000


def test_without_retention_the_master_does_not_wait() -> None:
    assert client_settings(RESTART, 1, retains=False).retries < client_settings(RESTART, 1, retains=True).retries
