"""A volume on which the tests try the program that systemd runs before each RegionServer start."""

from pathlib import Path

import pytest

from tests.bootstrap_actions.before_regionserver import Volume


@pytest.fixture
def volume(tmp_path: Path) -> Volume:
    return Volume(tmp_path)
