"""A report of lint as SARIF 2.1.0, which GitHub code scanning and other viewers of findings take.

Source: OASIS SARIF 2.1.0; GitHub documentation, "SARIF support for code scanning".
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Final
from urllib.parse import quote

from warmbase.linter.finding import LintFinding, Report, Severity
from warmbase.linter.rule import Rule
from warmbase.linter.rules import RULES

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
Json = Mapping[str, object]


def sarif_document(report: Report) -> Json:
    """Return the document, with the rules that have findings."""
    ids = sorted({finding.id for finding in report.findings})
    rules = {rule.id: rule for rule in RULES}
    driver = {"name": "warmbase", "version": version("warmbase"), "rules": [_rule(rules[id_]) for id_ in ids]}
    results = [_result(report, finding, ids.index(finding.id)) for finding in report.findings]
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _rule(rule: Rule) -> Json:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": f"{rule.title}: {rule.because} ({rule.source})"},
        "help": {"text": rule.fix},
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
        "properties": {"tags": [rule.effect.value]},
    }


def _result(report: Report, finding: LintFinding, index: int) -> Json:
    place = " ".join(filter(None, (finding.classification, finding.property)))
    subject = f"{place}: " if place else ""
    identity = f"{finding.id} {finding.classification} {finding.property}"
    # The address of the file is relative to the working directory where it is inside.
    uri = Path(report.source).as_uri() if Path(report.source).is_absolute() else quote(os.fsencode(report.source))
    return {
        "ruleId": finding.id,
        "ruleIndex": index,
        "level": LEVELS[finding.severity],
        "message": {"text": f"{subject}{finding.sentence()} Because {finding.because}. Fix: {finding.fix}."},
        # Code scanning shows only results with a place; a setting that is missing has none but the file.
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": uri},
                    "region": {"startLine": finding.line or 1},
                }
            }
        ],
        "partialFingerprints": {"warmbase/v1": sha256(identity.encode()).hexdigest()[:32]},
        "properties": {"consequence": finding.consequence.value},
    }
