"""The commands that have not finished their work on a cluster; each keeps a journal until it has."""

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
"""The command that keeps its journal in each folder of the log bucket; run again, it continues where it stopped."""


def unfinished_commands(aws: Aws, launch: Launch, cluster_id: str) -> tuple[str, ...]:
    """Return the commands that run now, or that were interrupted and should run again. Raises botocore's errors."""
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
