"""Requests signed as AWS wants them: as the SDK signs the same ones, and in Python 3.9's grammar."""

from __future__ import annotations

import ast
import importlib.util
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import pytest
from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from warmbase.configurations.bootstrap import DIRECTORY, program

PROGRAMS = sorted((DIRECTORY / "programs").glob("*.py"))
NOW = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)


@pytest.fixture(scope="module")
def role_requests() -> ModuleType:
    """The module as it lies on a node."""
    spec = importlib.util.spec_from_file_location("role_requests", program("role_requests.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with patch.dict(sys.modules, {"role_requests": module}):
        spec.loader.exec_module(module)
    return module


REQUESTS = [
    ("s3", "PUT", "https://s3.us-east-1.amazonaws.com/b/hbase.warmbase-claim", {"If-None-Match": "*"}, b"{}"),
    ("s3", "GET", "https://s3.eu-west-1.amazonaws.com/b/a/b%20c~d", {}, b""),
    ("elasticmapreduce", "POST", "https://elasticmapreduce.us-east-1.amazonaws.com/", {"X-Amz-Target": "A"}, b"{}"),
    ("monitoring", "POST", "https://monitoring.us-east-1.amazonaws.com/", {"Content-Type": "a; b"}, b"Action=P"),
    ("monitoring", "GET", "https://monitoring.us-east-1.amazonaws.com/?b=2&a=1", {}, b""),
]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda each: f"{each[1]} {each[0]}")
def test_the_signature_is_the_sdks(
    role_requests: ModuleType, request_: tuple[str, str, str, dict[str, str], bytes]
) -> None:
    service, method, url, headers, body = request_
    role = ("AKIATEST", "secret", "session")
    asked = role_requests.Request(method, url, headers, body)
    mine = role_requests.signed(asked, role_requests.Credentials(*role), "us-east-1", service, NOW).headers
    digest = {"x-amz-content-sha256": mine["x-amz-content-sha256"]}
    theirs = AWSRequest(method=method, url=url, data=body, headers={**headers, **digest})
    signer = S3SigV4Auth if service == "s3" else SigV4Auth
    with patch("botocore.auth.get_current_datetime", return_value=NOW.replace(tzinfo=None)):
        signer(Credentials(*role), service, "us-east-1").add_auth(theirs)
    assert mine["authorization"] == theirs.headers["Authorization"]


@pytest.mark.parametrize("file", PROGRAMS, ids=lambda file: file.stem)
def test_programs_are_of_python_3_9_and_its_own_library(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"), feature_version=(3, 9))
    imported = [name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names]
    modules = {each.name.partition(".")[0] for each in imported}
    modules |= {str(node.module).partition(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert modules - {"role_requests"} <= sys.stdlib_module_names
    assert not any(isinstance(node, ast.Match) for node in ast.walk(tree))
