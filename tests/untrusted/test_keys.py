"""A record or a journal whose keys and references were changed is shown or refused in one line, by
every verb.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from tests.untrusted.mutants import mutated
from tui.cli.main import main
from tui.journal.reader import Damaged, parse_line
from tui.metrics.buckets import label
from tui.model.exporter import installed
from tui.model.plain_data import is_percentile, percentile_name

DATA = Path(__file__).parents[1] / "data" / "runs"
RUN, TWIN = "20261122T023003Z-demo-quick-1616", "20261122T023003Z-demo-quick-1617"
BAD_PERCENTILES = (
    "abc",
    "p99",
    "nan",
    "1e999",
    "",
    "-1",
    "101",
    "099",
    "99.90",
    "99\n",
    "\u0669\u0669",
)


def verbs_of(home: str | Path, run: str, twin: str) -> Iterator[list[str]]:
    """Yield every verb that reads a record or a journal, on this machine alone."""
    yield ["runs", "list", "--json"]
    yield from (
        ["runs", "show", run, *more]
        for more in ([], ["--json"], ["--plot"], ["--defend"], ["--steps"])
    )
    yield from (["attach", run, how] for how in ("--plain", "--json"))
    yield from (["export", run, form, "-o", f"{home}/{form}"] for form in sorted(installed()))
    yield from (["report", run, "-o", f"{home}/r.{kind}"] for kind in ("html", "md"))
    yield ["report", twin, run, "-o", f"{home}/two.html"]
    yield from (["compare", *sides, "--plot", "--all"] for sides in ([twin, run], [run, twin]))
    yield ["noise", run, twin]
    yield ["trend", "--like", run, "demo/quick"]
    yield ["baselines", "compare", run]
    yield ["runs", "verify", run]
    yield ["runs", "pack", run, "-o", f"{home}/packed.tar.gz"]


def run_at(home: Path, name: str, source: str) -> Path:
    """Put a fresh copy of a run into the store of a home."""
    run_dir = home / "runs" / name
    shutil.rmtree(run_dir, ignore_errors=True)
    shutil.copytree(DATA / source, run_dir)
    return run_dir


def read_by(words: list[str]) -> None:
    """Run a verb: it may refuse, by its exit code, and must not raise anything else."""
    with suppress(SystemExit):
        main(words)


def changed_record(home: Path, source: str, chance: random.Random) -> str:
    """Change something in the record of a run; return what."""
    path = run_at(home, RUN, source) / "run.json"
    document = json.loads(path.read_bytes())
    told = mutated(document, chance)
    path.write_text(json.dumps({**document, "run_id": RUN}))
    return told


def changed_journal(home: Path, source: str, chance: random.Random) -> str:
    """Change something in one event of a run that has no record.

    Each sort of event is as likely as another.
    """
    run_dir = run_at(home, RUN, source)
    (run_dir / "run.json").unlink()
    events = [json.loads(line) for line in (run_dir / "journal.jsonl").read_bytes().splitlines()]
    kind = chance.choice(sorted({event["type"] for event in events}))
    event = chance.choice([each for each in events if each["type"] == kind])
    told = f"{kind}{mutated(event, chance)}"
    (run_dir / "journal.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in events))
    return told


SOURCES = ("plain", "mdtest", "sweep")
VERBS = [" ".join(words) for words in verbs_of("{home}", RUN, TWIN)]


@pytest.mark.parametrize("change", [changed_record, changed_journal])
@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(source=st.sampled_from(SOURCES), verb=st.sampled_from(VERBS), number=st.integers(0, 1 << 32))
def test_a_changed_key_or_reference_ends_no_verb(
    home: Path,
    change: Callable[[Path, str, random.Random], str],
    source: str,
    verb: str,
    number: int,
) -> None:
    run_at(home, TWIN, source)
    note(change(home, source, random.Random(number)))
    read_by(verb.replace("{home}", str(home)).split())


# -- percentiles


@pytest.mark.parametrize("name", BAD_PERCENTILES)
def test_a_record_with_a_percentile_that_is_none_is_refused_with_its_place(
    home: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    path = run_at(home, RUN, "plain") / "run.json"
    document = json.loads(path.read_bytes())
    direction = next(iter(document["steps"][0]["results"]["aggregate"].values()))
    direction["clat"]["percentiles_ns"][name] = 5
    path.write_text(json.dumps(document))
    assert main(["runs", "show", RUN]) == 1
    (told,) = capsys.readouterr().err.splitlines()
    assert "run.json" in told and "clat.percentiles_ns" in told and "allowed:" in told


@pytest.mark.parametrize("name", BAD_PERCENTILES)
def test_an_event_with_a_percentile_that_is_none_is_damaged(name: str) -> None:
    part = {"ios": 1, "bytes": 1, "printed_ns": {name: 1}}
    sample = {
        "type": "sample",
        "t": 1.0,
        "host": "h",
        "step": 0,
        "phase": "measure",
        "host_time_ms": 1,
    }
    with pytest.raises(Damaged):
        parse_line(json.dumps({**sample, "interval_s": 1.0, "dirs": {"read": part}}).encode())
    latency = {
        "n": 1,
        "min_ns": 1,
        "max_ns": 1,
        "mean_ns": 1.0,
        "stddev_ns": 0.0,
        "percentiles_ns": {name: 1},
    }
    read = {
        "ios": 1,
        "bytes": 1,
        "runtime_s": 1.0,
        "iops": 1.0,
        "bw_bytes_per_s": 1.0,
        "clat": latency,
    }
    with pytest.raises(Damaged):
        parse_line(
            json.dumps(
                {"type": "host_result", "t": 1.0, "host": "h", "step": 0, "dirs": {"read": read}}
            ).encode()
        )


@given(st.floats(0, 100).map(label))
def test_what_we_call_a_percentile_is_the_name_of_one(name: str) -> None:
    assert is_percentile(name) and percentile_name(name) == name


@pytest.mark.parametrize(
    ("printed", "name"),
    [("99.900000", "99.9"), ("100.000000", "100"), ("5", "5"), ("05.50", "5.5"), ("0", "0"),
        ("100.5", None),
     ("1e1", None), ("nan", None), ("", None), (".5", None), ("5.", None), ("1.0.0", None)],
)  # fmt: skip
def test_a_printed_percentile_has_one_name(printed: str, name: str | None) -> None:
    assert percentile_name(printed) == name


# -- facts and criteria


def test_a_fact_that_nobody_differs_in_is_no_difference(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = run_at(home, RUN, "plain") / "run.json"
    document = json.loads(path.read_bytes())
    group = {"value": "x", "hosts": ["h1"]}
    wrong = [[], [group], [group, {"value": "y", "hosts": []}]]
    names = ("kernel", "governor", "os")
    document["facts"] = {
        "hosts": ["h1"],
        "differing": [
            {"name": name, "title": name, "matters": matters, "groups": groups}
            for name, groups in zip(names, wrong, strict=True)
            for matters in (True, False)
        ],
    }
    path.write_text(json.dumps(document))
    assert main(["runs", "show", RUN, "--steps"]) == 0
    assert "differs" not in capsys.readouterr().out


WRONG_CRITERION = "read.p99 > a lot"


def test_a_criterion_that_cannot_be_read_is_an_outcome_of_its_own(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_at(home, TWIN, "plain")
    path = run_at(home, RUN, "plain") / "run.json"
    document = json.loads(path.read_bytes())
    path.write_text(
        json.dumps({**document, "run_id": RUN, "criteria": [WRONG_CRITERION, "read.iops < 1"]})
    )
    assert main(["runs", "show", RUN]) == 0
    shown = capsys.readouterr().out
    assert (
        "cannot be judged" in shown and WRONG_CRITERION in shown and "read.iops < 1: kept" in shown
    )
    for verb, name in (
        ("report", "r.html"),
        ("report", "r.md"),
        ("export", "j.xml"),
        ("runs pack", "p.tar.gz"),
    ):
        form = ["junit"] if verb == "export" else []
        assert main([*verb.split(), RUN, *form, "-o", f"{home}/{name}"]) == 0
    for name in ("r.html", "r.md", "j.xml"):
        assert "cannot be judged" in (home / name).read_text()
    assert main(["compare", TWIN, RUN, "--allow-undecided"]) == 3, "as one that was not measured"
    assert "cannot be judged" in capsys.readouterr().out


# -- numbers


HUGE = int("1" * 3000)


@pytest.mark.parametrize("field", ["n", "min_ns", "max_ns", "p99"])
def test_a_count_that_no_load_reaches_is_damage_in_a_journal(field: str) -> None:
    latency: dict[str, Any] = {"n": 1, "min_ns": 1, "max_ns": 1, "mean_ns": 1.0, "stddev_ns": 0.0}
    latency |= {"percentiles_ns": {"99": HUGE}} if field == "p99" else {field: HUGE}
    read = {
        "ios": 1,
        "bytes": 1,
        "runtime_s": 1.0,
        "iops": 1.0,
        "bw_bytes_per_s": 1.0,
        "clat": latency,
    }
    result = {"type": "host_result", "t": 1.0, "host": "h", "step": 0, "dirs": {"read": read}}
    with pytest.raises(Damaged):
        parse_line(json.dumps(result).encode())


def test_a_number_of_thousands_of_digits_in_a_record_is_shown(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = run_at(home, RUN, "plain") / "run.json"
    document = json.loads(path.read_bytes())
    next(iter(document["steps"][0]["results"]["aggregate"].values()))["clat"]["max_ns"] = HUGE
    path.write_text(json.dumps(document))
    assert main(["runs", "show", RUN]) == 0
    assert "inf" in capsys.readouterr().out
