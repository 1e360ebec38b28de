from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.patience import PATIENCE_S
from tests.samples.records import IOPS, calm, latencies, latency_of, repeated, run, step
from tui.analysis.measured import NoiseFloors
from tui.cli.main import main
from tui.journal.rundir import write_atomic
from tui.model.record import RunRecord

SAME, OTHER = "20260101T000000Z-test-p-000a", "20260102T000000Z-test-p-000b"
SLOWER, FOREIGN = "20260103T000000Z-test-p-000c", "20260104T000000Z-test-q-000d"


def keep(runs: Path, record: RunRecord) -> None:
    """Keep a record as a run that was imported would be."""
    (runs / record.run_id).mkdir(parents=True)
    write_atomic(runs / record.run_id / "run.json", record.to_json().encode())


def keep_floors(home: Path, *records: RunRecord) -> None:
    """Keep a small noise floor for the configurations of these runs."""
    kept = NoiseFloors(home / "noise.json")
    for record in records:
        kept.keep(calm(record))


@pytest.fixture
def runs(home: Path) -> Path:
    """A store with two runs that are alike, a slower one, and the newest of another profile.

    With a noise floor.
    """
    keep_floors(home, run())
    foreign = run(run_id=FOREIGN)
    foreign.profile.tag = "test/q"
    slower = run(step(IOPS * 0.8, seed=3), run_id=SLOWER)
    for record in (run(run_id=SAME), run(step(seed=2), run_id=OTHER), slower, foreign):
        keep(home / "runs", record)
    return home / "runs"


@pytest.mark.parametrize(("other", "code", "word"), [
    (OTHER, 0, "No difference detected: "), (SLOWER, 1, "B is worse: "),
    (FOREIGN, 3, "A and B cannot be compared: "),
])  # fmt: skip
def test_the_exit_code_says_no_worse_worse_or_not_comparable(
    runs: Path, other: str, code: int, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", SAME, other]) == code
    assert capsys.readouterr().out.startswith(word)


def test_a_parameter_that_keeps_runs_apart_is_named_with_the_option_that_lets_it(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    longer = run(run_id="20260105T000000Z-test-p-000e")
    for each in longer.steps:
        each.params = {**each.params, "runtime": "5s"}
    keep(runs, longer)
    assert main(["compare", SAME, longer.run_id]) == 3
    assert "to compare anyway, use: --across runtime\n" in capsys.readouterr().err
    assert main(["compare", SAME, longer.run_id, "--across", "runtime"]) == 0
    assert "--across" not in capsys.readouterr().err


@pytest.mark.parametrize(("verb", "name", "said"), [
    ("compare", "numjob",
        "--across: unknown parameter 'numjob' (did you mean 'numjobs'?); these runs have: "
     "directory, numjobs, hosts"),
    ("report", "kernel",
        "--across: unknown parameter 'kernel'; these runs have: directory, numjobs, hosts"),
])  # fmt: skip
def test_what_is_meant_to_differ_is_a_parameter_of_the_runs(
    runs: Path, verb: str, name: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([verb, SAME, OTHER, "--across", name]) == 2
    assert capsys.readouterr() == ("", f"benchtui: {said}\n")
    assert main([verb, SAME, OTHER, "--across", "numjobs", "--across", "hosts"]) == 0


def writes_alone() -> RunRecord:
    """Return a run whose headline, of reads, was not measured."""
    record = run(run_id=OTHER)
    aggregate = record.steps[0].results.aggregate
    aggregate["write"] = aggregate.pop("read")
    return record


def test_runs_that_measured_other_directions_are_not_comparable(home: Path) -> None:
    keep(home / "runs", run(run_id=SAME))
    keep(home / "runs", writes_alone())
    assert main(["compare", SAME, OTHER]) == 3
    assert main(["compare", SAME, OTHER, "--allow-undecided"]) == 3


def test_a_side_may_be_of_more_runs_than_the_name_of_a_file_may_be_long(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = [
        [f"202602{number:02}T000000Z-test-p-{side}00{number:02}" for number in range(1, 10)]
        for side in "ab"
    ]
    for side in sides:
        for at, run_id in enumerate(side):
            keep(runs, run(step(1000.0 + at), run_id=run_id))
    assert main(["compare", *(",".join(side) for side in sides)]) == 0
    assert capsys.readouterr().out.startswith("No difference detected: ")


THREE = (1000.0, 1010.0, 1020.0)
SHORT, NOISY = step(count=0), step(noise=0.6)
UNDECIDED = [
    ("three of each", repeated(THREE, SAME), repeated([each / 2 for each in THREE], OTHER)),
    ("short", run(SHORT, run_id=SAME), run(step(IOPS / 2, count=0), run_id=OTHER)),
    ("noisy", run(NOISY, run_id=SAME), run(step(IOPS * 0.85, noise=0.6, seed=2), run_id=OTHER)),
    (
        "less or more than matters",
        repeated((1000.0, 1004.0, 1008.0, 1300.0), SAME),
        repeated((996.0, 992.0, 988.0, 700.0), OTHER),
    ),
]


@pytest.mark.parametrize(
    ("a", "b"), [case[1:] for case in UNDECIDED], ids=[case[0] for case in UNDECIDED]
)
def test_an_undecided_result_is_no_pass(
    home: Path, a: RunRecord, b: RunRecord, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(home / "runs", a)
    keep(home / "runs", b)
    asked = ["compare", SAME, OTHER, "--junit", str(tmp_path / "out.xml")]
    assert main(asked) == 3
    assert "inconclusive (exit code 3)" in capsys.readouterr().err
    (suite,) = ElementTree.parse(tmp_path / "out.xml").getroot()
    assert (suite.get("errors"), suite.get("failures")) == ("1", "0")
    assert main([*asked, "--allow-undecided"]) == 0
    (suite,) = ElementTree.parse(tmp_path / "out.xml").getroot()
    assert (suite.get("errors"), suite.get("failures")) == ("0", "0")


def test_a_side_that_did_nothing_is_worse(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for record in (run(run_id=SAME), run(step(0.0), run_id=OTHER)):
        keep(home / "runs", record)
    assert main(["compare", SAME, OTHER]) == 1
    assert "worse (B is 0)" in (out := capsys.readouterr().out) and "-100.0 %" in out
    assert main(["compare", OTHER, SAME]) == 0
    assert capsys.readouterr().out.startswith(
        "B is better: A did no I/O (0 read IOPS), B 10.0k IOPS\n"
    )


def test_the_help_has_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    for verb, said in (
        ("compare", "3 inconclusive or not comparable"),
        ("ab", "3 not comparable or undecided"),
    ):
        with pytest.raises(SystemExit):
            main([verb, "--help"])
        assert said in " ".join(capsys.readouterr().out.split())


def test_several_are_each_held_against_the_first(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", SAME, OTHER, SLOWER]) == 1
    out = capsys.readouterr().out
    assert (
        out.startswith("No difference detected: ")
        and out.count("\nB is worse: 20 % fewer read IOPS than A") == 1
    )
    assert "2 sides" in (last := out.rpartition("\n\n")[2]) and "10 %" in last
    main(["compare", SAME, FOREIGN, SLOWER])
    assert "sides" not in capsys.readouterr().out, "only one was tested"


@pytest.mark.parametrize(("words", "code"), [
    ([SAME, SLOWER, FOREIGN], 1), ([SAME, FOREIGN, SLOWER, OTHER], 1), ([SAME, OTHER, FOREIGN], 3),
    ([SAME, SLOWER, "--fail-if", "write.iops < 1k"], 1),  # of writes nobody can tell
    ([SAME, FOREIGN, "--fail-if", "p99 > 100us"], 1),  # of B alone
    ([SAME, FOREIGN, "--fail-if", "p99 > 1s"], 3),
])  # fmt: skip
def test_what_is_worse_is_not_hidden_by_an_undecided_result(
    runs: Path, words: list[str], code: int
) -> None:
    assert main(["compare", *words]) == code


def test_a_change_of_runs_that_are_not_comparable_breaks_no_threshold(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    foreign = run(step(IOPS / 2), run_id=(name := "20260105T000000Z-test-q-000e"))
    foreign.profile.tag = "test/q"
    keep(runs, foreign)
    asked = ["compare", SAME, name, "--fail-if", "iops < -5%", "--junit", str(tmp_path / "out.xml")]
    assert main(asked) == 3
    assert "fails if  iops < -5%: not comparable\n" in capsys.readouterr().out
    (suite,) = ElementTree.parse(tmp_path / "out.xml").getroot()
    assert (suite.get("errors"), suite.get("failures")) == ("2", "0")


def test_single_runs_pass_no_build_without_a_noise_floor(runs: Path, home: Path) -> None:
    (home / "noise.json").unlink()
    for other in (OTHER, SLOWER):
        assert main(["compare", SAME, other]) == 3
        assert main(["compare", SAME, other, "--allow-undecided"]) == 0


def test_json_is_one_document(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", SAME, SLOWER, "--json"]) == 1
    (told,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert told["word"] == "worse"


def test_runs_are_named_by_how_far_back_they_are(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "last~3", "last~1", "--json"]) == 1
    (told,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert [told[side][0]["run_id"] for side in ("a", "b")] == [SAME, SLOWER]


@pytest.mark.parametrize(("words", "said"), [
    ([SAME, "nothing"], "no run 'nothing'"),
    ([SAME, "last~9"], "fewer than 10 runs"),
    ([SAME, ","], "',' contains no run"),
    ([SAME, f"{OTHER},{OTHER}"], "names a run twice"),
])  # fmt: skip
def test_what_names_no_run_is_wrong_usage(
    runs: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *words]) == 2
    assert said in capsys.readouterr().err


def test_a_damaged_file_of_noise_floors_is_named(
    runs: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "noise.json").write_text("{")
    assert main(["compare", SAME, OTHER]) == 3
    assert "noise.json" in capsys.readouterr().err


def test_only_the_verb_itself_loads_the_statistics() -> None:
    code = (
        "import sys; from tui.cli.main import main\n"
        "try: main(['compare', '--help'])\nexcept SystemExit: pass\n"
        "import tui.cli.runs\n"
        "sys.exit(bool({'numpy', 'scipy'} & {name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0


@pytest.mark.parametrize(("criterion", "code", "said"), [
    ("read.p99 > 2ms", 0, "read.p99 > 2ms: kept, read p99 latency is "),
    ("p99 > 100us", 1, "p99 > 100us: broken, read p99 latency is "),
    ("iops < -0.5%", 0, "iops < -0.5%: kept, read IOPS is +0.0 %"),
    ("read.max > 1s", 0, "read.max > 1s: kept, read max latency is "),
    ("write.iops < 1k", 3, "write.iops < 1k: not measured"),
])  # fmt: skip
def test_a_criterion_decides_the_exit_code(
    runs: Path, criterion: str, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", SAME, OTHER, "--fail-if", criterion]) == code
    assert said in capsys.readouterr().out


def test_a_criterion_that_is_none_is_wrong_usage(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", SAME, OTHER, "--fail-if", "iops"]) == 2
    assert "is not a criterion" in capsys.readouterr().err


def test_thresholds_of_the_profile_are_judged_by_compare_and_by_runs_show(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = run(run_id=SAME), run(step(IOPS * 0.97), run_id=OTHER)
    b.criteria = ["read.p99 > 100us", "iops < -2%"]
    keep(home / "runs", a)
    keep(home / "runs", b)
    assert main(["compare", SAME, OTHER]) == 1
    assert "iops < -2%: broken, read IOPS is -3.0 %" in capsys.readouterr().out
    assert main(["runs", "show", OTHER]) == 0
    shown = capsys.readouterr().out
    assert "fails if  read.p99 > 100us: broken, read p99 latency is 200 µs" in shown
    assert "iops < -2%" not in shown, "alone it has nothing to be held against"


def test_junit_tells_failures_and_what_cannot_be_said(runs: Path, tmp_path: Path) -> None:
    assert (
        main(
            [
                "compare",
                SAME,
                SLOWER,
                "--junit",
                str(tmp_path / "out.xml"),
                "--fail-if",
                "iops < -5%",
            ]
        )
        == 1
    )
    (suite,) = ElementTree.parse(tmp_path / "out.xml").getroot()
    failed = {case.get("name") for case in suite if case.find("failure") is not None}
    assert {"read IOPS", "iops < -5%"} <= failed
    assert int(suite.get("failures", "0")) == len(failed)
    assert main(["compare", SAME, FOREIGN, "--junit", str(tmp_path / "out.xml")]) == 3
    (suite,) = ElementTree.parse(tmp_path / "out.xml").getroot()
    assert suite.get("errors") == "1" and suite.get("failures") == "0"


def test_a_junit_file_that_cannot_be_written_is_named(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", SAME, OTHER, "--junit", "/nowhere/out.xml"]) == 2
    assert "/nowhere/out.xml: cannot be written" in capsys.readouterr().err


def test_latencies_of_both_sides_are_drawn_over_each_other(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", SAME, SLOWER, "--plot"]) == 1
    out = capsys.readouterr().out
    assert "read latency by percentile" in out
    assert "read I/Os by latency" in out
    assert "p99" in out and "• A  + B" in out


def test_a_record_that_cannot_be_read_is_not_said_to_be_worse(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (runs / OTHER / "run.json").write_text("{")
    assert main(["compare", SAME, OTHER]) == 3
    assert "not a run record:" in capsys.readouterr().err


def test_junit_fails_what_the_exit_code_goes_by(home: Path, tmp_path: Path) -> None:
    """Of single runs the headline: their tails come and go with a stall."""
    keep_floors(home, run())
    for record in (run(run_id=SAME), run(step(scale=1.5), run_id=OTHER)):
        keep(home / "runs", record)
    assert main(["compare", SAME, OTHER, "--junit", str(tmp_path / "out.xml")]) == 0
    (suite,) = ElementTree.parse(tmp_path / "out.xml").getroot()
    assert suite.get("failures") == "0"
    skipped = {case.get("name"): case.find("skipped") for case in suite}["read p99 latency"]
    assert skipped is not None and "only the headline can fail a build" in skipped.get(
        "message", ""
    )


def test_a_criterion_is_not_kept_where_too_few_samples_are_behind_it(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = latency_of(latencies(count=500))
    for name in (SAME, OTHER):
        points = (step(point={"bs": "4k"}), step(index=1, point={"bs": "8k"}, latency=few))
        keep(home / "runs", run(*points, run_id=name))
    assert main(["compare", SAME, OTHER, "--fail-if", "read.p99.9 > 1s"]) == 3
    out = capsys.readouterr().out
    assert "read.p99.9 > 1s: kept" in out
    assert "read.p99.9 > 1s: not measured, read p99.9 latency is n<10 at" in out and "bs=8k" in out


@pytest.mark.parametrize("sides", [(SAME, SAME), (f"{SAME},{OTHER}", SLOWER, OTHER)])
def test_a_run_is_not_held_against_itself(
    runs: Path, sides: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """A build that names the same run twice would always pass."""
    assert main(["compare", *sides]) == 2
    assert f"on both sides: {sides[-1]}" in capsys.readouterr().err
