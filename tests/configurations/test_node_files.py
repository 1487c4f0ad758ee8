"""The JVM flags of a RegionServer are the words that a shell makes of hbase-env; the action gets them unchanged."""

from __future__ import annotations

import base64
import json
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warmbase.configurations.bootstrap import encoded
from warmbase.configurations.node_files import region_server_flags

# HBase's bin/hbase starts Java with $HBASE_OPTS, without quotes.
STARTED = 'export HBASE_OPTS={}; set -f; printf "%s\\0" $HBASE_OPTS'


@pytest.mark.parametrize(
    "value",
    [
        '"-XX:+UseZGC  -Xmx4g "',
        "-Xmx4g",
        "'-Xmx4g -Da=b'",
        '"-Da=\'b c\' -Dd=\\"e\\" -Df=g\\\\h"',
        "\"-XX:+UseG1GC -XX:OnOutOfMemoryError='kill -9 %p'\"",
        '"-Xlog:gc*=info:file=/a/b.log -Da=b;c&d|e<f>(g)#h"',
        '"-javaagent:/opt/agent.jar=9404:/opt/agent.yaml --add-opens=java.base/java.lang=ALL-UNNAMED"',
    ],
)
def test_flags_are_the_words_of_a_real_shell(value: str) -> None:
    started = subprocess.run(["bash", "-c", STARTED.format(value)], capture_output=True, text=True, check=True)
    words = started.stdout.split("\0")[:-1]
    assert region_server_flags({"HBASE_REGIONSERVER_GC_OPTS": value}) == tuple(words)


def test_what_only_the_node_can_expand_is_left_out() -> None:
    variables = {"HBASE_REGIONSERVER_OPTS": '"$HBASE_REGIONSERVER_OPTS -Xmx4g -Dhost=${HOSTNAME} -Dcpus=`nproc`"'}
    assert region_server_flags(variables) == ("-Xmx4g",)


@given(st.lists(st.text()))
def test_an_argument_carries_any_words(words: list[str]) -> None:
    argument = encoded(words)
    assert set(argument) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")
    assert json.loads(base64.b64decode(argument)) == words
