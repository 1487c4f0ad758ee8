"""The closed catalogue of properties: those that warmbase sets, and those that it knows and leaves at their default.

A property that is not in the catalogue cannot be rendered. docs/properties.md is generated from the catalogue.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from warmbase.configurations.properties.assignment import ASSIGNMENT
from warmbase.configurations.properties.cache import BUCKET_CACHE, CACHING
from warmbase.configurations.properties.compaction import COMPACTION
from warmbase.configurations.properties.hadoop import HADOOP
from warmbase.configurations.properties.java import JAVA
from warmbase.configurations.properties.l1_and_memstore import L1_AND_MEMSTORE
from warmbase.configurations.properties.observation import OBSERVATION
from warmbase.configurations.properties.property import Applied, Property, PropertyScope
from warmbase.configurations.properties.rpc import RPC
from warmbase.configurations.properties.security import SECURITY
from warmbase.configurations.properties.storage import STORAGE
from warmbase.emr.cluster_spec import ClassificationPath

__all__ = ["CATALOGUE", "TOPICS", "Applied", "Property", "PropertyScope"]

TOPICS: Final[Mapping[str, tuple[Property, ...]]] = {
    "Storage": STORAGE,
    "Compactions": COMPACTION,
    "The BucketCache": BUCKET_CACHE,
    "What gets cached, and when": CACHING,
    "L1 and memstore": L1_AND_MEMSTORE,
    "Requests": RPC,
    "Where regions go": ASSIGNMENT,
    "Who may do what": SECURITY,
    "Java": JAVA,
    "HDFS, YARN and S3 clients": HADOOP,
    "Metrics and logs": OBSERVATION,
}

CATALOGUE: Final[Mapping[tuple[ClassificationPath, str], Property]] = {
    (entry.classification, entry.key): entry for topic in TOPICS.values() for entry in topic
}
