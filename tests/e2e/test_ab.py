"""`benchtui ab`: both sides in turns until the answer is known, over real runs on this machine."""

from __future__ import annotations

import argparse
import json
import signal
from pathlib import Path

import pytest

from tests.cli.test_compare import keep
from tests.e2e.command import benchtui, start
from tests.patience import PATIENCE_S, wait_until
from tests.samples.records import IOPS, run, step
from tui.analysis.ab import spent
from tui.cli import ab
from tui.cli.main import main

PROFILE = """\
profile: lab/paced
title: Paced reads
tool: fio
params:
  directory: {kind: directory, default: /tmp}
  rate: {kind: count, default: 300}
  runtime: {kind: duration, default: 1s}
fio:
  global: {ioengine: psync, time_based: 1, runtime: "{runtime}", directory: "{directory}"}
  jobs: {read: {rw: randread, bs: 4k, filesize: 1M, rate_iops: "{rate}"}}
prepare: {layout: true}
headline: {metric: iops, direction: read}
"""


@pytest.fixture
def profile(home: Path, tmp_path: Path) -> list[str]:
    (home / "profiles" / "lab").mkdir(parents=True)
    (home / "profiles" / "lab" / "paced.yaml").write_text(PROFILE)
    (tmp_path / "target").mkdir()
    words = [
        "ab",
        "lab/paced",
        "--hosts",
        "local",
        "--set",
        f"directory={tmp_path / 'target'}",
        "--yes",
    ]
    return [*words, "--no-telemetry", "--set-a", "rate=300"]


@pytest.mark.e2e
@pytest.mark.slow
def test_a_clear_difference_ends_after_four_runs_in_the_order_abba(
    home: Path, profile: list[str]
) -> None:
    done = benchtui(home, *profile, "--set-b", "rate=200", "--name", "slower")
    assert done.returncode == 1, done.stderr + done.stdout
    assert "B is worse: -33" in done.stdout and "known after 4 runs" in done.stdout
    records = [json.loads(path.read_text()) for path in (home / "runs").glob("*/run.json")]
    records.sort(key=lambda record: record["created_utc"])
    assert [record["tags"] for record in records] == [
        {"ab": "slower", "ab.side": side} for side in "ABBA"
    ]


def keep_runs(
    home: Path, words: list[str], sides: str, factor: float = 1.0, first: int = 0
) -> list[str]:
    """Keep runs of an experiment's sides, B faster by a factor, numbered from `first`.

    Return their ids.
    """
    parser = argparse.ArgumentParser()
    ab.configure(parser)
    plans = ab.experiment_of(parser.parse_args(words[1:])).plans
    ids = []
    for at, side in enumerate(sides, first):
        iops = (IOPS + at) * (factor if side == "B" else 1.0)
        record = run(
            step(iops, count=0, params=plans[side].params), run_id=f"2026010{at + 1}T000000Z-x"
        )
        record.profile.tag, record.profile.version = (
            plans[side].profile.tag,
            plans[side].profile.version,
        )
        record.hosts[0].name = plans[side].hosts[0].name
        record.tags = {"ab": "mine", "ab.side": side}
        keep(home / "runs", record)
        ids.append(record.run_id)
    return ids


@pytest.mark.parametrize(("factor", "code", "answer", "said"), [
    (0.8, 1, "worse", "B is worse: -20.0 %"), (1.2, 0, "better", "B is better: +20.0 %"),
    (1.0, 0, "no difference as large", "no difference of 5 % or more"),
])  # fmt: skip
def test_runs_that_are_there_already_count(
    home: Path,
    profile: list[str],
    factor: float,
    code: int,
    answer: str,
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = [*profile, "--set-b", "rate=200", "--name", "mine"]
    keep_runs(home, asked, "ABBA", factor)
    assert main(asked) == code
    captured = capsys.readouterr()
    assert "earlier runs counted: 4" in captured.err
    assert said in captured.out
    assert len(list((home / "runs").glob("*/run.json"))) == 4, "the answer is known: nothing is run"
    assert main([*asked, "--json"]) == code
    told = json.loads(capsys.readouterr().out)
    assert told["answer"] == answer
    assert [len(told["runs"][side]) for side in "AB"] == [2, 2]
    assert told["look"]["runs"] == 4 and len(told["comparison"]["points"][0]["figures"]) > 2


def test_what_is_invalid_or_was_measured_otherwise_does_not_count(
    home: Path, profile: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [*profile, "--set-b", "rate=200", "--name", "mine"]
    ids = keep_runs(home, asked, "ABBAA", 0.8)
    invalid = home / "runs" / ids[-1] / "run.json"
    invalid.write_text(invalid.read_text().replace('"verdict":"valid"', '"verdict":"invalid"'))
    assert main(asked) == 1
    err = capsys.readouterr().err
    assert f"{ids[-1]} is invalid and does not count" in err and "earlier runs counted: 4" in err
    assert main([*profile, "--set-b", "rate=150", "--name", "mine"]) == 2
    assert (
        f"{ids[1]} is on side B of mine, but was measured differently: rate 200, now 150"
        in capsys.readouterr().err
    )


def test_what_looks_have_spent_counts_when_the_experiment_continues(
    home: Path, profile: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [*profile, "--set-b", "rate=200", "--name", "mine", "--json"]
    ids = keep_runs(home, asked, "ABBA", 0.8)
    assert main([*asked, "--within", "10m"]) == 1
    first = json.loads(capsys.readouterr().out)["look"]["spent"]
    keep_runs(home, asked, "ABBAA", 0.8, first=4)
    # its look was at runs that are no repetitions any more
    invalid = home / "runs" / ids[-1] / "run.json"
    invalid.write_text(invalid.read_text().replace('"verdict":"valid"', '"verdict":"invalid"'))
    assert main([*asked, "--within", "3h"]) == 1
    told = json.loads(capsys.readouterr().out)["look"]
    kept = [
        each
        for path in (home / "runs").glob("*/looks.json")
        for each in json.loads(path.read_text())["looks"]
    ]
    assert sorted(each["look"]["runs"] for each in kept) == [4, 6, 8]
    assert (
        told["spent"]
        == pytest.approx(sum(each["look"]["alpha"] for each in kept))
        == pytest.approx(spent(8 / 10))
    )
    assert first == pytest.approx(spent(4 / 10))


@pytest.mark.parametrize(("within", "known", "code", "said"), [
    ("1s", "", 2,
        "benchtui: --within 1s: too short for the minimum of 4 runs with 1 s of load each\n"),
    ("1s", "ABB", 3,
        "experiment mine: the time limit is tight for the minimum of 1 more run\n"),
    ("1s", "ABBA", 1, "experiment mine: the time limit is too short for another pair of runs\n"),
    ("64s", "ABBA", 1, "experiment mine: up to 4 more runs fit in the time limit, in ABBA order\n"),
])  # fmt: skip
def test_how_many_runs_there_is_time_for_is_true(
    home: Path,
    profile: list[str],
    within: str,
    known: str,
    code: int,
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = [*profile, "--set-b", "rate=200", "--name", "mine"]
    keep_runs(home, asked, known, 0.8)
    assert main([*asked, "--within", within]) == code
    err = capsys.readouterr().err
    assert said in err and "up to 4 runs" not in err


@pytest.mark.e2e
def test_ctrl_c_keeps_what_is_whole_and_says_how_to_continue(
    home: Path, profile: list[str]
) -> None:
    asked = [*profile, "--set-b", "rate=200", "--set", "runtime=60s", "--name", "mine", "--json"]
    keep_runs(home, asked, "AB")
    process = start(home, *asked)
    try:
        wait_until(lambda: any((home / "runs").glob("*/control.sock")), "a run goes on", PATIENCE_S)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert "interrupted; 1 run of A and 1 run of B kept" in err and "--name mine" in err
    told = json.loads(out)
    assert told["answer"] == "interrupted"
    assert told["runs"] == {"A": ["20260101T000000Z-x"], "B": ["20260102T000000Z-x"]}


SWEPT = PROFILE.replace("lab/paced", "lab/swept").replace(
    "headline:", "sweep: {grid: {rate: [300, 200]}}\nheadline:"
)


def test_a_sweep_is_refused_with_an_alternative(
    home: Path, profile: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "profiles" / "lab" / "swept.yaml").write_text(SWEPT)
    words = [
        "lab/swept" if word == "lab/paced" else word
        for word in profile
        if not word.startswith("rate=")
    ]
    words.remove("--set-a")
    assert main([*words, "--set-a", "directory=/tmp/a", "--set-b", "directory=/tmp/b"]) == 2
    assert "point by point with benchtui compare" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "said"), [
    (["--set-b", "rate=300"], "both sides have the same settings"),
    (["--set-b", "rate=200", "--detect", "much"], "--detect much: expected a percentage"),
    (["--set-b", "rate=200", "--within", "soon"], "--within:"),
    (["--set-b", "rate=200", "--repeat", "3"], "--repeat cannot be used with ab"),
    (["--set-b", "rate=200", "--stream", "jsonl"], "--stream cannot be used with ab"),
    (["--set-b", "speed=200"], "unknown parameter 'speed'"),
])  # fmt: skip
def test_what_cannot_be_an_experiment_is_wrong_usage(
    profile: list[str], words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*profile, *words]) == 2
    assert said in capsys.readouterr().err
