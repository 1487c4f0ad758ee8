"""Errors of AWS calls, translated to errors with what, why and fix, and answers that do not come from AWS."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from botocore import exceptions
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    HTTPClientError,
    IncompleteReadError,
    NoRegionError,
    ProfileNotFound,
)
from botocore.parsers import ResponseParserError
from botocore.session import Session

from warmbase.ground.errors import OperationFailed

T = TypeVar("T")
U = TypeVar("U")

ACTION: Final = "Action"
PRINCIPAL: Final = "Principal"
"""Keys that warmbase adds to the error of an answer; AWS states neither in a form that all services share."""

DENIED: Final = frozenset(
    {"403", "AccessDenied", "AccessDeniedException", "AuthorizationError", "UnauthorizedOperation"}
)
PREFIXES: Final = {"monitoring": "cloudwatch"}
"""The prefix of IAM's actions where it is not the name with which requests are signed."""
IAM_NAMES: Final = {
    "s3:GetBucketEncryption": "s3:GetEncryptionConfiguration",
    "s3:GetBucketLifecycleConfiguration": "s3:GetLifecycleConfiguration",
    "s3:GetBucketMetricsConfiguration": "s3:GetMetricsConfiguration",
    "s3:GetPublicAccessBlock": "s3:GetBucketPublicAccessBlock",
    "s3:HeadBucket": "s3:ListBucket",
    "s3:HeadObject": "s3:GetObject",
    "s3:ListBuckets": "s3:ListAllMyBuckets",
    "s3:ListObjectVersions": "s3:ListBucketVersions",
    "s3:ListObjectsV2": "s3:ListBucket",
    "s3:PutBucketLifecycleConfiguration": "s3:PutLifecycleConfiguration",
    "s3:PutBucketMetricsConfiguration": "s3:PutMetricsConfiguration",
}
"""The names of IAM's actions where they are not those of the API."""
FOREIGN: Final = re.compile(rb"\s*(<!doctype html|<html|(?P<text>[^\s<{\[]))", re.IGNORECASE)
XML_PROTOCOLS: Final = frozenset({"ec2", "query", "rest-xml"})
LONGEST_QUOTE: Final = 40
SERVER_FAULT: Final = 500
"""The first HTTP status by which a service says that it failed itself; a load balancer of AWS says so in HTML."""


class ForeignAnswer(BotoCoreError):
    """An answer that is neither XML nor JSON, as all of AWS's are: from a proxy, a portal, or another server."""

    fmt = "HTTP status {status} with {text!r} instead of an answer of {service}"


def explain_answers(session: Session, principal: Callable[[], str | None]) -> None:
    """Make the session refuse foreign answers, and add the action and the principal to each denial."""

    def refuse_foreign(*, operation_model: Any, response_dict: Mapping[str, Any], **_: object) -> None:  # noqa: ANN401
        status, body = response_dict["status_code"], response_dict["body"]
        service = operation_model.service_model.service_name
        if isinstance(body, bytes):
            # The answer broke off. A compressed answer has another length, and the answer to HEAD has no body.
            announced = int(response_dict["headers"].get("content-length") or 0)
            if body and announced > len(body) and "content-encoding" not in response_dict["headers"]:
                raise IncompleteReadError(actual_bytes=len(body), expected_bytes=announced)
            _refuse_text(status, body, operation_model)
        elif service == "s3" and "etag" not in response_dict["headers"]:
            # An object may hold anything, but S3 never sends one without its ETag.
            raise ForeignAnswer(status=status, text="an object without an ETag", service=service)

    def explain(*, http_response: Any, parsed: dict[str, Any], model: Any, **_: object) -> None:  # noqa: ANN401
        if parsed.get("Error", {}).get("Code") == str(SERVER_FAULT):
            # botocore makes an answer of S3 that it cannot parse an error of the server.
            _refuse_text(http_response.status_code, http_response.content, model)
        if parsed.get("Error", {}).get("Code") in DENIED:
            prefix = str(model.service_model.signing_name)
            action = f"{PREFIXES.get(prefix, prefix)}:{model.name}"
            # Asking for the principal would be denied as well.
            name = None if action.startswith("sts:") else principal()
            parsed["Error"] |= {ACTION: IAM_NAMES.get(action, action), PRINCIPAL: name}

    events = session.get_component("event_emitter")
    events.register("before-parse", refuse_foreign)
    events.register("after-call", explain)


def _refuse_text(status: int, body: bytes, model: Any) -> None:  # noqa: ANN401 - botocore's own type
    foreign, shape = FOREIGN.match(body), model.output_shape
    is_page = foreign is not None and (status < SERVER_FAULT or bool(foreign["text"]))
    # A JSON document that S3 stores, such as a policy, is a payload and no foreign answer.
    has_payload = shape is not None and "payload" in shape.serialization
    is_xml = model.service_model.protocol in XML_PROTOCOLS and not has_payload
    if is_page or (is_xml and body.lstrip().startswith((b"{", b"["))):
        text = body.lstrip()[:LONGEST_QUOTE].decode("utf-8", errors="replace")
        raise ForeignAnswer(status=status, text=text, service=model.service_model.service_name)


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
ANOTHER_SERVER: Final = f"{ENDPOINT}: another server answers in place of AWS"


def error_code(error: ClientError) -> str:
    """Return the service's own code."""
    return str(error.response.get("Error", {}).get("Code", ""))


@contextmanager
def suppress_codes(codes: Collection[str] = MISSING) -> Iterator[None]:
    """Leave the block at an error of AWS with one of these codes; the default is that something does not exist."""
    try:
        yield
    except ClientError as error:
        if error_code(error) not in codes:
            raise


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
        # botocore's message contains the whole answer that it could not parse.
        why = "the endpoint did not answer as AWS does" if isinstance(error, ResponseParserError) else str(error)
        raise OperationFailed.of(where="AWS", what=what, why=why, fix=_failure_fix(error, fix)) from error
    except KeyError as error:
        # AWS's keys begin with a capital letter: a missing key that does not is a bug of warmbase.
        key = str(error.args[0])
        if not key[:1].isupper():
            raise
        why = f"the endpoint answered without {key}"
        raise OperationFailed.of(where="AWS", what=what, why=why, fix=ANOTHER_SERVER) from error


class Parts:
    """The parts of a page, which are read one by one: if AWS refuses one, its line says so."""

    def __init__(self) -> None:
        self.is_blank = True
        self.failures: dict[str, OperationFailed] = {}
        """The failure of each part that could not be read, by its name."""

    def read(self, name: str, part: Callable[[], T], otherwise: U) -> T | U:
        """Return the part, or `otherwise` if it could not be read.

        Raises OperationFailed where no part can be read: without an answer of AWS, or with expired credentials.
        """
        try:
            with translated(f"could not read {name}", AGAIN):
                value = part()
        except OperationFailed as failure:
            cause = failure.__cause__
            if cause is not None and (not isinstance(cause, ClientError) or error_code(cause) in EXPIRED | SKEWED):
                raise
            self.failures[name] = failure
            return otherwise
        self.is_blank = False
        return value

    @property
    def unread(self) -> dict[str, str]:
        """Return why a part could not be read, by its name."""
        return {name: unread_reason(failure) for name, failure in self.failures.items()}


def unread_reason(failure: OperationFailed) -> str:
    """Return why something could not be read, in a line: the permission that is missing, or what AWS says."""
    error = failure.__cause__
    if not isinstance(error, ClientError):
        return failure.summary
    if error_code(error) in DENIED:
        return f"these credentials lack the permission {error.response['Error'].get(ACTION, error.operation_name)}"
    return str(error)


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


def _failure_fix(error: Exception, otherwise: str) -> str:
    """Return what to do if there is no answer, or one that is not from AWS."""
    if isinstance(error, (ForeignAnswer, ResponseParserError)):
        return ANOTHER_SERVER
    if isinstance(error, (exceptions.IncompleteReadError, exceptions.ResponseStreamingError)):
        return f"the connection was lost before the answer was complete: {AGAIN}"
    if isinstance(error, (exceptions.ConnectionError, HTTPClientError)):
        return f"check that this machine reaches that address, and {ENDPOINT}; then {AGAIN}"
    if isinstance(error, ProfileNotFound):
        return otherwise
    if isinstance(error, NoRegionError):
        return "set AWS_REGION"
    return f"set AWS_PROFILE or other credentials (for example, aws sso login), and {AGAIN}"
