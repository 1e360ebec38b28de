"""Findings are codes with operands; their texts are made when they are read."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from inspect import signature
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

from tests.judge.test_own_figures import imported, look
from tui import workloads
from tui.capacity.points import INTENDED
from tui.engine.executors.executor import ENDS
from tui.judge import wording
from tui.judge.catalogue import BY_ID
from tui.judge.severity import Moot
from tui.judge.texts.reasons import REASONS
from tui.judge.wording import (
    CHECKS,
    NAMES,
    TABLES,
    TEXTS,
    message_of,
    name_of,
    reasons_of,
    text_of,
)
from tui.model.check_names import FORMER_REASONS
from tui.model.event import Contradiction
from tui.model.operands import clause, likeness
from tui.model.record import Finding, RunRecord
from tui.text.comparison_texts import COMPARISON
from tui.text.form import Text
from tui.text.plan_texts import PLAN
from tui.text.run_texts import RUN
from tui.text.search_texts import SEARCH
from tui.view.objections import reason_code
from tui.workloads.elbencho import workload as elbencho
from tui.workloads.fio import texts as fio

JUDGE = Path(wording.__file__).parent
MAKERS = {
    "_most": 0,
    "CheckResult": 1,
    "clause": 0,
    "error": 0,
    "result": 0,
    "_named": 2,
    "_set_to": 1,
}


def constants(node: ast.expr) -> Iterator[str]:
    """Yield the strings that an expression may be."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from (*constants(node.body), *constants(node.orelse))


def codes(
    makers: Mapping[str, int] = MAKERS, files: Iterable[Path] = (*JUDGE.glob("*.py"),)
) -> set[str]:
    """Return the codes that checks, or other modules, give to texts and their parts."""
    found: set[str] = set()
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                place = makers.get(name)
                if place is not None and len(node.args) > place:
                    found.update(constants(node.args[place]))
    return found


def reasons() -> set[str]:
    """Return the codes of reasons why there is no data for a host: what `_why...` returns."""
    made = (node for file in JUDGE.glob("*.py") for node in ast.walk(ast.parse(file.read_text())))
    why = (each for each in made if isinstance(each, ast.FunctionDef) and each.name[:4] == "_why")
    ends = (node for each in why for node in ast.walk(each) if isinstance(node, ast.Return))
    return {code for each in ends if each.value is not None for code in constants(each.value)} - {""}


def test_every_code_has_a_text_and_texts_are_of_checks_that_exist() -> None:
    known = {*TEXTS, *(code for texts in CHECKS.values() for code in texts)}
    assert len(codes()) > 80 and codes() - known == set()
    assert CHECKS.keys() == BY_ID.keys()


def test_every_reason_has_a_text_and_every_text_is_used() -> None:
    given = codes({"UnknownError": 0, "two_hosts": 1, "unread_in_steps": 2}) | set(Moot) | reasons()
    assert given == REASONS.keys()
    assert len(TEXTS) == sum(map(len, TABLES)), "codes of one text each"
    assert set(FORMER_REASONS.values()) <= set(Moot)


def test_every_code_of_a_search_has_a_text_and_every_text_is_used() -> None:
    makers = (*JUDGE.parent.glob("capacity/*.py"), JUDGE.parent / "record" / "search.py")
    given = codes({"clause": 0}, makers) | {*INTENDED}
    assert given == SEARCH.keys() and len(given) > 50


def test_every_code_of_a_comparison_has_a_text_and_every_text_is_used() -> None:
    given = codes({"clause": 0}, JUDGE.parent.glob("analysis/*.py"))
    assert given == COMPARISON.keys() and len(given) > 20


def test_every_caveat_of_a_plan_has_a_text_and_every_text_is_used() -> None:
    files = [*JUDGE.parent.glob("engine/**/*.py"), *JUDGE.parent.glob("sources/**/*.py")]
    makers = [file for file in files if file.parent.name in ("plan", "inputs", "ansible")]
    given = codes({"clause": 0}, [*makers, JUDGE.parent / "engine" / "preflight" / "programs.py"])
    assert given - RUN.keys() == PLAN.keys()
    for name, of_tool in (("fio", fio.CAVEATS), ("elbencho", elbencho.CAVEATS)):
        folder = JUDGE.parent / "workloads" / name
        made = codes({"clause": 0}, [folder / "plan.py", *folder.glob("[ov]*.py")])
        assert made == of_tool.keys()


def of_runs() -> list[Path]:
    """Return the modules that give codes to reasons, problems and states in a run."""
    tui = JUDGE.parent
    folders = ("", "/run", "/session", "/executors", "/preflight", "/../remote")
    files = [file for folder in folders for file in (tui / f"engine{folder}").glob("*.py")]
    return [
        *files,
        *(tui / "workloads" / "foreign").glob("*.py"),
        tui / "library" / "import_sets.py",
        tui / "library" / "build.py",
        tui / "record" / "headline.py",
        tui / "journal" / "fold.py",
        tui / "journal" / "writer.py",
    ]


def operands_of(text: Text) -> set[str]:
    """Return the operands that a text requires."""
    if isinstance(text, str):
        return {name for _, name, _, _ in Formatter().parse(text) if name}
    needed = signature(text).parameters.values()
    return {
        each.name for each in needed if each.kind != each.VAR_KEYWORD and each.default is each.empty
    }


def clauses(files: Iterable[Path]) -> Iterator[tuple[str, set[str | None]]]:
    """Yield each code that modules give to a text, with the names of its operands."""
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "clause":
                names = {each.arg for each in node.keywords}
                yield from ((code, names) for code in constants(node.args[0]))


def check_operands(files: Iterable[Path], texts: Mapping[str, Text]) -> int:
    """Check that codes have texts, whose operands are given; return the number of codes."""
    checked = set()
    for code, names in clauses(files):
        missing = operands_of(texts[code]) - names
        # operands of a mapping are known only when the clause is made
        assert None in names or not missing, f"{code}: {missing}"
        checked.add(code)
    return len(checked)


def test_every_operand_of_a_text_is_given() -> None:
    assert check_operands(of_runs(), {**PLAN, **RUN}) > 180


@pytest.mark.parametrize("tool", ["fio", "elbencho", "mdtest", "ior", "io500"])
def test_every_code_of_a_load_generator_has_a_text_whose_operands_are_given(tool: str) -> None:
    folder, workload = JUDGE.parent / "workloads", workloads.get(tool)
    shared = ["messages.py", *(["mpi.py"] if workload.executor == "mpi" else [])]
    files = [*(folder / tool).glob("*.py"), *(folder / name for name in shared)]
    assert check_operands(files, workload.texts()) > 8
    of_benchtui = {"tool", "about"}  # added by the engine
    assert not any(names & of_benchtui for _, names in clauses(files))
    assert {"line", "seen-times", "several"} <= workload.texts().keys()


def test_every_reason_of_a_run_has_a_text_and_every_text_is_used() -> None:
    files = of_runs()
    of_records = {"imported", "lines-unreadable", "messages-left", "clocks-as-utc", "few-digits"}
    given = codes({"clause": 0, "Duty": 2}, files) | of_records | {*ENDS.values()}
    assert given - PLAN.keys() == RUN.keys() - {"by-generator"}


def test_reasons_of_older_records_keep_their_words_and_what_they_mean() -> None:
    old = RunRecord.model_validate(
        {"run_id": "x", "state": "imported", "profile": {"tag": "a/b", "title": ""}}
        | {"checks_not_made": {"sync": "no syncs were measured", "stall": "no data yet"}}
    )
    assert reason_code(old, "sync") == Moot.SYNCS and not reason_code(old, "stall")
    assert reasons_of(old.checks_not_made)["stall"] == "no data yet"


def test_no_check_reads_a_text() -> None:
    readers = {
        file.name
        for file in JUDGE.glob("*.py")
        if file.name != "wording.py"
        and any(word in file.read_text() for word in ("judge.texts", "judge.wording"))
    }
    assert readers == set()


def test_a_finding_of_another_version_is_told_by_code_and_operands() -> None:
    assert text_of("runtime", "of-tomorrow", {"hosts": ["h1"], "share": 0.25}) == (
        "of-tomorrow: hosts h1, share 0.25"
    )
    assert text_of("gone", "code", {}) == "code"
    assert text_of("straggler", "tail", {"median_ns": "x"}) == "tail: median_ns x"


def test_a_finding_of_an_older_record_says_what_it_said() -> None:
    old = Finding(id="runtime", severity="info", message="too short")
    assert message_of(old) == "too short"


def test_operands_that_agree_to_three_digits_are_alike() -> None:
    def at(seconds: float, count: int) -> dict[str, Any]:
        return {"parts": [clause("took", took_s=seconds)], "count": count}

    assert likeness(at(30.01, 1234)) == likeness(at(30.02, 1234)) != likeness(at(30.2, 1234))
    assert likeness(at(30.01, 1234)) != likeness(at(30.01, 1235)), "counts are exact"


def test_contradictions_keep_their_code_figures_and_names() -> None:
    (found,) = look(imported(Contradiction("formats", 3.0, 4.0, names=("I/Os", "JSON", "text"))))
    assert (found.code, found.message) == ("contradiction", None)
    assert found.operands == {
        "host": "h1",
        "job": "",
        "direction": "",
        "tool": found.operands["tool"],
        "about": "formats",
        "names": ["I/Os", "JSON", "text"],
        "told": 3.0,
        "other": 4.0,
    }
    assert message_of(found) == "h1: 3 I/Os in JSON, but 4 in text of the same measurement"


@pytest.mark.parametrize("operands", [{"names": [1, None]}, {"told": "x"}, {"names": "abc"}])
def test_damaged_operands_do_not_stop_a_reader(operands: dict[str, Any]) -> None:
    for check, texts in CHECKS.items():
        for code in texts:
            assert text_of(check, code, operands)


def test_contradictions_of_one_step_that_are_nearly_alike_are_all_told() -> None:
    near = [Contradiction("bytes", 1_000_001.0, 4.0), Contradiction("bytes", 1_000_002.0, 4.0)]
    assert [each.measured for each in look(imported(*near, near[0]))] == [1_000_001.0, 1_000_002.0]


def test_names_in_words_are_those_of_checks() -> None:
    assert set(NAMES) <= set(BY_ID)
    assert name_of("steady-state") == "not steady" and name_of("clock-step") == "clock step"
