"""A deployed cluster for tests of commands that operate one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.operations.deployed import Deployed


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Deployed]:
    """Return a cluster that is deployed in this process, in an AWS of its own."""
    from moto import mock_aws  # noqa: PLC0415 - most tests of commands need no AWS

    from local_aws.extension import install  # noqa: PLC0415 - as above
    from tests.operations.deployed import deployed  # noqa: PLC0415 - as above
    from tests.operations.mocked_aws import clients  # noqa: PLC0415 - as above

    install()
    with mock_aws():
        yield deployed(clients(), tmp_path)
