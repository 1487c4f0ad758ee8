"""The names of deleted SSM parameters: under the worse reading, each stays taken for a while."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from moto.ssm.exceptions import ParameterAlreadyExists
from moto.ssm.models import SimpleSystemManagerBackend

from local_aws import readings
from local_aws.moto_internals import wrap

if TYPE_CHECKING:
    from collections.abc import Callable

    from local_aws.moto_internals import Untyped

RESERVATION_SECONDS: Final = 1.0
"""AWS asks its users to wait for 30 s; a second is long enough for a command to meet it."""


def install() -> None:
    """Let moto remember when a parameter was deleted."""
    wrap(SimpleSystemManagerBackend, "delete_parameter", _delete)
    wrap(SimpleSystemManagerBackend, "put_parameter", _put)


def _deletions(backend: Untyped) -> dict[str, float]:
    deletions: dict[str, float] = backend.__dict__.setdefault("deletions", {})
    return deletions


def _delete(original: Callable[..., Untyped], backend: Untyped, name: str) -> None:
    original(backend, name)
    _deletions(backend)[name] = time.monotonic()


def _put(original: Callable[..., Untyped], backend: Untyped, name: str, *rest: Untyped, **named: Untyped) -> Untyped:
    deleted = _deletions(backend).get(name)
    if readings.are_worse() and deleted is not None and time.monotonic() - deleted < RESERVATION_SECONDS:
        raise ParameterAlreadyExists
    return original(backend, name, *rest, **named)
