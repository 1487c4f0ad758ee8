"""cfn-lint over synthesised templates, in this process."""

from __future__ import annotations

from pathlib import Path

from cfnlint.api import ManualArgs, lint_file


def lint_errors(assembly: Path) -> tuple[int, tuple[str, ...]]:
    """Return how many templates of a cloud assembly were linted, and every error in them with its line."""
    templates = sorted(assembly.glob("*.template.json"))
    matches = [(template, match) for template in templates for match in lint_file(template, config=ManualArgs())]
    errors = tuple(
        f"{template.name}:{match.linenumber} {match.rule.id} {match.message}"
        for template, match in matches
        if match.rule.severity == "error"
    )
    return len(templates), errors
