"""A secret goes from the environment, or a person, to the load on a host.

It is written nowhere and shown to nobody.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.command import benchtui, environ_of, journal_has, marked_processes, only_run, start
from tests.e2e.test_log_in import exit_code, terminal
from tests.lab.sshd import SshdLab
from tests.patience import PATIENCE_S, wait_until
from tui.text.run_texts import run_text

SECRET = 'wJalr-"XUtn\\FEMI'  # with what JSON escapes
PROFILE = """\
profile: own/secret
title: Reads with a key
tool: fio
params:
  directory: {kind: directory, default: /mnt}
  key: {kind: secret, default: "${OUR_TEST_KEY}"}
  runtime: {kind: duration, default: 4s}
fio:
  global:
    {ioengine: psync, time_based: 1, runtime: "{runtime}", directory: "{directory}/{host}", size: 64k, rate_iops: 10}
  jobs:
    data: {rw: randread, description: "{key}"}
headline: {metric: iops, direction: read}
"""


@pytest.fixture
def own(home: Path) -> Path:
    (home / "profiles").mkdir()
    (home / "profiles" / "secret.yaml").write_text(PROFILE)
    return home


def words(lab: SshdLab, target: Path) -> list[str]:
    target.mkdir(exist_ok=True)
    hosts = ["--hosts", "h1,h2", "--ssh-config", str(lab.ssh_config)]
    return ["run", "own/secret", *hosts, "--set", f"directory={target}"]


def texts_below(*folders: Path) -> Iterator[tuple[Path, bytes]]:
    """Every file under folders, unpacked."""
    for path in (path for folder in folders for path in folder.rglob("*")):
        try:
            data = path.read_bytes() if path.is_file() else None
        except FileNotFoundError:
            continue  # a run puts lines in place under another name
        if data is not None:
            yield path, data
            if path.suffix == ".gz" and path.name.count(".") > 1:
                yield path, unpacked(data)


def unpacked(data: bytes) -> bytes:
    """Return what a gzip file holds so far: it may still be written."""
    return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data)


def spools_of(run_id: str) -> list[Path]:
    """Return all that a run has on hosts of the lab: this machine."""
    return [Path(f"/tmp/.benchtui-{os.getuid()}") / run_id, Path(f"/dev/shm/benchtui-{run_id}")]


def holds(data: bytes) -> bool:
    """Tell whether a text has the secret, as it is or as JSON writes it."""
    return any(form.encode() in data for form in (SECRET, json.dumps(SECRET)[1:-1]))


def command_lines() -> bytes:
    found = b""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                found += (entry / "cmdline").read_bytes()
            except OSError:
                continue
    return found


@pytest.mark.e2e
def test_a_secret_reaches_the_load_and_nothing_else(
    own: Path, lab: SshdLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUR_TEST_KEY", SECRET)
    process = start(own, *words(lab, tmp_path / "target"), "--json")
    wait_until(lambda: (own / "runs").is_dir() and any((own / "runs").iterdir()), "a run")
    run_dir = only_run(own)
    known = f"OUR_TEST_KEY={SECRET}".encode()
    wait_until(
        lambda: any(known in environ_of(pid) for pid in marked_processes(run_dir.name)),
        "a load that knows it",
    )
    wait_until(lambda: journal_has(run_dir, '"sample"'), "samples")
    assert not holds(command_lines()), "in a command line while it runs"
    spools = spools_of(run_dir.name)
    held = dict(texts_below(*spools, own, tmp_path / "target"))
    assert any(b'"description"' in data for path, data in held.items() if path.name == "out")
    assert [path for path, data in held.items() if holds(data)] == [], "while it runs"
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    assert not holds(out.encode() + err.encode())
    left = texts_below(own, tmp_path / "target", *spools)
    assert [path for path, data in left if holds(data)] == []
    raw = gzip.decompress(next((run_dir / "raw").glob("*.h1.out.gz")).read_bytes()).decode()
    as_json = json.dumps(SECRET)[1:-1]
    assert f'"description" : "{"*" * len(as_json)}"' in raw, (
        "fio put the value in place of the variable"
    )
    assert "${OUR_TEST_KEY}" in (run_dir / "plan.json").read_text()
    record = json.loads(out)
    assert record["state"] == "complete"
    assert record["steps"][0]["results"]


def test_the_plan_that_is_printed_shows_stars(
    own: Path, lab: SshdLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUR_TEST_KEY", SECRET)
    for more in ([], ["--json"]):
        done = benchtui(own, *words(lab, tmp_path / "target"), "--dry-run", *more)
        assert done.returncode == 0, done.stderr
        assert not holds(done.stdout.encode())
    assert "key=***" in benchtui(own, *words(lab, tmp_path / "target"), "--dry-run").stdout


def test_on_a_terminal_it_is_asked_for_and_not_shown(
    own: Path, lab: SshdLab, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    hosts = words(lab, target)
    profile = str(own / "profiles" / "secret.yaml")
    with terminal(tmp_path, "run", profile, *hosts[2:], "--set", "runtime=1s") as screen:
        screen.wait_for("OUR_TEST_KEY:")
        screen.keys("typed-by-hand", "Enter")
        assert exit_code(screen) == 0
        assert "typed-by-hand" not in screen.screen()
    found = [str(path) for path, data in texts_below(tmp_path) if b"typed-by-hand" in data]
    assert found == []


@pytest.mark.e2e
def test_a_run_that_waits_for_it_can_be_stopped(lab: SshdLab, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "profiles").mkdir(parents=True)
    (home / "profiles" / "secret.yaml").write_text(PROFILE)
    with terminal(tmp_path, *words(lab, tmp_path / "target")) as screen:
        screen.wait_for("OUR_TEST_KEY:")
        stopped = benchtui(home, "stop", "last")
        assert "stop requested" in stopped.stderr
        run_dir = only_run(home)
        wait_until(lambda: (run_dir / "run.json").exists(), "the record")
        screen.keys("Enter")
        assert exit_code(screen) == 4
    assert run_text(json.loads((run_dir / "run.json").read_text())["reason"]) == "stopped on request"


@pytest.mark.e2e
def test_in_the_app_it_is_asked_for_at_launch_and_stays_off_the_screen_and_the_disk(
    lab: SshdLab, tmp_path: Path
) -> None:
    home, target = tmp_path / "home", tmp_path / "target"
    (home / "profiles").mkdir(parents=True)
    target.mkdir()
    (home / "profiles" / "secret.yaml").write_text(
        PROFILE.replace("default: /mnt", f"default: {target}")
    )
    screens = []

    def shows(text: str) -> bool:
        screens.append(app.screen())
        return text in screens[-1]

    with terminal(tmp_path, "--ssh-config", str(lab.ssh_config)) as app:
        app.wait_for("h1")
        app.keys("Space", "Enter")
        app.wait_for("demo/quick")
        app.keys("/")
        app.keys("own/secret")
        app.wait_until(lambda: "demo/quick" not in app.screen(), "the filtered list")
        app.keys("Enter", "Enter")
        app.wait_for("Enter runs on")
        app.keys("Enter")
        app.wait_for("secret needed by this run: OUR_TEST_KEY")
        app.keys("typed-by-hand")
        app.wait_until(lambda: shows("*" * 13) or shows("•" * 13), "stars")
        app.keys("Enter")
        wait_until(lambda: any(home.glob("runs/*/journal.jsonl")), "a run")
        run_dir = only_run(home)
        wait_until(lambda: journal_has(run_dir, '"sample"'), "samples")
        assert b"typed-by-hand" not in command_lines()
        spools = spools_of(run_dir.name)
        assert not any(b"typed-by-hand" in data for _, data in texts_below(home, *spools))
        app.wait_until(lambda: shows("COMPLETE"), "the result")
        wait_until(lambda: (run_dir / "run.json").exists(), "the record")
    assert [screen for screen in screens if "typed-by-hand" in screen] == []
    folders = (home, target, *spools)
    assert [str(path) for path, data in texts_below(*folders) if b"typed-by-hand" in data] == []
    assert json.loads((run_dir / "run.json").read_text())["state"] == "complete"


def test_without_a_value_and_a_terminal_nothing_is_started(
    own: Path, lab: SshdLab, tmp_path: Path
) -> None:
    done = benchtui(own, *words(lab, tmp_path / "target"))
    assert done.returncode == 2
    assert "no value for the secret OUR_TEST_KEY" in done.stderr
    assert not (own / "runs").exists()


def test_a_secret_that_is_typed_as_an_argument_is_refused_and_not_repeated(
    own: Path, lab: SshdLab, tmp_path: Path
) -> None:
    done = benchtui(own, *words(lab, tmp_path / "target"), "--set", f"key={SECRET}")
    assert done.returncode == 2
    assert "a secret must be a reference to an environment variable: ${NAME}" in done.stderr
    assert not holds(done.stderr.encode())
