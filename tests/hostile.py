"""Names that somebody else may choose, and that one language or another would read as more than a name."""

from __future__ import annotations

from typing import Final

TRACE: Final = "warmbase-was-here"
"""The file that exists once a shell, or Ruby, has run a part of a name."""
TOUCH: Final = f"touch {TRACE}"
NAMES: Final = (
    "o'brien",
    'say "hello"',
    f"`{TOUCH}`",
    f"$({TOUCH})",
    f"#{{system('{TOUCH}')}}",
    f"'+%x({TOUCH})+'",
    f"x;{TOUCH}",
    f"x|{TOUCH}",
    f"x&{TOUCH}&",
    f"x\n{TOUCH}\n",
    "x\rover",
    "nul\0byte",
    "\x1b[31mred\x1b[0m\x07",
    "\x9b31mred",
    "\u202egpj.exe\u2066",
    "line\u2028two\u0085three",
    "</script><script>alert(1)</script>",
    "<!-- --><img src=x onerror=alert(1)>",
    "=cmd()",
    "@SUM(1)",
    "]]>&amp;",
    "${AWS::AccountId}",
    "{{resolve:ssm:x}}",
    "| a | `b` | [c](javascript:d) |\n~~~~~~\n# e",
    "../../etc/passwd",
    "-rf",
    " leading blank",
    "back\\slash\\",
    "*?[a-z]{a,b}~",
    "n" * 1000,
    "\U0001f600",
    "\ud800",
)
UNSTOPPABLE: Final = (
    f"-rf ' \" \\ `{TOUCH}` $({TOUCH}) #{{`{TOUCH}`}} ;{TOUCH}|{TOUCH}& * ? \n{TOUCH}\n"
    " \r \x1b[31m \u202e </a> \U0001f600"
)
"""Everything that a shell, or Ruby, could take for its own, in one name."""
EVALUATED: Final = f"PATH[$({TOUCH})]"
"""A name that bash runs where it expects a number."""
