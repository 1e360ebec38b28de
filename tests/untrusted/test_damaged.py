"""Every verb that reads saved runs, with each file of a run damaged in each way: a line, an exit
code, nothing lost.
"""

from __future__ import annotations

import json
import shutil
import signal
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S
from tests.untrusted.damage import KINDS, NO_FILE, place
from tui.cli.main import main, os_error_text
from tui.cli.shared import progress

DATA = Path(__file__).parents[1] / "data" / "runs"
OWN, TWIN = "20261122T023003Z-demo-quick-1616", "20261122T033003Z-demo-quick-1617"
OF_DATA = b"20261122T013304Z-demo-quick-27a6"
FILES = (
    "run.json",
    "plan.json",
    "journal.jsonl",
    "summary.json",
    "marks.json",
    "looks.json",
    "engine.pid",
    "raw/x.gz",
)
DOCUMENTS = ("run.json", "plan.json", "journal.jsonl")
OF_STORE = (
    ".index.msgpack",
    *(f"../{name}" for name in ("noise.json", "shared-runs", "config.yaml", "inventory.yaml")),
)
READING: dict[str, list[str]] = {
    "list": ["runs", "list"],
    "show": ["runs", "show", OWN],
    "show as JSON": ["runs", "show", OWN, "--json"],
    "verify": ["runs", "verify", OWN],
    "pack": ["runs", "pack", OWN, "-o", "{tmp}/run.tar.gz", "--no-report"],
    "tags": ["runs", "tag", OWN],
    "attach": ["attach", OWN, "--plain"],
    "compare": ["compare", TWIN, OWN, "--allow-undecided"],
    "noise": ["noise", OWN, TWIN],
    "trend": ["trend", "demo/quick"],
    "report": ["report", OWN, "-o", "{tmp}/report.md"],
    "export": ["export", OWN, "csv", "-o", "{tmp}/out/"],
    "stream": ["export", OWN, "json-lines", "--stream"],
    "baselines": ["baselines", "compare", OWN],
    "delete without --yes": ["runs", "delete", OWN],
}
WRITING: dict[str, list[str]] = {
    "note": ["runs", "note", OWN, "a note"],
    "star": ["runs", "star", OWN],
    "tag": ["runs", "tag", OWN, "lab=a"],
    "rename": ["runs", "rename", OWN, "a title"],
}
ASKS_HOSTS: dict[str, list[str]] = {
    "recover": ["runs", "recover"],
    "resume": ["runs", "resume", OWN],
    "clean": ["clean", OWN],
}
"""Tried only where the damage is in the way of what they would ask hosts for."""

CACHES = ("summary.json", ".index.msgpack")
CHANGED_BY = {"note": {"run.json", "journal.jsonl"}, "star": {"marks.json"}, "tag": {"marks.json"},
              "rename": {"marks.json"}, "noise": {"noise.json"},
              "recover": {"run.json"}}  # fmt: skip
NEED_RECORD = ("show", "show as JSON", "report", "export", "compare", "baselines")


@pytest.fixture(autouse=True)
def guarded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail instead of hanging; a run whose journal has no end is not waited for."""

    def hangs(*_: object) -> None:
        pytest.fail("it hangs")

    monkeypatch.setattr(progress, "GONE_AFTER_S", 0.0)
    before = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(int(PATIENCE_S))
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def made_store(home: Path) -> Path:
    """Fill the store of a home with a run and its twin; return the first one's directory."""
    for name in (OWN, TWIN):
        (home / "runs" / name / "raw").mkdir(parents=True)
        for path in (DATA / "plain").iterdir():
            (home / "runs" / name / path.name).write_bytes(
                path.read_bytes().replace(OF_DATA, name.encode())
            )
    return home / "runs" / OWN


def contents(home: Path) -> dict[str, object]:
    """Return what every file holds; of what is no file, its kind."""
    found: dict[str, object] = {}
    for path in home.rglob("*"):
        mode = path.lstat().st_mode
        found[str(path.relative_to(home))] = (
            path.read_bytes() if stat.S_ISREG(mode) else stat.S_IFMT(mode)
        )
    return found


def ended(words: Sequence[str], capfd: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Run a verb as its command does; return exit code, stdout and stderr."""
    code, last = 2, ""
    try:
        with suppress(SystemExit):
            code = main(words)
    except OSError as error:
        code, last = 1, f"benchtui: {os_error_text(error)}\n"
        assert error.strerror and error.filename, f"{error!r} does not say which file"
    captured = capfd.readouterr()
    return code, captured.out, captured.err + last


def tried(
    home: Path, tmp_path: Path, verb: str, words: Sequence[str], capfd: pytest.CaptureFixture[str]
) -> list[str]:
    """Return what is wrong with how a verb ends: unless it says why in a line, or when it changed
    what it may not.
    """
    before = contents(home)
    (tmp_path / "out").mkdir()
    code, out, err = ended([word.replace("{tmp}", str(tmp_path)) for word in words], capfd)
    after = contents(home)
    for made in tmp_path.iterdir():
        if made != home:
            shutil.rmtree(made) if made.is_dir() else made.unlink()
    changed = {
        Path(name).name
        for name in before.keys() | after.keys()
        if before.get(name) != after.get(name)
    }
    wrong = [f"{verb}: ends with {code}"] if code not in (0, 1, 2, 3, 4) else []
    wrong += [f"{verb}: {code} without a word"] if code and not (out + err).strip() else []
    wrong += (
        [f"{verb}: not printable"]
        if not (out + err).replace("\n", "").replace("\t", "").isprintable()
        else []
    )
    return wrong + [
        f"{verb}: changed {name}" for name in changed - {*CACHES, *CHANGED_BY.get(verb, ())}
    ]


def verbs_for(file: str, kind: str) -> dict[str, list[str]]:
    """Return the verbs that are tried with a damage."""
    of_hosts = {
        "plan.json": ("resume", "clean"),
        "journal.jsonl": ("recover", "resume") if kind in NO_FILE else (),
        "run.json": ("recover",),
    }
    return {**READING, **WRITING, **{name: ASKS_HOSTS[name] for name in of_hosts.get(file, ())}}


def damaged(home: Path, file: str, kind: str) -> Path:
    """Make the store with one damaged file; return the directory of its run."""
    run_dir = made_store(home)
    place(run_dir / file, kind)
    return run_dir


@pytest.mark.parametrize("kind", KINDS)
def test_a_list_shows_the_other_runs_and_names_the_damaged_one(
    kind: str, home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    damaged(home, "run.json", kind)
    code, out, err = ended(["runs", "list"], capfd)
    assert code == 0
    line = next(line for line in (out + err).splitlines() if OWN in line)
    assert "29.8k IOPS" in next(line for line in out.splitlines() if TWIN in line)
    assert "unreadable" in line, line
    code, out, err = ended(["runs", "list", "--json"], capfd)
    assert "run.json" in next(run["problem"] for run in json.loads(out) if run["run_id"] == OWN)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("verb", NEED_RECORD)
def test_what_needs_the_record_says_which_file_cannot_be_read(
    verb: str, kind: str, home: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = damaged(home, "run.json", kind) / "run.json"
    (tmp_path / "out").mkdir()
    code, _, err = ended([word.replace("{tmp}", str(tmp_path)) for word in READING[verb]], capfd)
    assert code in (1, 2, 3) and str(path) in err.splitlines()[0], err


@pytest.mark.parametrize("kind", NO_FILE)
def test_a_note_is_refused_where_the_journal_is_no_file(
    kind: str, home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run_dir = damaged(home, "journal.jsonl", kind)
    record = (run_dir / "run.json").read_bytes()
    code, _, err = ended(["runs", "note", OWN, "x"], capfd)
    assert code == 1 and f"{run_dir}/journal.jsonl: " in err
    assert (run_dir / "run.json").read_bytes() == record


@pytest.mark.parametrize("kind", ["cut", "empty", "NULs"])
def test_a_note_does_not_replace_a_record_by_what_is_left_of_its_journal(
    kind: str, home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run_dir = damaged(home, "journal.jsonl", kind)
    before = contents(run_dir)
    code, _, err = ended(["runs", "note", OWN, "x"], capfd)
    assert code == 1 and f"{run_dir}/journal.jsonl: " in err
    assert contents(run_dir) == before


@pytest.mark.parametrize("verb", ["star", "tag", "rename"])
@pytest.mark.parametrize("kind", ["cut", "NULs", "FIFO", "directory"])
def test_marks_that_cannot_be_read_are_not_replaced(
    verb: str, kind: str, home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run_dir = damaged(home, "marks.json", kind)
    before = contents(run_dir)["marks.json"]
    code, _, err = ended(WRITING[verb], capfd)
    assert code == 1 and f"{run_dir}/marks.json: " in err
    assert contents(run_dir)["marks.json"] == before


@pytest.mark.parametrize("kind", [*NO_FILE, "NULs", "no UTF-8", "deep"])
@pytest.mark.parametrize("file", OF_STORE)
def test_a_damaged_file_beside_the_runs_costs_a_line_at_most(
    file: str, kind: str, home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    made_store(home)
    place(home / "runs" / file, kind)
    before = contents(home).get(Path(file).name)
    for words in (["runs", "list"], READING["compare"], ["trend", "demo/quick"], ["hosts", "list"]):
        code, out, err = ended(words, capfd)
        assert code in (0, 1, 2, 3) and (code == 0 or Path(file).name in err), (words, out, err)
    assert file in CACHES or contents(home).get(Path(file).name) == before


def cases() -> Iterator[object]:
    """Yield every file with every damage.

    Those that tell most are tried every time, the others by `make soak`.
    """
    for file in FILES:
        for kind in KINDS:
            often = kind in ("FIFO", "NULs") or (
                file in DOCUMENTS and kind in ("directory", "loop", "deep", "cut")
            )
            yield pytest.param(file, kind, marks=() if often else pytest.mark.slow)


@pytest.mark.parametrize(("file", "kind"), cases())
def test_a_damaged_file_of_a_run_costs_a_line(
    file: str, kind: str, home: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    wrong = []
    for verb, words in verbs_for(file, kind).items():
        shutil.rmtree(home / "runs", ignore_errors=True)
        run_dir = made_store(home)
        place(run_dir / file, kind)
        wrong += tried(home, tmp_path, verb, words, capfd)
    assert wrong == []
