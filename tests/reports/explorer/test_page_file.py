"""The page as one file: its script of all modules, its policy, and data that cannot end its script element."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections import Counter

from warmbase.reports.explorer.page_file import MAIN, PAGE, module_names, page_files, single_page

TOP_LEVEL = re.compile(r"^(?:export )?(?:async )?(?:const|let|function|class) (\w+)", flags=re.MULTILINE)


def test_every_module_comes_after_the_modules_that_it_imports() -> None:
    names = module_names()
    assert sorted(names) == sorted(name for name in page_files() if name.endswith(".js"))
    assert names[-1] == MAIN
    for position, name in enumerate(names):
        imported = set(re.findall(r'from "\./([\w-]+\.js)"', (PAGE / name).read_text()))
        assert imported <= set(names[:position])


def test_no_two_modules_define_the_same_name() -> None:
    counts = Counter(name for file in PAGE.glob("*.js") for name in TOP_LEVEL.findall(file.read_text()))
    assert [name for name, count in counts.items() if count > 1] == []


def test_the_file_has_no_import_and_names_no_other_file() -> None:
    page = single_page({})
    assert re.findall(r"^(?:import|export) ", page, flags=re.MULTILINE) == []
    assert re.findall(r"(?:src|href)=\"(?!data:)", page) == []


def test_the_policy_allows_only_its_own_script_and_style() -> None:
    page = single_page({})
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy.startswith("default-src 'none'; ")
    assert "connect-src" not in policy
    for kind, pattern in (("script", r'<script type="module">(.*?)</script>'), ("style", r"<style>(.*?)</style>")):
        [text] = re.findall(pattern, page, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


def test_no_text_in_the_data_ends_its_script_element() -> None:
    hostile = {"text": "</script><script>alert(1)</script><!--"}
    [block] = re.findall(r'<script type="application/json" id="plan">(.*?)</script>', single_page({"plan": hostile}))
    assert json.loads(block) == hostile


def test_the_name_of_a_file_may_have_bytes_that_are_no_text() -> None:
    name = os.fsdecode(b"caf\xe9.yaml")
    page = single_page({"plan": {"file": name}}).encode()
    [block] = re.findall(rb'<script type="application/json" id="plan">(.*?)</script>', page)
    assert json.loads(block) == {"file": name}
