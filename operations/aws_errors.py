"""Errors of AWS calls, translated to errors with what, why and fix."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError

from sizing.problem import OperationFailed

EXPIRED: Final = frozenset({"ExpiredToken", "ExpiredTokenException", "RequestExpired", "InvalidClientTokenId"})
DENIED: Final = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})
THROTTLED: Final = frozenset({"Throttling", "ThrottlingException", "TooManyRequestsException", "SlowDown"})
MISSING: Final = frozenset(
    {"404", "NoSuchKey", "NoSuchBucket", "NoSuchConfiguration", "NoSuchLifecycleConfiguration", "ParameterNotFound"}
)
"""Codes by which S3 and Systems Manager say that something is not there."""


def error_code(error: ClientError) -> str:
    """Return the service's own code."""
    return str(error.response.get("Error", {}).get("Code", ""))


@contextmanager
def translated(what: str, fix: str) -> Iterator[None]:
    """Makes a refusal within the block an OperationFailed: `what` could not be done; `fix` where we know no better."""
    try:
        yield
    except ClientError as error:
        raise OperationFailed.of(
            where=f"AWS {error.operation_name}", what=what, why=str(error), fix=_fix(error_code(error), fix)
        ) from error
    except BotoCoreError as error:
        raise OperationFailed.of(
            where="AWS",
            what=what,
            why=str(error),
            fix="set AWS_PROFILE or other credentials, and check that this machine reaches AWS",
        ) from error


def _fix(code: str, otherwise: str) -> str:
    if code in EXPIRED:
        return "get new credentials (for example, aws sso login) and run the same command again to continue"
    if code in DENIED:
        return "allow these credentials the action named above, or use others; then run the same command again"
    if code in THROTTLED:
        return "AWS is throttling requests: wait a minute, and run the same command again to continue"
    return otherwise
