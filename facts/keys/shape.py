"""Recognises configuration keys of HBase and Hadoop among all the strings of a program."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["is_key", "is_name"]

NAME: Final = re.compile(r"[A-Za-z0-9][\w-]*(?:\.[\w-]+)+(?<![_-])", re.ASCII)

ROOTS: Final = (
    "adl.",
    "backup.client.",
    "datanode.https.",
    "dfs.",
    "file.",
    "fs.",
    "ftp.",
    "ha.",
    "hadoop.",
    "hbase.",
    "hbasefsck.",
    "hdfs.client.",
    "hfile.",
    "hfilevalidator.",
    "hlog.",
    "httpfs.",
    "import.",
    "importtsv.",
    "io.",
    "ipc.",
    "jvm.",
    "master.rmi.",
    "net.",
    "nfs.",
    "regionserver.rmi.",
    "replication.",
    "rpc.",
    "security.",
    "seq.",
    "snapshot.",
    "ssl.client.",
    "ssl.server.",
    "sync.table.",
    "tfile.",
    "topology.",
    "verifyrep.",
    "wal.",
    "yarn.",
    "zookeeper.",
)
"""How keys begin: with what keys of the default files begin with, and what classes read from a Configuration besides.

MapReduce's own keys are in no module that is read, and so left out rather than known by halves.
"""

NOT_KEYS: Final = frozenset(
    {
        "file.separator",  # of Java
        "hadoop.auth",  # a cookie
        "hadoop.conf",  # attributes of servlets
        "hbase.conf",
        "hbase.id",  # files in the root directory
        "hbase.version",
        "hbase.rootDir",  # a slip of HBase's own MajorCompactor
    }
)
NOT_ROOTS: Final = (
    "fs.capability.",  # what a file system answers of itself
    "fs.option.",  # what a program asks of one stream
    "fs.s3a.capability.",
)
FILE_NAME: Final = re.compile(
    r".*\.(?:css|gif|html?|ico|jar|js|json|jsp|keytab|log|png|properties|proto|sh|tmp|txt|xml)"
)
SHOUTED: Final = re.compile(r"(?:.*\.)?[A-Z][A-Z0-9_]+(?:\..*)?")
"""A part in capitals: an entry of an HFile's own index, or a pool of threads."""


def is_name(text: str) -> bool:
    """Return whether it is written like a key: at least two parts with points between, and nothing open at the end."""
    return NAME.fullmatch(text) is not None


def is_key(text: str) -> bool:
    """Return whether a string in a program is a key, and not a name of something else."""
    return (
        text.startswith(ROOTS)
        and is_name(text)
        and text not in NOT_KEYS
        and not text.startswith(NOT_ROOTS)
        and FILE_NAME.fullmatch(text) is None
        and SHOUTED.fullmatch(text) is None
    )
