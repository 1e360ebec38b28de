"""Streams of a run that goes on: its journal grows, a real HTTP server takes what is pushed."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from tests.export.endpoint import Endpoint
from tests.lab.sshd import refusing_port
from tests.patience import PATIENCE_S
from tui.cli.main import main
from tui.export import stream
from tui.export.live import Follower, moments
from tui.export.stream import follow, streamed
from tui.model.exporter import ExportSecond, ExportSource
from tui.model.problem import UsageError

RUNS = Path(__file__).parents[1] / "data" / "runs"


def seconds_of(run: str) -> list[ExportSecond]:
    return [moment for moment in moments(RUNS / run) if isinstance(moment, ExportSecond)]


# -- the fold


@pytest.mark.parametrize("run", ["plain", "sweep"])
def test_seconds_are_those_of_the_record(run: str, request: pytest.FixtureRequest) -> None:
    source: ExportSource = request.getfixturevalue(run)
    known = {}
    for step in source.record.steps:
        for column in step.series.columns if step.series is not None else ():
            assert step.series is not None
            for place, iops in enumerate(column.iops):
                known[step.name, column.host, column.direction, step.series.start_s + place] = iops
    found = seconds_of(run)
    assert found
    for second in found:
        recorded = known.get((second.step, second.host, second.direction, second.t_s))
        assert recorded is None or second.iops == pytest.approx(recorded, rel=0.02)
    assert sum((s.step, s.host, s.direction, s.t_s) in known for s in found) > len(found) / 2


@pytest.mark.parametrize("size", [300, 5000, 40_000])
def test_a_second_is_reported_once_and_the_same_however_the_journal_grows(
    tmp_path: Path, size: int
) -> None:
    shutil.copytree(RUNS / "plain", tmp_path / "run")
    found = grown(tmp_path / "run", size)
    keys = [(second.host, second.direction, second.t_s) for second in found]
    assert len(keys) == len(set(keys))
    assert {(s.host, s.direction, s.t_s): s.iops for s in found} == {
        (s.host, s.direction, s.t_s): s.iops for s in seconds_of("plain")
    }


@pytest.mark.parametrize("size", [300, 1100, 40_000])
def test_a_sample_that_reaches_far_back_gives_every_follower_the_same_figures(
    tmp_path: Path, size: int
) -> None:
    lines = []
    for line in (RUNS / "plain" / "journal.jsonl").read_bytes().splitlines(keepends=True):
        event = json.loads(line)
        if event["type"] == "sample" and event["phase"] == "measure" and int(event["t"]) % 3 == 0:
            event["interval_s"] += 1.7
        lines.append(json.dumps(event).encode() + b"\n")
    shutil.copytree(RUNS / "plain", tmp_path / "late")
    journal = tmp_path / "late" / "journal.jsonl"
    journal.write_bytes(b"".join(lines))
    whole = [moment for moment in moments(tmp_path / "late") if isinstance(moment, ExportSecond)]
    assert whole
    assert grown(tmp_path / "late", size) == whole


def grown(run_dir: Path, size: int) -> list[ExportSecond]:
    """Follow a run whose journal grows by so many bytes at a time."""
    journal = run_dir / "journal.jsonl"
    data = journal.read_bytes()
    journal.write_bytes(b"")
    follower, found = Follower(run_dir), []
    for place in range(0, len(data), size):
        with journal.open("ab") as file:
            file.write(data[place : place + size])
        found += follower.poll()
    return [moment for moment in (*found, *follower.rest()) if isinstance(moment, ExportSecond)]


def test_the_ramp_is_not_told() -> None:
    journal = Path(__file__).parents[1] / "data" / "journals" / "ramp"
    events = [json.loads(line) for line in (journal / "journal.jsonl").read_text().splitlines()]
    ramp_ended = max(
        event["t"] - 1 for event in events if event["type"] == "sample" and event.get("ramp")
    )
    told = [moment.t_s for moment in moments(journal) if isinstance(moment, ExportSecond)]
    assert told and min(told) >= ramp_ended - 1


# -- where it goes


def test_lines_are_pushed_and_at_the_end_what_came_out(
    endpoint: Endpoint, plain: ExportSource
) -> None:
    assert follow(plain.run_dir, "influx", endpoint.url, print)
    assert len([point for point in endpoint.points if point["measurement"] == "benchtui"]) == len(
        seconds_of("plain")
    )
    assert any(point["measurement"] == "benchtui_result" for point in endpoint.points)


def test_an_address_that_is_down_is_tried_again_and_said_once(
    endpoint: Endpoint, plain: ExportSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "AGAIN_S", 0.01)
    endpoint.answers = [503, 503, 503]
    said: list[str] = []
    patience = iter([True, True, True, False])
    sink = stream.HttpSink(endpoint.url, said.append, lambda: next(patience))
    sink.write("a x=1 1\n")
    assert (endpoint.taken, len(said)) == (["a x=1 1\n"], 1)
    assert "503" in said[0] and "?" not in said[0]


def test_an_address_that_stays_down_is_given_up_when_the_run_is_over(
    plain: ExportSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "AGAIN_S", 0.01)
    said: list[str] = []
    with refusing_port() as port:
        assert not follow(plain.run_dir, "influx", f"http://127.0.0.1:{port}/write", said.append)
    assert len(said) == 2 and "retrying" in said[0] and "streaming stopped" in said[1]


def test_an_address_that_answers_something_else_than_http_is_named(
    plain: ExportSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "AGAIN_S", 0.01)
    said: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as pool:
        pool.submit(greet, listening, b"SSH-2.0-OpenSSH\r\n", 2)
        port = listening.getsockname()[1]
        assert not follow(plain.run_dir, "influx", f"http://127.0.0.1:{port}/write", said.append)
    assert (
        len(said) == 2 and "SSH-2.0-OpenSSH; retrying" in said[0] and "streaming stopped" in said[1]
    )


def greet(listening: socket.socket, words: bytes, times: int) -> None:
    """Answer each of so many connections as a server of another protocol does."""
    listening.settimeout(PATIENCE_S)
    for _ in range(times):
        link, _ = listening.accept()
        with link, suppress(OSError):
            link.sendall(words)
            while link.recv(1 << 16):
                pass


def test_an_address_that_refuses_is_not_asked_again(
    endpoint: Endpoint, plain: ExportSource
) -> None:
    endpoint.answers = [401] * 5
    said: list[str] = []
    assert not follow(plain.run_dir, "influx", endpoint.url, said.append)
    assert len(said) == 1 and "401" in said[0] and "not you" in said[0] and "more\n" not in said[0]
    assert len(endpoint.headers) == 1


def test_a_token_comes_from_the_environment(
    endpoint: Endpoint, plain: ExportSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHTUI_STREAM_AUTHORIZATION", "Token secret")
    assert follow(plain.run_dir, "influx", endpoint.url, print)
    assert {headers["Authorization"] for headers in endpoint.headers} == {"Token secret"}


def test_a_name_and_password_in_an_address_are_not_said() -> None:
    assert (
        stream.HttpSink("http://me:pw@db:8086/write?p=pw", print, bool).name
        == "http://db:8086/write"
    )


def test_much_is_sent_in_parts(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "MOST_BYTES", 20)
    stream.HttpSink(endpoint.url, print, bool).write(
        "".join(f"a x={number} 1\n" for number in range(10))
    )
    assert len(endpoint.taken) == 5 and len(endpoint.points) == 10


def test_a_reader_of_stdout_that_goes_away_ends_the_stream_quietly(
    plain: ExportSource, home: Path
) -> None:
    command = [
        sys.executable,
        "-m",
        "tui.cli.main",
        "export",
        str(plain.run_dir),
        "jsonl",
        "--stream",
    ]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        command, stdout=write, stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S, check=False
    )
    os.close(write)
    assert done.returncode == 1
    assert "closed by the reader" in done.stderr and done.stderr.count("\n") == 1


def test_a_file_holds_json_lines(plain: ExportSource, tmp_path: Path, home: Path) -> None:
    assert (
        main(["export", str(plain.run_dir), "jsonl", "--stream", "-o", str(tmp_path / "out.jsonl")])
        == 0
    )
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [lines[0]["type"], lines[-1]["type"]] == ["run_started", "record"]
    assert lines[-1]["verdict"] == plain.record.verdict
    assert sum(line["type"] == "second" for line in lines) == len(seconds_of("plain"))


def test_a_format_that_cannot_follow_names_those_that_can() -> None:
    with pytest.raises(UsageError, match="influx, jsonl"):
        streamed("csv")


def test_a_look_at_a_target_leaves_it_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("mine")
    os.mkfifo(tmp_path / "pipe")
    for name in ("kept", "pipe", "new"):
        stream.check_target(str(tmp_path / name))
    assert (tmp_path / "kept").read_text() == "mine" and not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--stream", "csv"], "cannot follow a run"),
        (["--stream", "jsonl", "--json"], "both write to standard output"),
        (["--stream", "jsonl", "--stream", "influx"], "only one stream"),
        (["--stream", "jsonl", "--detach"], "--detach"),
        (
            ["--stream", "jsonl=/nonexistent/out"],
            "/nonexistent/out: cannot be written: No such file or directory",
        ),
        (["--stream", "jsonl=/"], "/: cannot be written: Is a directory"),
        (["--stream", "influx=ftp://db/write"], "expected an http or https address"),
    ],
)
def test_what_cannot_be_streamed_starts_nothing(
    arguments: list[str], said: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "demo/quick", "--hosts", "local", *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not (home / "runs").exists()
