"""SARIF: the parts of the standard's schema that the document uses, and what GitHub code scanning requires."""

from __future__ import annotations

import json
import re
from typing import Final

import jsonschema
import pytest

from tests.command import run

TEXT: Final = {
    "type": "object",
    "required": ["text"],
    "additionalProperties": False,
    "properties": {"text": {"type": "string", "minLength": 1}},
}
LEVEL: Final = {"enum": ["none", "note", "warning", "error"]}
RULE: Final = {
    "type": "object",
    "required": ["id", "shortDescription", "fullDescription", "help"],
    "additionalProperties": False,
    "properties": {
        "id": {"type": "string"},
        "shortDescription": TEXT,
        "fullDescription": TEXT,
        "help": TEXT,
        "defaultConfiguration": {"type": "object", "properties": {"level": LEVEL}, "additionalProperties": False},
        "properties": {"type": "object", "properties": {"tags": {"type": "array", "uniqueItems": True}}},
    },
}
LOCATION: Final = {
    "type": "object",
    "required": ["physicalLocation"],
    "additionalProperties": False,
    "properties": {
        "physicalLocation": {
            "type": "object",
            "required": ["artifactLocation", "region"],
            "additionalProperties": False,
            "properties": {
                "artifactLocation": {
                    "type": "object",
                    "required": ["uri"],
                    "additionalProperties": False,
                    "properties": {"uri": {"type": "string", "pattern": r"^[\w%./:~-]+$"}},
                },
                "region": {
                    "type": "object",
                    "required": ["startLine"],
                    "additionalProperties": False,
                    "properties": {"startLine": {"type": "integer", "minimum": 1}},
                },
            },
        }
    },
}
RESULT: Final = {
    "type": "object",
    "required": ["ruleId", "message", "locations", "level", "partialFingerprints"],
    "additionalProperties": False,
    "properties": {
        "ruleId": {"type": "string"},
        "ruleIndex": {"type": "integer", "minimum": -1},
        "level": LEVEL,
        "message": TEXT,
        "locations": {"type": "array", "minItems": 1, "items": LOCATION},
        "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
        "properties": {"type": "object"},
    },
}
DRIVER: Final = {
    "type": "object",
    "required": ["name", "rules"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string"},
        "version": {"type": "string"},
        "rules": {"type": "array", "uniqueItems": True, "items": RULE},
    },
}
RUN: Final = {
    "type": "object",
    "required": ["tool", "results"],
    "additionalProperties": False,
    "properties": {
        "tool": {"type": "object", "required": ["driver"], "properties": {"driver": DRIVER}},
        "results": {"type": "array", "items": RESULT},
    },
}
SCHEMA: Final = {
    "type": "object",
    "required": ["version", "runs"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {"type": "array", "items": RUN},
    },
}
"""The part of sarif-schema-2.1.0.json about the members that we write; no other member is allowed."""


@pytest.mark.parametrize(
    "subject", [("--file", "tests/lint/broken/launch.sh"), ("--file", "docs/published-recipe.sh"), ("prod",)], ids=str
)
def test_a_report_is_valid_and_whole(subject: tuple[str, ...]) -> None:
    document = json.loads(run("lint", *subject, "--output", "sarif").stdout)
    jsonschema.validate(document, SCHEMA)
    findings = json.loads(run("lint", *subject, "--output", "json").stdout)["findings"]
    [only] = document["runs"]
    rules = [rule["id"] for rule in only["tool"]["driver"]["rules"]]
    assert rules == sorted({finding["id"] for finding in findings})
    assert [result["ruleId"] for result in only["results"]] == [finding["id"] for finding in findings]
    for result, finding in zip(only["results"], findings, strict=True):
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == (finding["line"] or 1)
        assert result["level"] == {"error": "error", "warning": "warning", "info": "note"}[finding["severity"]]


def test_the_exit_code_is_that_of_the_findings() -> None:
    assert run("lint", "--file", "tests/lint/broken/launch.sh", "--output", "sarif").returncode == 3
    assert run("lint", "prod", "--output", "sarif").returncode == 0


def test_addresses_are_relative_and_have_no_blanks() -> None:
    text = '[{"Classification": "hbase-site", "Properties": {"hbase.bucketcache.size": "0.4"}}]'
    document = json.loads(run("lint", "--file", "-", "--output", "sarif", stdin=text).stdout)
    uris = re.findall(r'"uri": "([^"]*)"', json.dumps(document))
    assert set(uris) == {"stdin"}
