"""The files and paths on a node: `hbase-site.xml`, the variables of `hbase-env.sh`, and where the volumes are mounted.

Classifications name only these paths; a bootstrap action mounts the right volumes behind them.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Final

from warmbase.emr.cluster_spec import Classification, flattened
from warmbase.environments.environment import Override
from warmbase.ground.markup import xml_comment, xml_text
from warmbase.sizing.plan import CoreGroup


def site_properties(classifications: Iterable[Classification]) -> Mapping[str, str]:
    """Return the properties of `hbase-site`; it is empty when there is no such classification."""
    return next(
        (classification.properties for classification in classifications if classification.name == "hbase-site"), {}
    )


def hbase_site_xml(classifications: Iterable[Classification], overrides: Iterable[Override] = ()) -> str:
    """Return `hbase-site.xml` in the order rendered; a comment above each override names its place in the file."""
    places = {override.key: override.where for override in overrides if override.classification == "hbase-site"}
    properties = "".join(
        f"{_comment(places.get(key))}  <property>\n    <name>{xml_text(key)}</name>\n"
        f"    <value>{xml_text(value)}</value>\n  </property>\n"
        for key, value in site_properties(classifications).items()
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<configuration>\n{properties}</configuration>\n'


def _comment(where: str | None) -> str:
    return f"  <!-- an override: {xml_comment(where)} -->\n" if where else ""


def exported(rendered: Iterable[Classification]) -> Mapping[str, str]:
    """Return the variables that `hbase-env` exports to the daemons, by name."""
    return {key: value for path, key, value in flattened(rendered) if path == "hbase-env/export"}


def region_server_flags(variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return every JVM flag of a RegionServer, collector first, as HBase's own start script splits them.

    That script expands the variables without quotes, so a blank always ends a flag, and a quote inside is part of it.
    What the node's shell expands (`$HBASE_REGIONSERVER_OPTS`) is not known here and is left out.
    """
    names = ("HBASE_REGIONSERVER_GC_OPTS", "HBASE_REGIONSERVER_OPTS")
    flags = (flag for name in names for flag in assigned(variables.get(name, "")).split())
    return tuple(flag for flag in flags if "$" not in flag and "`" not in flag)


def assigned(value: str) -> str:
    """Return what a variable holds after the shell has read `export NAME=value`, without expanding other variables."""
    try:
        [word] = shlex.split(value)
    except ValueError:  # several words, none, or a quote that is never closed: lint refuses each
        return value
    return word


CACHE: Final = "/warmbase/cache"
CACHE_FILE: Final = "/warmbase/cache/bucketcache/blocks"
INDEX_FILE: Final = "/warmbase/cache/index/bucketcache.index"
HDFS_LOG: Final = "/warmbase/system/hdfs"
YARN_LOCAL: Final = "/warmbase/system/yarn"
S3A_BUFFER: Final = "/warmbase/system/s3a"
HEAP_DUMP: Final = "/warmbase/system/regionserver.hprof"
GC_LOG: Final = "/var/log/hbase/regionserver-gc.log"
"""EMR collects HBase's logs there; the directory exists before a RegionServer starts."""
DATA: Final = "/warmbase/data"
DOMAIN_SOCKET: Final = "/var/lib/hadoop-hdfs/dn_socket"


def cache_mounts(core: CoreGroup) -> tuple[str, ...]:
    """Return where a core node mounts its cache volumes; the index is on the first one."""
    numbers = range(1, core.volume("cache").count + 1)
    return tuple(CACHE if number == 1 else f"{CACHE}-{number}" for number in numbers)


def cache_files(core: CoreGroup) -> str:
    """Return the cache file on each volume, as `hbase.bucketcache.ioengine` lists them."""
    return ",".join(CACHE_FILE.replace(CACHE, mount) for mount in cache_mounts(core))


def hdfs_directories(core: CoreGroup) -> str:
    """Return the directories of a DataNode: on data volumes where there are any, else on the system volume."""
    data = next((volume.count for volume in core.volumes if volume.purpose == "data"), 0)
    return ",".join(f"{DATA}/{number}/hdfs" for number in range(1, data + 1)) or HDFS_LOG
