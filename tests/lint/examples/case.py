"""One example of a rule: a file in which it speaks, and the nearest in which it is silent."""

from __future__ import annotations

from msgspec import Struct, field

from tests.lint.examples.file import File


class Case(Struct, frozen=True, kw_only=True):
    """An example: `says` is part of the message, and `at` is the property, after a classification and a blank if any.

    `with_it` are rules that report something else in the file because of the same fault.
    """

    id: str
    faulty: File
    says: str
    at: str = ""
    right: File = field(default_factory=File)
    with_it: tuple[str, ...] = ()

    @property
    def place(self) -> tuple[str, str]:
        """Return the classification and the property that are blamed."""
        path, blank, key = self.at.rpartition(" ")
        return (path, key) if blank else ("hbase-site", key)
