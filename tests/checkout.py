"""Scratch git checkouts of tests."""

from __future__ import annotations

import subprocess
from pathlib import Path

AUTHOR = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.com", "-c", "commit.gpgsign=false")


def git(directory: Path, *arguments: str) -> str:
    """Run git in the directory, and return what it prints."""
    command = ["git", *AUTHOR, *arguments]
    return subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True).stdout.strip()


def commit(directory: Path, message: str) -> str:
    """Commit every file of the checkout, and return the commit's name."""
    git(directory, "add", "--all")
    git(directory, "commit", "--quiet", "--message", message)
    return git(directory, "rev-parse", "HEAD")
