"""Every rule, in the order of its number."""

from __future__ import annotations

from typing import Final

from lint.rule import Rule
from lint.rules.cache_file import CACHE_FILE
from lint.rules.classifications import CLASSIFICATIONS
from lint.rules.ebs import EBS
from lint.rules.filling import FILLING
from lint.rules.java import JAVA
from lint.rules.keys import KEYS
from lint.rules.known_bugs import KNOWN_BUGS
from lint.rules.metrics import METRICS
from lint.rules.nodes import NODES
from lint.rules.persistence import PERSISTENCE
from lint.rules.retention import RETENTION
from lint.rules.root import ROOT_AND_CLIENT
from lint.rules.secrets import SECRETS
from lint.rules.shares import SHARES
from lint.rules.slots import SLOTS
from lint.rules.write_ahead_log import WRITE_AHEAD_LOG

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
