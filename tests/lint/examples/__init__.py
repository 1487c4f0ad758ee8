"""Examples: for every rule the smallest file that only this rule reports."""

from __future__ import annotations

from tests.lint.examples.bugs import BUGS
from tests.lint.examples.cache import CACHE
from tests.lint.examples.case import Case
from tests.lint.examples.cluster import CLUSTER
from tests.lint.examples.file import File
from tests.lint.examples.java import JAVA
from tests.lint.examples.keys import KEYS
from tests.lint.examples.metrics import METRICS
from tests.lint.examples.requests import REQUESTS
from tests.lint.examples.restart import RESTART
from tests.lint.examples.storage import STORAGE

__all__ = ["CASES", "Case", "File"]

CASES = tuple(
    sorted((*KEYS, *CACHE, *RESTART, *JAVA, *REQUESTS, *BUGS, *STORAGE, *CLUSTER, *METRICS), key=lambda case: case.id)
)
