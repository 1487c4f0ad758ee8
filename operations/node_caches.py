"""The HFiles in the caches of core nodes: each node reads its own persisted index and writes the answer to S3.

A node may write below `emr/` in the log bucket, where the answers of steps are too. Systems Manager's own output to S3
would need nothing else, but its agent chooses the key and uploads after the command has ended.
"""

from __future__ import annotations

import json
import shlex
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import hfile.cache_index
from hfile.cache_index import CachedFile
from operations.aws_errors import AGAIN, translated
from operations.cluster_step import PrimaryShell
from operations.hbase_control import CacheContents
from operations.node_command import run_on_nodes

PROGRAM: Final = Path(__file__).parent / "on_node" / "cached-files.sh"
READER: Final = Path(hfile.cache_index.__file__)
# judgement: a million entries a second; the largest index has 14 million, and the volume is busy with reads.
SECONDS: Final = 600.0


def read_contents(
    primary: PrimaryShell, instances: Mapping[str, str], index: Mapping[str, str], longest_seconds: float
) -> dict[str, CacheContents]:
    """Return the contents of each server's cache; `instances` has the node of each server.

    `index` has INDEX, the path of the index, and its FORMAT. Raises OperationFailed where a node does not answer.
    """
    keys = {server: f"emr/{primary.cluster_id}/warmbase/files-of-cache-{uuid.uuid4().hex}.json" for server in instances}
    texts = {instances[server]: text(index, f"s3://{primary.log_bucket}/{key}") for server, key in keys.items()}
    run_on_nodes(primary.aws, texts, SECONDS)
    return {server: contents(_document(primary, key), longest_seconds) for server, key in keys.items()}


def text(index: Mapping[str, str], answer: str) -> str:
    """Return the shell text that reads the index on a node and writes to this URL."""
    values = {**index, "READER": READER.read_text(encoding="utf-8"), "ANSWER": answer}
    assignments = " ".join(f"{name}={shlex.quote(value)}" for name, value in values.items())
    return f"{assignments}\n{PROGRAM.read_text(encoding='utf-8')}"


def contents(document: Mapping[str, Any], longest_seconds: float) -> CacheContents:
    """Return the contents that a node's answer describes.

    A cache that has not changed since its index was written is as the index says, however old that is. The publisher
    notices a change each minute; what happened after its last run is not known.
    """
    publisher = document["publisher"]
    since = publisher.get("changed_at") or max(publisher.get("at") or 0.0, document["written_at"])
    return CacheContents(
        age_seconds=document["now"] - document["written_at"],
        behind_seconds=max(0.0, document["now"] - since),
        longest_seconds=longest_seconds,
        files={name: CachedFile(*counts) for name, counts in document["files"].items()},
    )


def _document(primary: PrimaryShell, key: str) -> Any:  # noqa: ANN401 - JSON
    with translated(f"could not read s3://{primary.log_bucket}/{key}", AGAIN):
        return json.loads(primary.aws.s3.get_object(Bucket=primary.log_bucket, Key=key)["Body"].read())
