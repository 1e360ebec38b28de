"""Every verb that reports something does so for programs too: one JSON document on stdout, and
nothing else there.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_nearest import parsers
from tests.library.test_store import IDS, add_run
from tui.cli.main import main
from tui.cli.shared.arguments import verbs_of

WITHOUT = {
    (): "opens the screens",
    ("completion",): "prints a script",
    ("man",): "prints a manual page",
    ("schema",): "prints JSON anyway",
    ("profiles", "edit"): "opens an editor",
    ("config", "edit"): "opens an editor",
    ("config", "path"): "prints one path",
}


@pytest.mark.parametrize(
    "words", [words for words, parser in parsers().items() if not verbs_of(parser)], ids=" ".join
)
def test_every_verb_has_json_or_a_reason(words: tuple[str, ...]) -> None:
    assert ("--json" in parsers()[words]._option_string_actions) is (words not in WITHOUT)


@pytest.fixture
def run_id(home: Path) -> str:
    return add_run(home / "runs", IDS[0]).name


SAID = [
    (["runs", "tag", "{run}"], {"tags": {"lab": "a"}}),
    (["runs", "tag", "{run}", "x=1"], {"tags": {"lab": "a", "x": "1"}}),
    (["runs", "star", "{run}"], [{"starred": True}]),
    (["runs", "recover", "--yes"], []),
    (["runs", "rename", "{run}", "T"], {"title": "T"}),
    (["runs", "note", "{run}", "N"], {"note": "N"}),
    (["runs", "pack", "{run}", "-o", "{tmp}/p.tar.gz", "--no-report"], [{"signed": False}]),
    (["runs", "delete", "{run}", "--yes"], {"removed": [IDS[0]]}),
    (["report", "{run}", "-o", "{tmp}/r.md"], {"format": "md", "runs": None}),
    (["export", "{run}", "csv", "-o", "{tmp}/x.csv"], {"format": "csv", "paths": None}),
    (["export", "--formats"], {"csv": None}),
    (["config", "set", "theme", "light"], {"key": "theme", "set": True}),
    (["config", "unset", "theme"], {"key": "theme", "set": False}),
    (["config", "get", "theme"], {"value": None}),
    (["hosts", "add", "h[1-2]"], {"hosts": ["h1", "h2"]}),
    (["hosts", "trust", "local"], []),
    (["profiles", "new", "my/x", "--from", "demo/quick"], {"profile": "my/x"}),
    (["profiles", "import", "{tmp}/a.fio"], {"profiles": [{"profile": "my/a"}]}),
]


def holds(found: object, wanted: object) -> bool:
    """Whether a document has what is wanted of it; None stands for anything."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return all(key in found and holds(found[key], value) for key, value in wanted.items())
    if isinstance(wanted, list) and isinstance(found, list):
        return len(found) == len(wanted) and all(map(holds, found, wanted))
    return wanted is None or found == wanted


@pytest.mark.parametrize(("words", "wanted"), SAID, ids=[" ".join(words[:2]) for words, _ in SAID])
def test_what_came_of_a_verb_is_one_document(
    words: list[str],
    wanted: object,
    run_id: str,
    home: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "a.fio").write_text("[a]\nrw=read\ndirectory=/mnt/x\nsize=1m\n")
    filled = [word.replace("{run}", run_id).replace("{tmp}", str(tmp_path)) for word in words]
    assert main([*filled, "--json"]) == 0
    text = json.dumps(wanted).replace("{tmp}", str(tmp_path))
    assert holds(json.loads(capsys.readouterr().out), json.loads(text))


def test_checked_profiles_are_rows_with_places(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.yaml").write_text("profile: my/x\ntool: foo\n")
    assert main(["profiles", "check", str(tmp_path / "bad.yaml"), "--json"]) == 2
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["ok"], row["profile"], row["problems"][0]["line"]) == (False, None, 1)


@pytest.mark.parametrize("words", [["report", "{run}"], ["export", "{run}", "csv"]])
def test_json_and_a_document_on_stdout_are_refused(
    words: list[str], run_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*(word.replace("{run}", run_id) for word in words), "--json"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1


def test_what_clean_could_not_do_is_in_its_document(
    run_id: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = home / "runs" / run_id / "run.json"
    left = {"store": "s3/bench", "names": "x_*_4096", "count": 9, "bytes": 36864}
    file.write_text(json.dumps({**json.loads(file.read_text()), "objects_left": [left]}))
    assert main(["clean", run_id, "--yes", "--json"]) == 4, "its hosts are not there"
    found = json.loads(capsys.readouterr().out)
    assert (found["run_id"], found["objects_left"]) == (run_id, [left])
    assert all(host["error"] and not host["removed"] for host in found["hosts"]) and found["hosts"]
