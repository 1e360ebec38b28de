"""Real elbencho puts, gets, asks for and deletes objects of a real S3 server, from two hosts: every
figure is elbencho's own, keys are written nowhere; wrong keys, no bucket, no server, 404, 503.

Skipped without an elbencho on PATH that has S3, and without moto_server (BENCHTUI_MOTO_SERVER, or
on PATH).
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import benchtui, only_run, start
from tests.e2e.test_secrets import command_lines, texts_below
from tests.lab.s3 import BUCKET, MOTO, S3Lab
from tests.patience import PATIENCE_S, wait_until
from tui.text.run_texts import run_text


def has_s3() -> bool:
    """Tell whether elbencho is on PATH, built with S3."""
    found = shutil.which("elbencho")
    words = [str(found), "--s3fastget", "--version"]
    return bool(found) and not subprocess.run(words, capture_output=True, check=False).returncode


pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not has_s3(), reason="no elbencho with S3"),
    pytest.mark.skipif(MOTO is None, reason="no moto_server"),
]
SMALL = {"size": "16k", "objects": "10", "threads": "2"}


@pytest.fixture(scope="module")
def store() -> Iterator[S3Lab]:
    with S3Lab() as lab:
        yield lab


@pytest.fixture(autouse=True)
def keys(store: S3Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    store.again()
    for name, value in store.environ.items():
        monkeypatch.setenv(name, value)


def words(store: S3Lab, preset: str, hosts: list[str], **params: str) -> list[str]:
    values = {"endpoint": store.endpoint, "https": "off", **SMALL, **params}
    given = [word for name, value in values.items() for word in ("--set", f"{name}={value}")]
    named = f"{values['endpoint']}/{values.get('bucket', BUCKET)}"
    run = ["run", f"elbencho/{preset}", *hosts, *given, "--json", "--no-telemetry", "--yes"]
    return [*run, "--destroy", named]


def run(store: S3Lab, home: Path, preset: str, **params: str) -> tuple[int, dict[str, Any], str]:
    done = benchtui(home, *words(store, preset, ["--hosts", "local"], **params))
    return done.returncode, json.loads(done.stdout or "{}"), done.stderr


def problems(record: dict[str, Any]) -> dict[str, str]:
    return {each["code"]: run_text(each["message"]) for each in record["hosts"][0]["problems"]}


def printed(run_dir: Path, step: int, host: str) -> dict[str, Any]:
    """Return what elbencho itself printed at the end of a step."""
    packed = (run_dir / "raw" / f"{step}.measure.{host}.out.gz").read_bytes()
    lines = [line for line in gzip.decompress(packed).decode().splitlines() if line[:1] == "{"]
    found: dict[str, Any] = json.loads(lines[-1])["last_done"]
    return found


def test_two_hosts_put_ask_for_get_and_delete_and_every_figure_is_elbenchos(
    store: S3Lab, home: Path, two_hosts: list[str]
) -> None:
    going = start(home, *words(store, "s3-small", two_hosts, runtime="2s"))
    wait_until(lambda: store.seen["GET", 206] > 0, "a GET")
    secrets = [value.encode() for value in store.environ.values()]
    assert not any(key in command_lines() for key in secrets)
    out, err = going.communicate(timeout=PATIENCE_S)
    record = json.loads(out)
    assert record["state"] == "complete", err
    measured = [
        (at, step["results"]) for at, step in enumerate(record["steps"]) if not step["warmup"]
    ]
    directions = ("write-objects", "head", "read-objects", "trim")
    assert record["objects_left"] == []
    for (at, results), direction in zip(measured, directions, strict=True):
        ends = {host: printed(only_run(home), at, host) for host in ("h1", "h2")}
        whole = results["aggregate"][direction]
        assert whole["ios"] == sum(int(each["entries"]) for each in ends.values())
        for host, each in ends.items():
            mine, latency = results["per_host"][host][direction], each["latency"]["entries"]
            assert abs(mine["iops"] - int(each["entries/s"])) <= 1
            assert mine["lat"]["max_ns"] == int(latency["max_us"]) * 1000
            assert sorted(mine["lat"]["histogram"]["n"]) == sorted(
                int(row["count"]) for row in latency["histogram"]["buckets"]
            )
    assert (store.seen["PUT", 200], store.seen["DELETE", 204]) == (80, 40), (
        "once measured, once before the HEADs"
    )
    assert measured[1][1]["aggregate"]["head"]["ios"] == store.seen["HEAD", 200] - 2, (
        "a HEAD of the bucket from each host"
    )
    spools = Path(f"/tmp/.benchtui-{os.getuid()}") / only_run(home).name
    held = [path for path, data in texts_below(home, spools) if any(k in data for k in secrets)]
    assert (held, any(key.decode() in out + err for key in secrets)) == ([], False)


def test_parts_of_large_objects_are_counted_as_requests(store: S3Lab, home: Path) -> None:
    sets = {"size": "16M", "block": "5M", "objects": "1", "threads": "2", "iodepth": "2"}
    _, record, err = run(store, home, "s3-large-put", **sets)
    assert record["state"] == "complete", err
    found = record["steps"][0]["results"]["aggregate"]
    assert (found["write"]["ios"], found["write-objects"]["ios"]) == (8, 2)
    assert found["write"]["bytes"] == 2 * 16 << 20 and store.seen["PUT", 200] == 8
    assert record["objects_left"][0]["bytes"] == 32 << 20


def test_no_server_and_no_bucket_are_found_before_anything_is_put(store: S3Lab, home: Path) -> None:
    code, _, err = run(store, home, "s3-put", endpoint="127.0.0.1:9")
    assert code != 0 and "Couldn't connect" in err
    code, _, err = run(store, home, "s3-put", bucket="nothing")
    assert code != 0 and "HTTP 404" in err
    assert (store.seen["PUT", 200], store.seen["HEAD", 404]) == (0, 1)


def test_wrong_keys_end_the_run_before_anything_is_measured(
    store: S3Lab, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-the-key")
    code, record, _ = run(store, home, "s3-get", runtime="1s")
    assert (code, record["state"], store.seen["GET", 206]) == (4, "failed", 0)
    assert "HTTP 403" in problems(record)["elbencho-http-status"]


def test_an_object_that_vanishes_is_an_error(store: S3Lab, home: Path) -> None:
    store.fault = lambda method, number: 404 if method == "GET" and number > 30 else None
    code, record, _ = run(store, home, "s3-get", runtime="10s")
    assert (code, record["state"]) == (4, "failed")
    assert "HTTP 404" in problems(record)["elbencho-http-status"]


def test_requests_that_are_repeated_after_503_are_in_the_latency(store: S3Lab, home: Path) -> None:
    store.fault = lambda method, number: 503 if method == "PUT" and number % 5 == 0 else None
    _, record, _ = run(store, home, "s3-put")
    assert (record["state"], problems(record)) == ("complete", {})
    put = record["steps"][0]["results"]["aggregate"]["write-objects"]
    assert put["ios"] == store.seen["PUT", 200] == 20 and store.seen["PUT", 503] > 0


def test_a_slow_store_over_https_is_measured(store: S3Lab, home: Path) -> None:
    def late(method: str, _number: int) -> None:
        time.sleep(0.2 if method == "PUT" else 0.0)

    store.fault = late
    secure = {"endpoint": store.tls_endpoint, "https": "insecure", "objects": "2"}
    _, record, err = run(store, home, "s3-put", **secure)
    assert record["state"] == "complete", err
    latency = record["steps"][0]["results"]["aggregate"]["write-objects"]["lat"]
    assert latency["min_ns"] >= 0.2e9
