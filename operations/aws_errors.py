"""Errors of AWS calls, translated to errors with what, why and fix."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from botocore import exceptions
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    HTTPClientError,
    NoRegionError,
    ProfileNotFound,
)
from botocore.parsers import ResponseParserError

from operations.aws_answers import ACTION, DENIED, PRINCIPAL, SERVER_FAULT, ForeignAnswer
from sizing.problem import OperationFailed

EXPIRED: Final = frozenset(
    {
        "AuthFailure",
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidToken",
        "RequestExpired",
        "TokenRefreshRequired",
        "UnrecognizedClientException",
    }
)
SKEWED: Final = frozenset({"InvalidSignatureException", "RequestTimeTooSkewed", "SignatureDoesNotMatch"})
THROTTLED: Final = frozenset(
    {
        "429",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
MISSING: Final = frozenset(
    {"404", "NoSuchKey", "NoSuchBucket", "NoSuchConfiguration", "NoSuchLifecycleConfiguration", "ParameterNotFound"}
)
"""Codes by which S3 and Systems Manager say that something is not there."""

AGAIN: Final = "run the same command again"
ENDPOINT: Final = "check AWS_ENDPOINT_URL and the proxy settings (HTTPS_PROXY)"


def error_code(error: ClientError) -> str:
    """Return the service's own code."""
    return str(error.response.get("Error", {}).get("Code", ""))


@contextmanager
def translated(what: str, fix: str) -> Iterator[None]:
    """Translate each failure within the block to an OperationFailed; `fix` is for a refusal that is not known here."""
    try:
        yield
    except ClientError as error:
        raise OperationFailed.of(
            where=f"AWS {error.operation_name}", what=what, why=str(error), fix=_refusal_fix(error, fix)
        ) from error
    except (BotoCoreError, ResponseParserError) as error:
        raise OperationFailed.of(where="AWS", what=what, why=_reason(error), fix=_failure_fix(error, fix)) from error
    except KeyError as error:
        raise _incomplete(error, what) from error


def _incomplete(error: KeyError, what: str) -> OperationFailed:
    """Return the error of an answer that lacks a key; a key that does not begin as AWS's do is a fault of ours."""
    key = str(error.args[0])
    if not key[:1].isupper():
        raise error
    why = f"the endpoint answered without {key}"
    return OperationFailed.of(
        where="AWS", what=what, why=why, fix=f"{ENDPOINT}: another server answers in place of AWS"
    )


def _refusal_fix(error: ClientError, otherwise: str) -> str:
    """Return what to do about an answer that refuses a request."""
    code, response = error_code(error), error.response
    if code in EXPIRED:
        return f"get new credentials (for example, aws sso login) and {AGAIN} to continue"
    if code in SKEWED:
        return f"check the clock of this machine and the secret access key; then {AGAIN}"
    if code in DENIED:
        principal = response["Error"].get(PRINCIPAL) or "these credentials"
        action = response["Error"].get(ACTION) or "named above"
        return f"allow {principal} the action {action}, or use other credentials; then {AGAIN}"
    if code in THROTTLED:
        return f"AWS is throttling requests: wait a minute, and {AGAIN} to continue"
    if response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) >= SERVER_FAULT:
        return f"the service failed: wait a few minutes, and {AGAIN}; the AWS Health Dashboard lists outages"
    return otherwise


def _reason(error: Exception) -> str:
    """Return the message; botocore puts an answer that it cannot parse into it whole, and that is left out."""
    if isinstance(error, ResponseParserError):
        return "the endpoint did not answer as AWS does"
    return str(error)


def _failure_fix(error: Exception, otherwise: str) -> str:
    """Return what to do if there is no answer, or one that is not from AWS."""
    if isinstance(error, (ForeignAnswer, ResponseParserError)):
        return f"{ENDPOINT}: another server answers in place of AWS"
    if isinstance(error, (exceptions.IncompleteReadError, exceptions.ResponseStreamingError)):
        return f"the connection was lost before the answer was complete: {AGAIN}"
    if isinstance(error, (exceptions.ConnectionError, HTTPClientError)):
        return f"check that this machine reaches that address, and {ENDPOINT}; then {AGAIN}"
    if isinstance(error, ProfileNotFound):
        return otherwise
    if isinstance(error, NoRegionError):
        return "set AWS_REGION"
    return f"set AWS_PROFILE or other credentials (for example, aws sso login), and {AGAIN}"
