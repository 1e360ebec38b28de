"""Real fio puts, gets and deletes objects of a real S3 server, over HTTP and HTTPS; wrong keys, no
bucket, 404, 503, a store that is slow, a store that hangs.

Skipped without a fio that has the http engine (BENCHTUI_HTTP_FIO, or fio on PATH) and moto_server
(BENCHTUI_MOTO_SERVER, or on PATH): fio 3.33 of Debian has no such engine.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import benchtui, marked_processes, only_run, start
from tests.e2e.test_secrets import command_lines, spools_of, texts_below
from tests.lab.s3 import BUCKET, MOTO, S3Lab, fio_with_http
from tests.patience import PATIENCE_S, wait_until
from tui.text.run_texts import run_text

FIO = fio_with_http()
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(FIO is None, reason="no fio with the http engine"),
    pytest.mark.skipif(MOTO is None, reason="no moto_server"),
]


@pytest.fixture(scope="module")
def store() -> Iterator[S3Lab]:
    with S3Lab() as lab:
        yield lab


@pytest.fixture(autouse=True)
def surroundings(store: S3Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys in the environment, and the fio with the engine first on PATH."""
    store.again()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "fio").symlink_to(str(FIO))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    for name, value in store.environ.items():
        monkeypatch.setenv(name, value)


LOCAL = ("--hosts", "local")
DELAY_S = 0.3  # of a store that is slow


def words(store: S3Lab, preset: str, hosts: Sequence[str] = LOCAL, **params: str) -> list[str]:
    values = {
        "endpoint": store.endpoint,
        "https": "off",
        "size": "16k",
        "objects": "10",
        "concurrency": "2",
        **params,
    }
    given = [word for name, value in values.items() for word in ("--set", f"{name}={value}")]
    return ["run", preset, *hosts, *given, "--json", "--no-telemetry"]


def named(store: S3Lab, **params: str) -> list[str]:
    endpoint = params.get("endpoint", store.endpoint)
    return ["--yes", "--destroy", f"{endpoint}/{params.get('bucket', BUCKET)}"]


def run(store: S3Lab, home: Path, preset: str, **params: str) -> tuple[int, dict[str, Any]]:
    done = benchtui(home, *words(store, preset, **params), *named(store, **params))
    return done.returncode, json.loads(done.stdout)


def problems(record: dict[str, Any]) -> dict[str, str]:
    return {each["code"]: run_text(each["message"]) for each in record["hosts"][0]["problems"]}


def test_two_hosts_put_get_and_delete_and_the_keys_are_written_nowhere(
    store: S3Lab, home: Path, two_hosts: list[str]
) -> None:
    refused = benchtui(home, *words(store, "s3/all", two_hosts), "--yes")
    assert (refused.returncode, store.seen.total()) == (3, 0)
    assert f"--destroy {store.endpoint}/{BUCKET}" in refused.stderr
    going = start(home, *words(store, "s3/all", two_hosts, runtime="2s"), *named(store))
    wait_until(lambda: store.seen["GET", 200] > 0, "a GET")
    keys = [value.encode() for value in store.environ.values()]
    assert not any(key in command_lines() for key in keys)
    spools = spools_of(only_run(home).name)
    wait_until(
        lambda: any(b'"http_s3_key"' in data for _, data in texts_below(*spools)),
        "the options that fio repeats, in a spool",
    )
    there = texts_below(home, *spools)
    assert [path for path, data in there if any(key in data for key in keys)] == []
    out, err = going.communicate(timeout=PATIENCE_S)
    record = json.loads(out)
    assert record["state"] == "complete", err
    counted = [step["results"]["aggregate"] for step in record["steps"] if not step["warmup"]]
    assert record["objects_left"] == []
    assert [counted[0]["write"]["ios"], counted[2]["trim"]["ios"]] == [40, 40]
    assert counted[1]["read"]["ios"] == store.seen["GET", 200]
    assert (store.seen["PUT", 200], store.seen["DELETE", 204]) == (80, 40), (
        "once measured, once before the GETs"
    )
    held = [path for path, data in texts_below(home, *spools) if any(key in data for key in keys)]
    assert (held, any(key.decode() in out + err for key in keys)) == ([], False)


def test_what_stays_in_the_bucket_is_named_and_not_claimed_to_be_removed(
    store: S3Lab, home: Path
) -> None:
    code, record = run(store, home, "s3/put", prefix="stays")
    assert code in (0, 1)
    (left,) = record["objects_left"]
    assert (left["store"], left["count"], left["bytes"]) == (
        f"{store.endpoint}/{BUCKET}",
        20,
        20 * 16384,
    )
    cleaned = benchtui(home, "clean", "last", "--yes", "--json")
    assert cleaned.returncode == 4 and f"{store.endpoint}/{BUCKET}" in cleaned.stderr
    assert json.loads(cleaned.stdout)["objects_left"] == [left]
    assert not any(method == "DELETE" for method, _ in store.seen)


def test_wrong_keys_end_the_run_before_anything_is_measured(
    store: S3Lab, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-the-key")
    code, record = run(store, home, "s3/get", runtime="1s")
    assert (code, record["state"], store.seen["GET", 200]) == (4, "failed", 0)
    assert "HTTP 403" in problems(record)["fio-http-status"] and record["objects_left"] == []


def test_no_bucket_and_no_store_are_found_before_anything_is_put(store: S3Lab, home: Path) -> None:
    nobody = {"endpoint": "127.0.0.1:9"}
    for params, told in (({"bucket": "nothing"}, "HTTP 404"), (nobody, "Couldn't connect")):
        done = benchtui(home, *words(store, "s3/delete", **params), *named(store, **params))
        assert done.returncode == 3 and told in done.stderr
    assert store.seen == {("HEAD", 404): 1}


def test_a_bucket_that_vanishes_is_found_by_the_fill(store: S3Lab, home: Path) -> None:
    store.fault = lambda method, number: 404 if method == "PUT" and number > 5 else None
    code, record = run(store, home, "s3/delete")
    assert (code, record["state"]) == (4, "failed")
    assert "HTTP 404" in problems(record)["fio-http-status"]
    assert not any(method == "DELETE" for method, _ in store.seen)


def test_a_store_that_is_overloaded_meanwhile_makes_the_figure_void(
    store: S3Lab, home: Path
) -> None:
    store.fault = lambda method, number: 503 if method == "GET" and number > 30 else None
    code, record = run(store, home, "s3/get", runtime="10s")
    assert (code, record["verdict"]) == (4, "invalid")
    assert "HTTP 503" in problems(record)["fio-http-status"]


def test_https_with_an_unknown_certificate_needs_insecure(store: S3Lab, home: Path) -> None:
    secure = {"endpoint": store.tls_endpoint, "https": "on"}
    code, record = run(store, home, "s3/put", **secure)
    assert (code, store.seen.total()) == (4, 0)
    assert "certificate" in problems(record)["fio-no-http-status"]
    code, record = run(store, home, "s3/put", **secure | {"https": "insecure"})
    assert (record["state"], store.seen["PUT", 200]) == ("complete", 20)


def test_a_slow_store_is_measured_and_is_no_error(store: S3Lab, home: Path) -> None:
    def late(_method: str, _number: int) -> None:
        time.sleep(DELAY_S)

    store.fault = late
    _, record = run(store, home, "s3/put", objects="3")
    (result,) = (step["results"]["aggregate"]["write"] for step in record["steps"])
    assert (record["state"], result["ios"], store.seen["PUT", 200]) == ("complete", 6, 6)
    assert result["clat"]["min_ns"] >= DELAY_S * 1e9 and problems(record) == {}


def test_a_resumed_run_puts_again_what_it_deletes(store: S3Lab, home: Path) -> None:
    store.fault = lambda method, number: 503 if method == "DELETE" and number > 5 else None
    code, record = run(store, home, "s3/delete")
    assert code == 4 and record["objects_left"][0]["count"] == 20
    store.again()
    resumed = benchtui(home, "runs", "resume", "--failed", "last")
    assert resumed.returncode in (0, 1), resumed.stderr
    assert (store.seen["PUT", 200], store.seen["DELETE", 204]) == (20, 20)
    assert json.loads((only_run(home) / "run.json").read_text())["objects_left"] == []


def test_gets_that_are_answered_with_404_are_seen_on_the_links(store: S3Lab, home: Path) -> None:
    store.fault = lambda method, _: 404 if method == "GET" else None
    done = benchtui(home, *words(store, "s3/get", runtime="6s", size="1M")[:-1], *named(store))
    record = json.loads(done.stdout)
    assert record["steps"][-1]["results"]["aggregate"]["read"]["ios"] == store.seen["GET", 404], (
        "fio counts them"
    )
    findings = {each["id"]: each["severity"] for each in record["findings"]}
    assert (findings.get("object-traffic"), record["verdict"]) == ("error", "invalid")


def test_a_store_that_does_not_answer_is_left_when_the_run_is_stopped(
    store: S3Lab, home: Path
) -> None:
    answer = threading.Event()

    def hang(method: str, number: int) -> int | None:
        if method == "GET" and number > 4:
            answer.wait(PATIENCE_S)
        return None

    store.fault = hang
    going = start(home, *words(store, "s3/get", runtime="1s"), *named(store))
    try:
        wait_until(lambda: store.seen["GET", 200] == 4, "a GET that is not answered")
        assert benchtui(home, "stop", "last").returncode == 0
        answer.set()
        going.communicate(timeout=PATIENCE_S)
    finally:
        answer.set()
    (record,) = (json.loads(each.read_text()) for each in home.glob("runs/*/run.json"))
    assert record["state"] != "complete"
    assert marked_processes(only_run(home).name) == []
