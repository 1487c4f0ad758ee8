"""The files of the project, and the syntax trees of its source files, for all tests that read the code."""

from __future__ import annotations

import ast
import os
from functools import cache
from pathlib import Path

PROJECT = Path(__file__).parents[1]
INSTALLED = {"node_modules", "cdk.out"}


@cache
def project_files() -> tuple[Path, ...]:
    """Return every file of the project but those in hidden directories and those that a tool has made, in order."""
    files: list[Path] = []
    for directory, inner, names in os.walk(PROJECT):
        inner[:] = [name for name in inner if not name.startswith(".") and name not in INSTALLED]
        files += [Path(directory, name) for name in names]
    return tuple(sorted(files))


@cache
def tree_of(file: Path) -> ast.Module:
    """Return the syntax tree of a file, which nobody may change."""
    return ast.parse(file.read_text(encoding="utf-8"))
