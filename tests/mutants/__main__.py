"""Apply each mutant to a copy of the checkout, run its tests there, and name the one that fails.

Where the tests that a mutant names pass, those of the room are run, with more examples of each law.
Exit code 3: a mutant survived.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from msgspec import Struct

from tests.mutants.mutant import PROJECT, Mutant, read_mutants

MARKERS = "not lab and not bench and not e2e"
SECONDS = 900
COUNTS_AS_FAILED = re.compile(
    r"^(?:FAILED|ERROR) (\S+::.+?)(?: - .*)?$|^not ok \d+ (?!setup_file failed)(.*)$", re.MULTILINE
)
SURVIVED_CODE = 3


class UnbegunTestsError(Exception):
    """The tests of a mutant could not be collected or set up, so no test is known to notice it."""


class Outcome(Struct, frozen=True):
    """The test that noticed a mutant, if one did, and how long that took.

    `trouble` is the end of the output of tests that could not begin, which is no verdict on the mutant.
    """

    mutant: Mutant
    killer: str | None
    seconds: float
    trouble: str = ""

    def __str__(self) -> str:
        """One line of the table."""
        without = f"NOT TRIED: {self.trouble}" if self.trouble else "SURVIVED"
        verdict = f"killed by {self.killer}" if self.killer else without
        return f"{self.mutant.id:<40} {self.seconds:6.1f} s  {verdict}"


class Copy:
    """A copy of the checkout's files, in which one mutant at a time is tried."""

    def __init__(self, directory: Path) -> None:
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
            cwd=PROJECT,
            capture_output=True,
            text=True,
            check=True,
        )
        for name in filter(None, listed.stdout.split("\0")):
            if (PROJECT / name).is_file() or (PROJECT / name).is_symlink():
                (directory / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(PROJECT / name, directory / name, follow_symlinks=False)
        for name in (".venv", "node_modules"):
            (directory / name).symlink_to(PROJECT / name)
        self.directory = directory

    def outcome(self, mutant: Mutant, *, is_narrow: bool) -> Outcome:
        """Return which test notices the mutant; the copy is whole again afterwards."""
        file, began = self.directory / mutant.file, time.monotonic()
        text = file.read_text(encoding="utf-8")
        file.write_text(mutant.apply(self.directory), encoding="utf-8")
        killer, trouble = None, ""
        try:
            killer = self._killer(mutant.tests)
            if killer is None and not is_narrow:
                killer = self._killer(wider_tests(mutant), "--hypothesis-profile", "ci")
        except UnbegunTestsError as error:
            trouble = str(error)
        finally:
            file.write_text(text, encoding="utf-8")
            # Python keeps compiled code by the second in which the source was written.
            os.utime(file, (time.time() + 2, time.time() + 2))
        return Outcome(mutant, killer, time.monotonic() - began, trouble)

    def _killer(self, tests: tuple[str, ...], *options: str) -> str | None:
        shell = [test for test in tests if test.endswith(".bats")]
        python = [test for test in tests if not test.endswith(".bats")]
        return (self._failed("node_modules/bats/bin/bats", *shell) if shell else None) or (
            self._failed(
                sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", MARKERS, *options, *python
            )
            if python
            else None
        )

    def _failed(self, *command: str) -> str | None:
        """Return the first test that failed; None where all passed. Raises UnbegunTestsError where none could begin."""
        variables = os.environ | {"PYTHONPATH": str(self.directory), "COLUMNS": "200"}
        try:
            done = subprocess.run(
                command, cwd=self.directory, env=variables, capture_output=True, text=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return f"a time limit of {SECONDS} s"
        if done.returncode == 0:
            return None
        if failed := COUNTS_AS_FAILED.search(done.stdout):
            return str(failed[1] or failed[2])
        raise UnbegunTestsError(f"{command[0]} ended with {done.returncode}\n{(done.stdout + done.stderr)[-2000:]}")


def wider_tests(mutant: Mutant) -> tuple[str, ...]:
    """Return the tests of the mutant's room, and those that compare whole answers."""
    room = Path(mutant.file).parts[0].replace("-", "_")
    own = (f"tests/{room}",) if (PROJECT / "tests" / room).is_dir() else ()
    return tuple(dict.fromkeys((*own, "tests/configurations", "tests/cli", "tests/test_readme.py")))


def outcomes(mutants: list[Mutant], jobs: int, *, is_narrow: bool) -> list[Outcome]:
    """Return what became of each mutant, printing each as it is known."""
    copies: SimpleQueue[Copy] = SimpleQueue()

    def try_one(mutant: Mutant) -> Outcome:
        copy = copies.get()
        try:
            outcome = copy.outcome(mutant, is_narrow=is_narrow)
        finally:
            copies.put(copy)
        print(outcome, flush=True)  # noqa: T201 - this is a command
        return outcome

    with tempfile.TemporaryDirectory(prefix="warmbase-mutants-") as directory, ThreadPoolExecutor(jobs) as pool:
        for number in range(jobs):
            (Path(directory) / str(number)).mkdir()
            copies.put(Copy(Path(directory) / str(number)))
        return list(pool.map(try_one, mutants))


def main() -> None:
    """Tries the mutants that are chosen, and ends with 3 where one survives."""
    parser = argparse.ArgumentParser(prog="make mutants ARGS=...", description=__doc__)
    parser.add_argument("-j", "--jobs", type=int, default=2, help="how many are tried at a time (default: 2)")
    parser.add_argument("--narrow", action="store_true", help="run only the tests that a mutant names")
    parser.add_argument("names", nargs="*", help="parts of the ids or files of the mutants to try (default: all)")
    arguments = parser.parse_args()
    chosen = [
        mutant
        for mutant in read_mutants()
        if not arguments.names or any(name in f"{mutant.id} {mutant.file}" for name in arguments.names)
    ]
    tried = outcomes(chosen, arguments.jobs, is_narrow=arguments.narrow)
    survivors = [outcome.mutant.id for outcome in tried if outcome.killer is None]
    print(f"{len(tried) - len(survivors)} of {len(tried)} mutants were killed", *survivors, sep="\n  survived: ")  # noqa: T201
    sys.exit(SURVIVED_CODE if survivors else 0)


if __name__ == "__main__":
    main()
