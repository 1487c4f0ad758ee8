"""One example of a rule: a file in which it speaks, and the nearest in which it is silent."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.lint.examples.file import File


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """`says` is part of the message, `at` the property that is blamed; of `hbase-site`, unless a blank parts them.

    `with_it` are rules that speak because of the same fault, of something else in the file.
    """

    id: str
    wrong: File
    says: str
    at: str = ""
    right: File = field(default_factory=File)
    with_it: tuple[str, ...] = ()

    @property
    def place(self) -> tuple[str, str]:
        """Classification and property."""
        path, blank, key = self.at.rpartition(" ")
        return (path, key) if blank else ("hbase-site", key)
