"""The wheel of a release: built into dist/, tried as a stranger would, with notes from the changelog.

`make release` runs it. The wheel is installed into an empty virtual environment outside the checkout, and is tried in a
folder that holds only `environments/`, so that a file which the wheel lacks is missed before anybody downloads it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

PROJECT: Final = Path(__file__).parents[1]
DIST: Final = PROJECT / "dist"
UV: Final = Path(sys.prefix) / "bin" / "uv"
TRIALS: Final = (
    (("--version",), 0),
    (("plan", "prod"), 0),
    (("lint", "prod"), 0),
    (("render", "prod", "--format", "run-job-flow"), 0),
    (("lint", "--file", str(PROJECT / "docs/published-recipe.sh"), "--least", "error"), 3),
    (("deploy", "prod", "--dry-run"), 2),  # the wheel alone lacks the CDK, and says how to get it
)
"""The commands that a stranger tries first, each with its exit code."""


def release_notes(changelog: str, version: str) -> str:
    """Return the section of a version without its heading, each paragraph in one line, as GitHub wants it.

    Raises ClickException where the section is missing or empty.
    """
    heading = re.compile(rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$", re.MULTILINE)
    _, *sections = heading.split(changelog, maxsplit=1)
    notes = re.split(r"^## ", sections[0], maxsplit=1, flags=re.MULTILINE)[0].strip() if sections else ""
    if not notes:
        raise click.ClickException(
            f"CHANGELOG.md has no section for version {version} of pyproject.toml: change its heading Unreleased to"
            f" `{version} (YYYY-MM-DD)`, and begin an empty Unreleased above it"
        )
    return re.sub(r"(?<!\n)\n *(?=[^\s#|-])", " ", notes) + "\n"


def _run(command: Sequence[str | Path], folder: Path, expected: int = 0) -> None:
    """Run a command with nothing of this checkout on its path."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "SSL_CERT_FILE") if name in os.environ}
    process = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if process.returncode != expected:
        text = " ".join(map(str, command))
        raise click.ClickException(f"{text} ended with {process.returncode}\n{process.stdout}{process.stderr}")


def _try(wheel: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="warmbase-release-") as name:
        directory = Path(name)
        venv, folder = directory / "venv", directory / "folder"
        shutil.copytree(PROJECT / "environments", folder / "environments")
        _run([UV, "venv", "--quiet", "--python", sys.executable, venv], directory)
        _run([UV, "pip", "install", "--quiet", "--system-certs", "--python", venv / "bin/python", wheel], directory)
        for arguments, code in TRIALS:
            click.echo(f"  warmbase {' '.join(arguments)}", err=True)
            _run([venv / "bin/warmbase", *arguments], folder, code)


@click.command()
@click.option("--tag", help="The tag that is released; it must be `v` and the version of pyproject.toml.")
def release(tag: str | None) -> None:
    """Build the wheel, try it outside the checkout, and write dist/notes.md.

    \b
    Example:
      python -m tools.release --tag v0.1.0
    """
    version = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    if tag is not None and tag != f"v{version}":
        raise click.ClickException(f"tag {tag} is not v{version}, the version of pyproject.toml")
    notes = release_notes((PROJECT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    shutil.rmtree(DIST, ignore_errors=True)
    _run([UV, "build", "--quiet", "--system-certs", "--wheel", "--out-dir", DIST, PROJECT], PROJECT)
    [wheel] = DIST.glob("*.whl")
    click.echo(f"{wheel.name}, {wheel.stat().st_size / 2**20:.1f} MiB; in an empty virtual environment:", err=True)
    _try(wheel)
    (DIST / "notes.md").write_text(notes, encoding="utf-8")
    click.echo(f"dist/ has {wheel.name} and notes.md", err=True)


if __name__ == "__main__":
    release()
