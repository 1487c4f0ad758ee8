"""The operations that were interrupted on a cluster, by the journals that they keep until they have ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from botocore.exceptions import ClientError

from configurations.launch import Launch
from operations.aws import Aws
from operations.aws_errors import MISSING, error_code

COMMANDS: Final[Mapping[str, str]] = {
    "restarts": "warmbase restart {} --rolling",
    "heals": "warmbase heal {}",
    "tables": "warmbase tables {}",
}
"""The command that keeps a journal in each folder of the log bucket; running it again continues what it began."""


def unfinished(aws: Aws, launch: Launch, cluster_id: str) -> tuple[str, ...]:
    """Return the commands that run now, or were interrupted and should run again. Raises botocore's errors."""
    environment = launch.environment
    bucket = environment.in_account(environment.log_bucket, aws.account)
    return tuple(
        command.format(environment.name)
        for folder, command in COMMANDS.items()
        if _exists(aws, bucket, f"{folder}/{cluster_id}.json")
    )


def _exists(aws: Aws, bucket: str, key: str) -> bool:
    try:
        aws.s3.head_object(Bucket=bucket, Key=key)
    except ClientError as error:
        if error_code(error) not in MISSING:
            raise
        return False
    return True
