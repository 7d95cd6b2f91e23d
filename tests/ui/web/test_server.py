"""The served page: only this machine, only what is meant to be sent, and bounds on everything."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest

from glassformer.messages import LANGUAGES, Message
from glassformer.ui.web import jobs
from glassformer.ui.web.jobs import LONGEST_WORD, answer
from glassformer.ui.web.server import LARGEST_BODY
from glassformer.ui.web.workers import Job, Worker
from serving import ASKED, Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("served")
    (folder / "figure.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (folder / "secret.txt").write_text("secret")
    (folder.parent / "outside.svg").write_text("<svg>outside</svg>")
    (folder / "link.svg").symlink_to(folder.parent / "outside.svg")
    (folder / "circle.svg").symlink_to(folder / "circle.svg")
    (folder / "folder.svg").mkdir()
    (folder / os.fsdecode(b"\xff.svg")).write_text("<svg/>")
    with (folder / "huge.svg").open("wb") as huge, (folder / "lineage.json").open("wb") as study:
        huge.truncate(3 * 2**30)
        study.truncate(3 * 2**30)
    made = Server(folder)
    yield made
    made.stop()


def test_a_machine_and_a_word_are_looked_at_and_heads_ablated(server: Server) -> None:
    found = server.ask().json()
    assert found["machine"]["states"] == ["0", "1", "2"]
    assert found["built"]["run"]["answers"] == [0, 1, 0, 2, 2]
    assert "trained" not in found
    silent = server.ask(without=[[0, 0]]).json()
    assert silent["built"]["run"]["answers"] != found["built"]["run"]["answers"]
    trained = server.ask("/api/train").json()["trained"]
    assert len(trained["run"]["answers"]) == 5
    assert "run" in server.ask(word="ab").json()["trained"]
    long = server.ask(word="ab" * 100).json()["trained"]
    assert (long["most"], "run" in long) == (128, False)
    only_trained = server.ask(without=[[1, 3]]).json()
    assert only_trained["built"]["run"]["answers"] == found["built"]["run"]["answers"]
    assert only_trained["trained"]["run"]["logits"] != trained["run"]["logits"]
    heads = server.ask("/api/heads").json()
    assert [(each["job"]["en"], each["confidence"]) for each in heads["built"]["scores"][:1]] == [("look 1 back", 1.0)]
    assert len(heads["trained"]["scores"]) == 8
    assert heads["trained"]["length"] == heads["built"]["length"] == 16


def test_heads_are_not_scored_where_words_are_too_short_or_the_model_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    parity = ASKED | {"spec": "parity", "word": ""}
    assert json.loads(answer("heads", json.dumps(parity | {"length": 2}))[1])["built"] == {"refused": "short"}
    monkeypatch.setattr(jobs, "MOST_HEAD_WORK", 1)
    assert json.loads(answer("heads", json.dumps(parity | {"length": 9}))[1])["built"] == {"refused": "large"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"spec": "nonsense"}, "there is no machine 'nonsense'"),
        ({"spec": "x" * 500}, "spec has 500 characters; the limit is 400"),
        ({"spec": "/etc/passwd.json"}, "files of this computer are not opened here"),
        ({"spec": "cyclic(100000)"}, "n must lie between 1 and 1000"),
        ({"spec": "cyclic(999)"}, "up to 256 states"),
        ({"spec": "regex:(a|b)*a(a|b){60}"}, "states"),
        ({"word": "xyz"}, "'x'"),
        ({"word": "a" * (LONGEST_WORD + 1)}, "letters; the page shows up to"),
        ({"length": 10**9}, "1 to 1,024"),
        ({"length": "many"}, "1 to 1,024"),
        ({"method": "magic"}, "method is one of"),
        ({"without": [[9, 9]]}, "there is no head 9 in layer 9"),
        ({"without": [[0, 0]] * 100}, "up to 64 heads"),
        ({"file": {"name": "m.json", "text": "{"}}, "m.json"),
        ({"file": {"name": "m.exe", "text": "{}"}}, "exe"),
        ({"file": "m.json"}, "a name and a text"),
        ({"spec": None}, "a text 'spec'"),
    ],
)
def test_what_cannot_be_is_said(changes: dict[str, Any], words: str) -> None:
    status, text = answer("look", json.dumps(ASKED | changes))
    assert status == 400
    assert words in json.loads(text)["error"]["en"]


def test_a_tie_is_no_answer() -> None:
    found = json.loads(
        answer("look", json.dumps(ASKED | {"spec": "regex:(ab)*", "word": "ababa", "without": [[1, 0]]}))[1]
    )
    run = found["built"]["run"]
    tied = [row.count(max(row)) > 1 for row in run["logits"]]
    assert any(tied)
    assert [answer == -1 for answer in run["answers"]] == tied


def test_another_machine_gets_another_word_if_this_one_is_not_its_own() -> None:
    for fresh, status in ((True, 200), (False, 400)):
        assert answer("look", json.dumps(ASKED | {"spec": "parity", "word": "abba", "fresh": fresh}))[0] == status
    kept = json.loads(answer("look", json.dumps(ASKED | {"spec": "parity", "word": "11", "fresh": True}))[1])
    assert kept["word"] == "11"


def test_an_uploaded_machine_is_read_and_not_executed() -> None:
    text = '{"symbols": ["a"], "states": ["p", "q"], "delta": [[1, 0]], "start": "p"}'
    status, found = answer("look", json.dumps(ASKED | {"file": {"name": "m.json", "text": text}, "word": "aa"}))
    assert status == 200
    assert json.loads(found)["built"]["run"]["answers"] == [0, 1, 0]
    assert answer("look", "[")[0] == answer("look", "[]")[0] == answer("look", "[" * 100_000)[0] == 400


def test_only_this_machine_and_this_page_are_answered(server: Server) -> None:
    assert server.get(host="evil.example").status_code == 400
    assert server.get(sec_fetch_site="cross-site").status_code == 403
    link = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}
    assert server.get(**link).status_code == 200  # a link to the page may be anywhere
    assert server.get("/api/known", **link).status_code == 403
    assert server.send("{}", kind="text/plain").status_code == 415
    assert server.get("/api/look").status_code == 405
    policy = server.get().headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    listening = Path("/proc/net/tcp").read_text() if Path("/proc/net/tcp").exists() else ""
    assert f"00000000:{server.port:04X}" not in listening  # not on every address


def test_no_path_leaves_the_folder(server: Server) -> None:
    known = server.get("/api/known").json()
    assert known["figures"] == ["figure.svg", "huge.svg"]
    assert "parity" in known["zoo"]
    assert server.get("/figures/figure.svg").status_code == 200
    for path in (
        "/figures/secret.txt",
        "/figures/link.svg",
        "/figures/%2e%2e/outside.svg",
        "/figures/..%2Foutside.svg",
        "/views/..%2Fserver.py",
        "/views/nothing.js",
        "/figures//etc/passwd",
        "/studies/secret.txt",
        "/studies/..%2Flineage.json",
        "/figures/%00.svg",
        "/figures/a%00.svg",
        "/studies/%00/lineage.json",
        "/views/%00.js",
        "/figures/" + "a" * 5000 + ".svg",
        "/figures/" + "a/" * 3000 + "b.svg",
        "/figures/..%5Coutside.svg",
        "/figures/..%5c..%5coutside.svg",
        "/figures/%ff.svg",
        "/figures/%ed%a0%80.svg",
        "/figures/circle.svg",
        "/figures/folder.svg",
        "/figures/",
        "/figures/%2e%2e",
    ):
        assert server.get(path).status_code == 404, path


def test_files_that_are_too_large_are_not_read(server: Server) -> None:
    figure, study = server.get("/figures/huge.svg"), server.get("/studies/lineage.json")
    assert (figure.status_code, figure.json()["error"]["id"]) == (413, "page.figure_too_large")
    assert (study.status_code, study.json()["error"]["id"]) == (404, "page.study_too_large")


def test_only_who_has_the_link_is_answered_and_only_once_is_the_token_in_it(server: Server) -> None:
    with httpx.Client() as client:
        for path in ("/", "/views/live.js", "/api/known", "/figures/figure.svg", "/?token=wrong", "/?token="):
            assert client.get(server.url + path).status_code == 403, path
        assert client.post(server.url + "/api/look", json=ASKED).status_code == 403
        kind = client.get(server.url, headers={"accept": "text/html"})
        assert kind.status_code == 403
        assert all(Message("page.no_token").in_language(each) in unescape(kind.text) for each in LANGUAGES)
        for wrong in ("Bearer wrong", "Bearer", "", "Basic eDp4"):
            assert client.get(server.url, headers={"authorization": wrong}).status_code == 403
        opened = client.get(server.link)
        assert (opened.status_code, opened.headers["location"]) == (303, "/")
        cookie = opened.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        for path in ("/", "/views/live.js", "/api/known"):
            assert client.get(server.url + path).status_code == 200, path
        assert client.post(server.url + "/api/look", json=ASKED).status_code == 200
    assert "token" not in server.get().text


def test_without_a_token_everybody_on_this_machine_is_answered(tmp_path: Path) -> None:
    server = Server(tmp_path, "--no-token")
    try:
        assert server.link == server.url + "/"
        assert httpx.get(server.url + "/api/known").status_code == 200
    finally:
        server.stop()


def test_numbers_that_python_does_not_read_leave_the_trained_models_there(server: Server) -> None:
    server.ask("/api/train", spec="tomita(7)", word="01")
    for path in ("/api/look", "/api/train", "/api/heads", "/api/approximate"):
        refused = server.send('{"x": ' + "9" * 5000 + "}", path)
        assert (refused.status_code, refused.json()["error"]["id"]) == (400, "page.not_json")
    assert "trained" in server.ask(spec="tomita(7)", word="01").json()


def test_what_is_closed_is_not_done(server: Server) -> None:
    body = json.dumps(ASKED | {"word": "", "spec": "cyclic(7)"})
    for _ in range(12):
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            lines = {
                **server.headers,
                "host": "localhost",
                "content-type": "application/json",
                "content-length": len(body),
            }
            head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
            connection.sendall(f"POST /api/train HTTP/1.1\r\n{head}\r\n{body}".encode())
            time.sleep(0.05)
    assert server.ask("/api/heads").status_code == 200  # it waits for the same process
    assert "trained" not in server.ask(spec="cyclic(7)", word="").json()


def test_many_connections_that_send_nothing_whole_keep_nobody_out(server: Server) -> None:
    half = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(300)]
    for connection in half:
        connection.sendall(b"POST /api/look HTTP/1.1\r\nHost: ")
    assert server.ask().status_code == 200
    for connection in half:
        connection.close()


def test_it_is_served_where_there_is_no_module_for_limits(tmp_path: Path) -> None:
    given = f"sys.modules['resource'] = None; sys.argv = ['glassformer', 'serve', {str(tmp_path)!r}, '--port', '0']"
    code = f"import sys; {given}; from glassformer.__main__ import main; main()"
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    assert process.stderr
    try:
        assert "has no limits on memory" in process.stderr.readline()
        assert "http://127.0.0.1" in process.stderr.readline()
    finally:
        process.terminate()
        process.communicate()


def test_too_much_is_refused_before_it_is_held(server: Server) -> None:
    answered = server.ask(word="a" * 10_000_000)
    assert answered.status_code == 413
    assert f"{LARGEST_BODY:,} bytes" in answered.json()["error"]["en"]


def test_many_requests_at_once_take_their_turn_or_are_told(server: Server) -> None:
    async def ask_all() -> list[int]:
        limits = httpx.Limits(max_connections=100)
        async with httpx.AsyncClient(limits=limits, timeout=120, headers=server.headers) as client:
            asked = (client.post(server.url + "/api/look", json=ASKED) for _ in range(300))
            return [answered.status_code for answered in await asyncio.gather(*asked)]

    codes = asyncio.run(ask_all())
    assert set(codes) <= {200, 429}
    assert 200 in codes
    assert server.ask().status_code == 200  # and it is still there


def test_a_job_that_takes_too_long_is_ended_and_the_next_one_is_done(tmp_path: Path) -> None:
    worker, quick = Worker(tmp_path), json.dumps(ASKED).encode()
    slow = json.dumps(ASKED | {"spec": "symmetric(5)", "length": 512, "word": ""}).encode()
    try:
        worker.do(Job("look", quick, 60))
        status, text = worker.do(Job("look", slow, 0.01))
        assert (status, b"was ended" in text) == (503, True)
        assert worker.do(Job("look", quick, 60))[0] == 200
    finally:
        worker.stop()
