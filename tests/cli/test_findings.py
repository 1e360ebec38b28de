"""`benchtui findings`: what is checked, and what a finding means."""

from __future__ import annotations

import json

import pytest

from tui.cli.main import main


def test_all_checks_are_listed_with_their_titles(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["findings"]) == 0
    assert "concurrency        Concurrency\n" in capsys.readouterr().out


def test_one_check_is_explained(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["findings", "v02"]) == 0
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if line[:2] == "  " and line[2] != " "] != []
    assert "Little's law" in out and "What to do" in out
    assert max(map(len, out.splitlines())) <= 80


def test_when_a_check_runs_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    for name, when in (("client-cpu", "during and after a run"), ("repetitions", "after a run")):
        assert main(["findings", name]) == 0
        assert f"Runs        {when}" in capsys.readouterr().out


def test_an_unknown_check_is_one_line_with_a_proposal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["findings", "stal"]) == 2
    said = "benchtui: no check named 'stal' (did you mean 'stall'?); see benchtui findings\n"
    assert capsys.readouterr().err == said


def test_programs_get_them_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["findings", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "benchtui.findings/1"
    assert set(document["checks"][0]) == {"id", "title", "rule", "means", "advice", "source"}
