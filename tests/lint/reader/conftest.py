"""Fixtures that read a text as a ClusterSpec, or return its problems."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from warmbase.emr.cluster_spec import ClusterSpec
from warmbase.ground.errors import InvalidInput
from warmbase.linter.reader import read_subject

Read = Callable[..., ClusterSpec]
Problems = Callable[..., str]


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    """Return a function that reads a text as the file of that name."""
    monkeypatch.chdir(tmp_path)

    def reading(text: str | bytes, name: str = "try.txt", release: str | None = None) -> ClusterSpec:
        content = text if isinstance(text, bytes) else text.encode()
        Path(name).write_bytes(content)
        return read_subject(Path(name), release)

    return reading


@pytest.fixture
def problems(read: Read) -> Problems:
    """Return a function that returns the problems of a text that is refused."""

    def refusing(text: str | bytes, name: str = "try.txt", release: str | None = None) -> str:
        with pytest.raises(InvalidInput) as caught:
            read(text, name, release)
        return str(caught.value)

    return refusing
