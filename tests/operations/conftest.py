"""A cluster that is deployed in the process of its test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from moto import mock_aws

from local_aws.extension import install
from tests.operations.deployed import Deployed, deployed
from tests.operations.mocked_aws import clients


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Deployed]:
    install()
    with mock_aws():
        yield deployed(clients(), tmp_path)
