"""The server of the page, tested without a browser: which requests it answers, and which it refuses or skips."""

from __future__ import annotations

import json
import re
import shlex
import socket
import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPConnection, HTTPMessage
from itertools import count
from pathlib import Path
from threading import Event, Thread
from typing import Any
from unittest.mock import Mock

import pytest
import yaml
from msgspec.structs import replace

from tests.command import run
from tests.patience import HANG_SECONDS, wait_until
from tests.reports.explorer.page_cases import EVENTS, ORDERS, TABLES
from warmbase.engines.hbase.reports import OPEN_LOAD, WORKLOAD_INPUTS
from warmbase.environments.reader import locate
from warmbase.environments.reader.assignment import Assignment
from warmbase.ground.units import GIB, TIB
from warmbase.reports.explorer.answer import PENDING, answer
from warmbase.reports.explorer.page_file import page_files
from warmbase.reports.explorer.planner import MOST_PAGES, Planner, Question, Superseded, _state
from warmbase.reports.explorer.server import MOST_BYTES, ExplorerServer, Handler
from warmbase.reports.explorer.subject import State, Subject

JSON = {"Content-Type": "application/json"}
GUARDS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
ORDERS_NAME = ORDERS.removeprefix("workload.tables.").removesuffix(".")


@contextmanager
def served(subject: Subject) -> Iterator[ExplorerServer]:
    with ExplorerServer(subject, 0) as explorer:
        thread = Thread(target=explorer.serve_forever, daemon=True)
        thread.start()
        yield explorer
        explorer.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def server() -> Iterator[ExplorerServer]:
    with served(Subject.read("dev", "blue")) as explorer:
        yield explorer


@pytest.fixture(scope="module")
def tables() -> Iterator[ExplorerServer]:
    with served(Subject.read(TABLES.environment, TABLES.cluster)) as explorer:
        yield explorer


@pytest.fixture
def planner(server: ExplorerServer) -> Iterator[Planner]:
    found = Planner(server.subject)
    yield found
    if found._process.poll() is None:
        found.end()


def request(
    server: ExplorerServer, method: str, path: str, headers: Mapping[str, str] = JSON, body: str | None = None
) -> tuple[int, HTTPMessage, bytes]:
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=HANG_SECONDS)
    try:
        connection.request(method, path, body, dict(headers))
        response = connection.getresponse()
        return response.status, response.headers, response.read()
    finally:
        connection.close()


def post(server: ExplorerServer, kind: str, values: Mapping[str, str], **more: Any) -> dict[str, Any]:
    body = json.dumps({"page": "p", "number": 1, "values": values, **more})
    status, _, content = request(server, "POST", f"/{server.token}/{kind}", body=body)
    assert status == 200, content
    document: dict[str, Any] = json.loads(content)
    return document


def test_the_page_and_its_files_are_sent_with_a_strict_policy(server: ExplorerServer) -> None:
    for name in ("", *page_files()):
        status, headers, content = request(server, "GET", f"/{server.token}/{name}")
        assert (status, bool(content)) == (200, True)
        assert dict(headers).items() >= GUARDS.items()


def test_the_page_has_no_inline_script_and_no_inline_style(server: ExplorerServer) -> None:
    page = request(server, "GET", f"/{server.token}/")[2].decode()
    assert re.findall(r"<script(?![^>]*(?:src=|application/json))", page) == []
    assert re.findall(r"<style|\sstyle=|\son\w+=", page) == []


@pytest.mark.parametrize(
    "path",
    ["/", "/{token}", "/{token}x/", "/x{token}/", "/{token}/main.js/", "//main.js", "/{token}/prod.yaml",
     "/{token}/../answer.py", "/{token}/page/main.js", "/x/main.js",
     "/{token}/types.d.ts", "/{token}/%2e%2e/server.py", "/{token}/main.js?x=1"],
)  # fmt: skip
def test_no_other_path_is_answered(server: ExplorerServer, path: str) -> None:
    assert request(server, "GET", path.format(token=server.token))[0] == 404


def test_a_token_is_long_and_differs_each_time(server: ExplorerServer) -> None:
    with ExplorerServer(server.subject, 0) as other:
        assert other.token != server.token
        assert len(server.token) >= 24


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example:{port}"}, 403),
        ({"Host": "127.0.0.1"}, 403),
        ({"Host": "localhost:{port}"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "https://127.0.0.1:{port}"}, 403),
        ({"Origin": "http://127.0.0.1"}, 403),
        ({"Origin": "http://127.0.0.1:{port}"}, 200),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Length": "20000"}, 413),
        ({"Content-Length": "-1"}, 413),
        ({"Content-Length": "1" * 5000}, 413),
    ],
)
def test_only_requests_of_its_own_page_are_answered(
    server: ExplorerServer, headers: Mapping[str, str], status: int
) -> None:
    sent = {**JSON, **{name: value.format(port=server.server_port) for name, value in headers.items()}}
    body = json.dumps({"page": "p", "number": 1, "values": {}, "column": ""})
    assert request(server, "POST", f"/{server.token}/plan", sent, body)[0] == status


def test_on_the_port_of_http_a_browser_sends_no_port(server: ExplorerServer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "localhost" not in server.names
    monkeypatch.setattr(server, "server_port", 80)
    assert {"localhost", "127.0.0.1"} < set(server.names)


def test_the_server_asks_no_name_service(server: ExplorerServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getfqdn", lambda *_: pytest.fail("it looks up a name"))
    with ExplorerServer(server.subject, 0) as other:
        assert other.server_port == other.server_address[1]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("", "Input data was truncated"),
        ("[]", "Expected `object`, got `array`"),
        ("{", "Input data was truncated"),
        ('{"page": 1}', "Expected `str`, got `int` - at `$.page`"),
        ('{"page": "p", "number": 1, "values": {"a": 1}}', "Expected `str`, got `int` - at `$.values[...]`"),
        (f'{{"page": {"[" * 9000}', "Expected `str`, got `array`"),
        (f'{{"other": {"[" * 9000}', "maximum recursion depth exceeded"),
        (
            '{"page": "p", "number": 1, "values": {"a": "\\ud800 alone"}}',
            "unexpected end of escaped utf-16 surrogate",
        ),
        ('{"page": "p", "number": 1, "values": {}, "column": "gp3"}', "there is no such column"),
        ('{"page": "p", "number": 1, "values": {}, "column": 1}', "Expected `str`, got `int` - at `$.column`"),
    ],
)
def test_any_other_body_is_a_bad_request(
    server: ExplorerServer, body: str, reason: str, capfd: pytest.CaptureFixture[str]
) -> None:
    status, _, content = request(server, "POST", f"/{server.token}/plan", body=body)
    assert (status, capfd.readouterr().err) == (400, "")
    assert reason in content.decode()


def statuses(server: ExplorerServer, head: str, body: str) -> list[str]:
    """Return the statuses of the answers on one connection; the body ends in a request that would close it."""
    text = f"{head}\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    with socket.create_connection(("127.0.0.1", server.server_port), HANG_SECONDS) as connection:
        connection.sendall(text.encode())
        return re.findall(r"HTTP/1\.1 (\d+)", connection.makefile("rb").read().decode())


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("POST {path}/plan HTTP/1.1\r\nContent-Type: application/json\r\nHost: evil.example", "403"),
        ("POST {path}/plan HTTP/1.1\r\nContent-Type: text/plain\r\n{host}", "415"),
        ("POST {path}/other HTTP/1.1\r\nContent-Type: application/json\r\n{host}", "404"),
        ("POST {path}x/plan HTTP/1.1\r\nContent-Type: application/json\r\n{host}", "404"),
        ("POST {path}/plan HTTP/1.1\r\nContent-Type: application/json\r\n{host}\r\nTransfer-Encoding: chunked", "411"),
        ("POST {path}/plan HTTP/1.1\r\nContent-Type: application/json\r\n{host}\r\nContent-Length: x", "413"),
        ("GET {path}/main.js HTTP/1.1\r\n{host}", "400"),
        ("PUT {path}/main.js HTTP/1.1\r\n{host}", "501"),
    ],
)
def test_the_body_of_a_refused_request_is_no_request(server: ExplorerServer, head: str, status: str) -> None:
    host = f"Host: 127.0.0.1:{server.server_port}"
    path = f"/{server.token}"
    inside = f"GET {path}/main.js HTTP/1.1\r\n{host}\r\nConnection: close\r\n\r\n"
    assert statuses(server, head.format(path=path, host=host), inside) == [status]


def test_a_connection_serves_several_requests(server: ExplorerServer) -> None:
    host = f"Host: localhost:{server.server_port}"
    question = f"POST /{server.token}/price HTTP/1.1\r\nContent-Type: application/json\r\n{host}"
    last = f"GET /{server.token}/ HTTP/1.1\r\n{host}\r\nConnection: close"
    body = json.dumps({"page": "kept", "number": 1, "values": {}})
    assert statuses(server, f"{question}\r\nContent-Length: {len(body)}\r\n\r\n{body}{last}", "") == ["200", "200"]


def test_the_longest_body_is_read_and_a_longer_one_is_not(server: ExplorerServer) -> None:
    body = json.dumps({"page": "p", "number": 1, "values": {}})
    for length, status in ((MOST_BYTES, 200), (MOST_BYTES + 1, 413)):
        assert request(server, "POST", f"/{server.token}/price", body=body.ljust(length))[0] == status
    assert MOST_BYTES <= 2**16


def test_only_this_machine_reaches_the_server_and_none_holds_a_connection(server: ExplorerServer) -> None:
    assert server.server_address[0] == "127.0.0.1"
    assert Handler.timeout <= 60


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "HEAD"])
def test_no_other_method_is_answered(server: ExplorerServer, method: str) -> None:
    assert request(server, method, f"/{server.token}/")[0] == 501


def test_the_answer_is_the_plan_of_the_command(server: ExplorerServer) -> None:
    found = post(server, "plan", {})
    document = json.loads(run("plan", "dev", "--output", "json").stdout)
    lines, bars = found["plots"]["lines"], found["plots"]["bars"]
    values = {name: [bar["value"] for bar in plot["bars"]] for name, plot in bars.items()}
    assert found["usd_per_month"] == document["cost"]["usd_per_month"] == pytest.approx(sum(values["cost"]))
    curve, drawn = document["hit_ratio"]["curve"], lines["hits"]["series"][0]["points"]
    assert drawn[: len(curve)] == curve
    assert values["memory"] == list(document["memory"]["parts"].values())
    load = document["throughput"]
    assert [bar["name"] for bar in bars["resources"]["bars"] if bar["strong"]] == [load["bottleneck"]]
    limits = [one["max_reads_per_second"] for one in load["resources"]]
    assert values["resources"] == pytest.approx([load["reads_per_second"] / most if most else 0 for most in limits])
    assert found["command"] == "warmbase plan dev"


@pytest.mark.parametrize(
    ("values", "where", "why"),
    [
        ({"workload.stored": "3 TB"}, "workload.stored", "did you mean that, or 3 TiB?"),
        ({"workload.stored": ""}, "workload.stored", "the field is empty, and the plan needs a value"),
        ({"workload.popularity": "{curve: /etc/passwd}"}, "workload.popularity", "letters, digits, spaces"),
        ({"workload.popularity": "*x"}, "workload.popularity", "letters, digits, spaces"),
        ({"name": "other"}, "name", "this page has no such input"),
        ({"workload.inspection": "/etc/passwd"}, "workload.inspection", "this page has no such input"),
        ({"targets.hit_ratio": "2"}, "targets.hit_ratio", "a share lies between 0 and 1"),
        ({"workload.stored": "12..3 TiB"}, "workload.stored", "12..3 TiB is not in ascending order"),
        ({"targets.lost_nodes": "-1"}, "targets.lost_nodes", "targets.lost_nodes must be at least 0 and at most 10"),
        (
            {"workload.row": "x"},
            "workload.row",
            "workload.row: 'x': expected a number with a unit, such as 64 KiB. Fix: ",
        ),
    ],
)
def test_a_refused_value_is_named_with_its_reason(
    server: ExplorerServer, values: Mapping[str, str], where: str, why: str
) -> None:
    [problem] = post(server, "plan", values)["problems"]
    assert problem["where"] == where
    assert why in problem["text"]


def test_ranges_have_a_plan_for_their_middle_and_the_decision_of_the_command(tmp_path: Path) -> None:
    file = tmp_path / "ranged.yaml"
    written, ranged = "  stored: 200 GiB\n", "  stored: {low: 100 GiB, mid: 200 GiB, high: 1500 GiB}\n"
    file.write_text(locate("dev").read_text().replace(written, ranged))
    families = Assignment.parse("clusters.blue.core={families: [m7g]}")
    values = {"workload.reads.per_second": "100..400"}
    with served(Subject.read(str(file), "blue", [families])) as server:
        assert server.subject.inputs["workload.stored"].text == "100 GiB..1.46 TiB"
        plan, decision = (post(server, kind, values) for kind in ("plan", "ranges"))
    assert plan["middle"].endswith("the middle of each range: workload.stored 200 GiB, workload.reads.per_second 250.")
    ends = [step["values"] for step in plan["steps"] if step["series"] == "Reads per second"]
    assert [end["workload.reads.per_second"] for end in ends] == ["100", "400"]
    printed = run(*shlex.split(plan["command"])[1:], columns=120).stdout
    for _, sentence in decision["rows"]:
        assert sentence in " ".join(printed.split())


def test_the_inputs_of_each_table_have_its_values_or_the_defaults(tables: ExplorerServer) -> None:
    inputs = tables.subject.inputs
    keys = [key.removeprefix(EVENTS) for key, entry in inputs.items() if entry.table == "events"]
    assert keys == [*WORKLOAD_INPUTS, *(f"reads.{name}" for name in OPEN_LOAD)]
    texts = {key.removeprefix(EVENTS): entry.text for key, entry in inputs.items() if entry.table == "events"}
    assert texts == {
        "stored": "2 TiB",
        "row": "1 KiB",
        "cell": "300 B",
        "block_size": "64 KiB",
        "compression.codec": "none",
        "compression.ratio": "1.0",
        "popularity": "uniform",
        "writes.bytes_per_second": "0 B",
        "reads.per_second": "5",
        "reads.peak_per_second": "",
    }
    assert inputs[f"{ORDERS}compression.ratio"].text == "3"
    assert inputs[f"{ORDERS}stored"].description == inputs[f"{EVENTS}stored"].description
    assert "size of the data" in inputs[f"{ORDERS}stored"].description


def test_values_of_tables_are_in_the_plan_the_yaml_and_the_command(tables: ExplorerServer) -> None:
    values = {f"{ORDERS}stored": "300..500 GiB", f"{EVENTS}popularity": "0.8", f"{EVENTS}compression.codec": "zstd"}
    found = post(tables, "plan", values)
    command = shlex.split(found["command"])
    assert f"{ORDERS}stored=300..500GiB" in command
    settled = [f"{ORDERS}stored=400GiB" if "stored" in word else word for word in command[1:]]
    assert found["usd_per_month"] == json.loads(run(*settled, "--output", "json").stdout)["after"]["usd_per_month"]
    assert "stored: 300..500 GiB" in found["yaml"]
    written = yaml.safe_load(found["yaml"])["workload"]["tables"]
    assert written["events"]["compression"] == {"codec": "zstd"}
    assert written["events"]["popularity"] == {"zipf": 0.8}
    assert "# earlier assumption: nobody has measured it" in post(tables, "plan", {f"{EVENTS}stored": "3 TiB"})["yaml"]


def test_the_plots_of_tables_scale_all_data_and_vary_the_inputs_of_each(tables: ExplorerServer) -> None:
    steps = post(tables, "plan", {f"{EVENTS}stored": "1 TiB"})["steps"]
    double = [step for step in steps if step["plot"] == "data" and step["x"] == 2 * (200 * GIB + TIB)]
    assert len(double) == 3
    for step in double:
        assert [step["values"][f"{table}stored"] for table in (ORDERS, EVENTS)] == [f"{400 * GIB} B", f"{2 * TIB} B"]
    names = Counter(step["series"] for step in steps if step["plot"] == "inputs")
    assert set(names.values()) == {2}
    assert {"events: Stored data", f"{ORDERS_NAME}: Stored data", f"{ORDERS_NAME}: Compression ratio"} <= set(names)
    assert "events: Compression ratio" not in names, "nothing is compressed"


def test_without_a_codec_a_ratio_is_neither_refused_nor_varied(tables: ExplorerServer) -> None:
    codec, ratio = (f"{ORDERS}compression.{key}" for key in ("codec", "ratio"))
    found = post(tables, "plan", {codec: "none"})
    assert found["yaml"] == post(tables, "plan", {codec: "none", ratio: "2"})["yaml"]
    written = yaml.safe_load(found["yaml"])["workload"]["tables"]
    assert [written[table].get("compression") for table in written] == [{"codec": "none", "ratio": 1.0}, None]
    assert f"--set {codec}=none --set {ratio}=1.0" in found["command"]
    assert [step for step in found["steps"] if step["series"].endswith("Compression ratio")] == []
    assert post(tables, "plan", {f"{EVENTS}stored": "2 TiB"})["command"].count("--set") == 1


def test_a_refused_value_of_a_table_belongs_to_its_field(tables: ExplorerServer) -> None:
    [problem] = post(tables, "plan", {f"{ORDERS}row": "100 B"})["problems"]
    assert problem["where"] == f"{ORDERS}row"


def test_a_computation_ends_when_its_page_changes(server: ExplorerServer) -> None:
    """The cluster for ranges takes seconds, and no other page or process ends with it."""
    post(server, "price", {})
    body = json.dumps({"page": "searching", "number": 1, "values": {"workload.stored": "1..9 TiB"}})
    statuses = list[int]()
    path, process = f"/{server.token}/ranges", server.background._process
    search = Thread(target=lambda: statuses.append(request(server, "POST", path, body=body)[0]))
    search.start()
    wait_until(lambda: server.background._current == ("searching", 1))
    post(server, "plan", {}, page="quiet", number=2)
    assert statuses == []
    numbers = count(2)

    def has_ended() -> bool:
        """Change the page once more: the process may not have begun to compute when it changed before."""
        post(server, "plan", {}, page="searching", number=next(numbers))
        return bool(statuses)

    wait_until(has_ended)
    assert statuses == [409]
    assert post(server, "price", {"workload.stored": "88 GiB"}, page="searching", number=next(numbers))
    assert server.background._process is process
    assert process.poll() is None


def test_without_ranges_there_is_no_decision(server: ExplorerServer) -> None:
    assert post(server, "plan", {})["middle"] == ""
    assert post(server, "ranges", {}) == {"rows": []}


def test_the_verdict_and_the_prices_do_not_wait_for_the_nearest_cluster(
    server: ExplorerServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {"targets.budget_usd_per_month": "100"}
    assert post(server, "plan", values)["verdict"].startswith("No cluster meets the targets; this is the nearest one.")
    assert post(server, "quick", {}) == post(server, "plan", {})
    monkeypatch.setattr(
        "warmbase.sizing.calculator.relaxations", lambda *_: pytest.fail("it searches for the nearest cluster")
    )
    state = State(subject=server.subject, values=values)
    assert answer("quick", state) == {"pending": PENDING}
    assert answer("price", state) == {"usd_per_month": None}


def test_every_refused_value_is_named_at_once(server: ExplorerServer) -> None:
    values = {"workload.stored": "3 TB", "targets.hit_ratio": "2", "workload.row": "x"}
    assert {problem["where"] for problem in post(server, "plan", values)["problems"]} == set(values)


def test_the_yaml_of_a_state_has_its_values_and_the_comments_of_the_file(server: ExplorerServer) -> None:
    edited = post(server, "plan", {"workload.stored": "300 GiB"})["yaml"]
    assert "  stored: 300 GiB\n" in edited
    assert edited.startswith("# yaml-language-server")
    anew = post(server, "plan", {"workload.popularity": "0.8", "targets.p99": "80 ms"})
    assert "popularity: {zipf: 0.8}" in anew["yaml"]
    assert anew["command"] == "warmbase plan dev --set 'workload.popularity={zipf: 0.8}' --set targets.p99=80ms"


def test_a_waiting_request_is_skipped_when_a_newer_one_arrives(planner: Planner) -> None:
    first, planned, refused = Event(), list[int](), list[int]()

    def ask(number: int) -> None:
        planner.register("p", number)
        try:
            with planner.turn("p", number):
                planned.append(number)
                first.wait(HANG_SECONDS)
        except Superseded:
            refused.append(number)

    threads = [Thread(target=ask, args=(number,)) for number in range(1, 4)]
    for number, thread in enumerate(threads, start=1):
        thread.start()
        wait_until(lambda number=number: planner._newest.get("p") == number and planned == [1])  # type: ignore[misc]
    first.set()
    for thread in threads:
        thread.join(HANG_SECONDS)
    assert (planned, refused) == ([1, 3], [2])


def test_two_questions_about_one_state_share_its_plan(server: ExplorerServer) -> None:
    last = State(subject=server.subject, values={"workload.stored": "77 GiB"})
    question = Question(kind="plan", values={"workload.stored": "77 GiB"})
    assert _state(question, last) is last
    for other in (replace(question, values={}), replace(question, column="hdfs")):
        state = _state(other, last)
        assert (state.values, state.column) == (other.values, other.column)


def test_a_planner_that_has_ended_is_started_again(planner: Planner) -> None:
    planner._process.kill()
    planner._process.wait()
    with planner.turn("p", 1):
        assert b"usd_per_month" in planner.answer(Question(kind="price", values={}))


def test_a_closed_connection_is_not_an_error(server: ExplorerServer, capfd: pytest.CaptureFixture[str]) -> None:
    connection = socket.create_connection(("127.0.0.1", server.server_port))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.send(b"GET /")
    connection.close()
    assert request(server, "GET", f"/{server.token}/")[0] == 200
    assert capfd.readouterr().err == ""


def test_a_page_that_has_gone_ends_its_connection_and_prints_nothing(
    server: ExplorerServer, capfd: pytest.CaptureFixture[str]
) -> None:
    handler = object.__new__(Handler)
    handler.requestline, handler.request_version, handler.close_connection = "GET / HTTP/1.1", "HTTP/1.1", False
    handler.wfile = Mock(**{"write.side_effect": BrokenPipeError})
    handler._send(HTTPStatus.OK, "text/plain", b"text")
    assert handler.close_connection
    try:
        handler.wfile.write(b"")
    except ConnectionError:
        server.handle_error(None, ("127.0.0.1", 1))
    assert capfd.readouterr().err == ""


def test_an_older_request_gets_a_conflict(server: ExplorerServer) -> None:
    post(server, "plan", {}, page="wire", number=7)
    body = json.dumps({"page": "wire", "number": 6, "values": {}})
    assert request(server, "POST", f"/{server.token}/plan", body=body)[0] == 409
    post(server, "plan", {}, page="another", number=1)


def test_a_planner_ends_without_an_error_while_it_computes(planner: Planner) -> None:
    superseded = Event()

    def ask() -> None:
        with pytest.raises(Superseded), planner.turn("p", 1):
            planner.answer(Question(kind="ranges", values={"workload.stored": "1..9 TiB"}))
        superseded.set()

    Thread(target=ask).start()
    wait_until(lambda: planner._current is not None)
    planner.end()
    assert superseded.wait(HANG_SECONDS)


def test_only_the_latest_pages_are_remembered(planner: Planner) -> None:
    for number in range(2 * MOST_PAGES):
        planner.register(f"page {number}", 1)
    assert len(planner._newest) == MOST_PAGES


def test_the_oldest_answer_is_forgotten(server: ExplorerServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.answers.clear()
    monkeypatch.setattr("warmbase.reports.explorer.server.MOST_ANSWERS", 2)
    monkeypatch.setattr(Planner, "answer", lambda *_: b"{}")
    for stored in range(1, 5):
        post(server, "price", {"workload.stored": f"{stored} GiB"})
    assert [key[2] for key in server.answers] == [("workload.stored", f"{stored} GiB") for stored in (3, 4)]
    server.answers.clear()


def test_an_answer_is_computed_once(server: ExplorerServer, monkeypatch: pytest.MonkeyPatch) -> None:
    before = post(server, "price", {"workload.stored": "77 GiB"})
    monkeypatch.setattr(Planner, "answer", lambda *_: pytest.fail("it is computed again"))
    assert post(server, "price", {"workload.stored": "77 GiB"}) == before
