"""The commands that have not finished their work on a cluster; each keeps a journal until it has."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from botocore.exceptions import ClientError

from configurations.launch import Launch
from operations.aws import Aws
from operations.aws_answers import DENIED
from operations.aws_errors import MISSING, error_code

COMMANDS: Final[Mapping[str, str]] = {
    "restarts": "warmbase restart {} --rolling",
    "heals": "warmbase heal {}",
    "tables": "warmbase tables {}",
}
"""The command that keeps its journal in each folder of the log bucket; run again, it continues where it stopped."""


def unfinished_commands(aws: Aws, launch: Launch, cluster_id: str) -> tuple[str, ...] | None:
    """Return the commands that run now, or that were interrupted and should run again.

    None if the credentials may not read the log bucket. Raises botocore's other errors.
    """
    environment = launch.environment
    bucket, name = environment.in_account(environment.log_bucket, aws.account), launch.plan.cluster
    cluster = "" if name == environment.active.name else f" --cluster {name}"
    try:
        journals = {folder: _read(aws, bucket, f"{folder}/{cluster_id}.json") for folder in COMMANDS}
    except ClientError as error:
        if error_code(error) not in DENIED:
            raise
        return None
    return tuple(
        f"{COMMANDS[folder].format(environment.name)}{_kind(journal)}{cluster}"
        for folder, journal in journals.items()
        if journal is not None
    )


def _kind(journal: bytes) -> str:
    """Return the option of a restart that moves regions away; the command refuses to continue the other kind."""
    try:
        document = json.loads(journal)
    except ValueError:
        return ""
    return " --available" if isinstance(document, dict) and document.get("available") else ""


def _read(aws: Aws, bucket: str, key: str) -> bytes | None:
    try:
        body: bytes = aws.s3.get_object(Bucket=bucket, Key=key)["Body"].read()
    except ClientError as error:
        if error_code(error) not in MISSING:
            raise
        return None
    return body
