"""Every rule, in the order of its number."""

from __future__ import annotations

from typing import Final

from configurations.lint.rule import Rule
from configurations.lint.rules.cache_file import CACHE_FILE
from configurations.lint.rules.classifications import CLASSIFICATIONS
from configurations.lint.rules.cluster import CLUSTER
from configurations.lint.rules.filling import FILLING
from configurations.lint.rules.java import JAVA
from configurations.lint.rules.keys import KEYS
from configurations.lint.rules.known_bugs import KNOWN_BUGS
from configurations.lint.rules.metrics import METRICS
from configurations.lint.rules.restart import RESTART
from configurations.lint.rules.secrets import SECRETS
from configurations.lint.rules.shares import SHARES
from configurations.lint.rules.slots import SLOTS
from configurations.lint.rules.storage import STORAGE

__all__ = ["RULES", "TOPICS"]

TOPICS: Final = {
    "Keys and values": tuple(sorted((*KEYS, *CLASSIFICATIONS), key=lambda rule: rule.id)),
    "The cache": tuple(sorted((*SLOTS, *CACHE_FILE, *SHARES, *FILLING), key=lambda rule: rule.id)),
    "Restarts": RESTART,
    "Java": JAVA,
    "Known bugs of HBase": KNOWN_BUGS,
    "Storage": STORAGE,
    "Instances and volumes": CLUSTER,
    "Metrics": METRICS,
    "Secrets": SECRETS,
}
RULES: Final[tuple[Rule, ...]] = tuple(rule for topic in TOPICS.values() for rule in topic)
