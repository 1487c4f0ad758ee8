"""One mocked AWS per test, with the extension installed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from moto import mock_aws

from local_aws.extension import install
from tests.local_aws.aws_bench import Bench, bench


@pytest.fixture
def aws() -> Iterator[Bench]:
    install()
    with mock_aws():
        yield bench()
