"""Answers of an endpoint: what a refusal concerns, and answers that do not come from AWS."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from botocore.exceptions import BotoCoreError, IncompleteReadError
from botocore.session import Session

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
            _refuse_part(body, response_dict["headers"])
            _refuse_text(status, body, operation_model)
        elif service == "s3" and "etag" not in response_dict["headers"]:
            # An object may hold anything, but S3 never sends one without its ETag.
            raise ForeignAnswer(status=status, text="an object without an ETag", service=service)

    def explain(*, http_response: Any, parsed: dict[str, Any], model: Any, **_: object) -> None:  # noqa: ANN401
        if parsed.get("Error", {}).get("Code") == str(SERVER_FAULT):
            # botocore makes an answer of S3 that it cannot parse an error of the server.
            _refuse_text(http_response.status_code, http_response.content, model)
        if parsed.get("Error", {}).get("Code") in DENIED:
            action = f"{_prefix(model)}:{model.name}"
            # Asking for the principal would be denied as well.
            name = None if action.startswith("sts:") else principal()
            parsed["Error"] |= {ACTION: IAM_NAMES.get(action, action), PRINCIPAL: name}

    events = session.get_component("event_emitter")
    events.register("before-parse", refuse_foreign)
    events.register("after-call", explain)


def _refuse_part(body: bytes, headers: Mapping[str, str]) -> None:
    """Refuse an answer that broke off; a compressed one has another length, and the answer to HEAD has no body."""
    announced = int(headers.get("content-length") or 0)
    if body and announced > len(body) and "content-encoding" not in headers:
        raise IncompleteReadError(actual_bytes=len(body), expected_bytes=announced)


def _refuse_text(status: int, body: bytes, model: Any) -> None:  # noqa: ANN401 - botocore's own type
    foreign = FOREIGN.match(body)
    is_page = foreign is not None and (status < SERVER_FAULT or bool(foreign["text"]))
    if is_page or (_answers_in_xml(model) and body.lstrip().startswith((b"{", b"["))):
        text = body.lstrip()[:LONGEST_QUOTE].decode("utf-8", errors="replace")
        raise ForeignAnswer(status=status, text=text, service=model.service_model.service_name)


def _answers_in_xml(model: Any) -> bool:  # noqa: ANN401 - botocore's own type
    """Return whether an operation answers in XML; a document of JSON that S3 stores, such as a policy, is a payload."""
    shape = model.output_shape
    has_payload = shape is not None and "payload" in shape.serialization
    return model.service_model.protocol in XML_PROTOCOLS and not has_payload


def _prefix(model: Any) -> str:  # noqa: ANN401 - botocore's own type
    name = str(model.service_model.signing_name)
    return PREFIXES.get(name, name)
