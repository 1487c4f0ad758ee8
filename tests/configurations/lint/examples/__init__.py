"""For every rule the smallest file that makes it speak, and it alone."""

from __future__ import annotations

from tests.configurations.lint.examples.bugs import BUGS
from tests.configurations.lint.examples.cache import CACHE
from tests.configurations.lint.examples.case import Case
from tests.configurations.lint.examples.cluster import CLUSTER
from tests.configurations.lint.examples.file import File
from tests.configurations.lint.examples.java import JAVA
from tests.configurations.lint.examples.keys import KEYS
from tests.configurations.lint.examples.metrics import METRICS
from tests.configurations.lint.examples.restart import RESTART
from tests.configurations.lint.examples.storage import STORAGE

__all__ = ["CASES", "Case", "File"]

CASES = tuple(sorted((*KEYS, *CACHE, *RESTART, *JAVA, *BUGS, *STORAGE, *CLUSTER, *METRICS), key=lambda case: case.id))
