"""Every rule, in the order of its number."""

from __future__ import annotations

from typing import Final

from configurations.lint.rule import Rule
from configurations.lint.rules.cache_file import CACHE_FILE
from configurations.lint.rules.classifications import CLASSIFICATIONS
from configurations.lint.rules.ebs import EBS
from configurations.lint.rules.filling import FILLING
from configurations.lint.rules.java import JAVA
from configurations.lint.rules.keys import KEYS
from configurations.lint.rules.known_bugs import KNOWN_BUGS
from configurations.lint.rules.metrics import METRICS
from configurations.lint.rules.nodes import NODES
from configurations.lint.rules.persistence import PERSISTENCE
from configurations.lint.rules.retention import RETENTION
from configurations.lint.rules.root import ROOT_AND_CLIENT
from configurations.lint.rules.secrets import SECRETS
from configurations.lint.rules.shares import SHARES
from configurations.lint.rules.slots import SLOTS
from configurations.lint.rules.write_ahead_log import WRITE_AHEAD_LOG

__all__ = ["RULES", "TOPICS"]


def _numbered(*parts: tuple[Rule, ...]) -> tuple[Rule, ...]:
    return tuple(sorted((rule for part in parts for rule in part), key=lambda rule: rule.id))


TOPICS: Final = {
    "Keys and values": _numbered(KEYS, CLASSIFICATIONS),
    "The cache": _numbered(SLOTS, CACHE_FILE, SHARES, FILLING),
    "Restarts": _numbered(PERSISTENCE, RETENTION),
    "Java": JAVA,
    "Known bugs of HBase": KNOWN_BUGS,
    "Storage": _numbered(ROOT_AND_CLIENT, WRITE_AHEAD_LOG),
    "Instances and volumes": _numbered(EBS, NODES),
    "Metrics": METRICS,
    "Secrets": SECRETS,
}
RULES: Final[tuple[Rule, ...]] = tuple(rule for topic in TOPICS.values() for rule in topic)
