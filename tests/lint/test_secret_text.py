"""Secrets in the text of a file are hidden wherever they stand."""

from __future__ import annotations

import pytest

from warmbase.ground.secret import without_secrets

SECRET = "wJalr\"X'tn<FEMI"
HIDDEN = [
    "export AWS_SECRET_ACCESS_KEY=abcdefgh",
    'password: "abcdefgh"',
    "<name>x.token</name>\nsession_token = 'abcdefgh'",
    "s3://user:abcdefgh@bucket/x",
    "# AKIAABCDEFGHABCDEFGH",
    "wJalr\"X'tn<FEMI",
    '"wJalr\\"X\'tn<FEMI"',
    "<value>wJalr\"X'tn&lt;FEMI</value>",
    "'wJalr\\\"X'\\''tn<FEMI'",
]


@pytest.mark.parametrize("text", HIDDEN)
def test_a_secret_is_hidden(text: str) -> None:
    clean = without_secrets(text, [("fs.s3a.secret.key", SECRET)])
    assert "(not shown)" in clean
    assert not any(part in clean for part in ("abcdefgh", "wJalr", "FEMI", "AKIA"))


def test_other_text_stays() -> None:
    text = '"hbase.rpc.timeout": "60000", # a secret place\n'
    assert without_secrets(text, [("hbase.rpc.timeout", "60000")]) == text
