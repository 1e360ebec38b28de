"""Journals and records keep reasons as codes; those with texts are read and shown as before."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.library.test_findings_as_codes import OLD
from tui.export.live import line_of
from tui.journal.fold import fold_all
from tui.journal.reader import read_events
from tui.journal.state import RunState
from tui.library.build import write_record
from tui.library.load import load_record, record_json, with_texts
from tui.library.runs import RunStore
from tui.library.verify import verify_run
from tui.model.event import HostProblem, HostState, RunEnded, StepEnded, StopRequested, encode
from tui.model.figure_record import CodedText
from tui.model.operands import Clause, by_generator, clause
from tui.model.rundir import JOURNAL_FILE
from tui.text.run_texts import run_text

CODES: dict[str, Clause] = {
    "not run, because my/a failed": clause("profiles-failed", profiles=["my/a"]),
    "known to ±0.0 % after 3 repetitions": clause("known-well-enough", width=0.0, repetitions=3),
    "1 problem on hosts": clause("problems-on-hosts", problems=1),
    "preflight refused: local": clause("preflight-refused", hosts=["local"]),
    "cut off": clause("cut-off"),
    "stopped on request": clause("stopped-on-request"),
    "laid out": clause("laid-out"),
    "directory /proc/none does not exist": clause(
        "problem", quote="directory /proc/none does not exist"
    ),
    "ETIMEDOUT (Connection timed out): the storage did not answer in time": by_generator(
        "fio", clause("errno", number=110, failed=0)
    ),
    "no connection to 127.0.0.1:9": clause("no-connection", hosts=["127.0.0.1:9"]),
    "connection refused by 127.0.0.1 port 9": clause("refused-by", host="127.0.0.1", port=9),
    **{
        run_text(told): told
        for told in (
            clause(
                "files-overwritten",
                paths=["/var/tmp/bt-x/benchtui-demo.local.0"],
                files=1,
                names=["/var/tmp/bt-x/benchtui-demo.local.0"],
            ),
            clause(
                "file-system-too-small",
                need_bytes=840 << 40,
                total_bytes=270553174016,
                place=clause("file-system", path="/var/tmp/bt-x", fstype="ext4", source="/dev/vda"),
            ),
            clause(
                "advised",
                quote=clause("mpi-program-missing", program="mdtest", user="root"),
                advice=[
                    clause("advice", tool="mdtest", about="mdtest-missing"),
                    clause("skip-missing"),
                ],
            ),
        )
    },
}
WITH_TEXTS = {
    "steps": ("1 problem on hosts", ["not run, because my/a failed", "known to ±0.0 % after 3 "]),
    "stopped": ("stopped on request", ["cut off"]),
    "refused": ("preflight refused: local", []),
    "problems": ("no connection to 127.0.0.1:9", []),
    "preflight": ("preflight refused: local", []),
}


@pytest.mark.parametrize("name", WITH_TEXTS)
def test_a_run_whose_reasons_are_texts_is_listed_shown_and_verified(
    name: str, tmp_path: Path
) -> None:
    reason, of_steps = WITH_TEXTS[name]
    run_dir = tmp_path / "runs" / name
    shutil.copytree(OLD.parent / f"{name}-as-texts", run_dir)
    seen = fold_all(RunState(), read_events(run_dir / JOURNAL_FILE))
    told = [run_text(step.reason) for step in seen.steps.values() if step.reason]
    assert [
        text for text, begin in zip(told, of_steps, strict=True) if text.startswith(begin)
    ] == told
    assert run_text(seen.reason) == run_text(load_record(run_dir).reason) == reason
    (summary,) = RunStore(run_dir.parent).list()
    assert run_text(summary.reason) == reason
    # the sample is kept without the raw output
    assert [each for each in verify_run(run_dir).differs if not each.startswith("raw/")] == []


@pytest.mark.parametrize("name", WITH_TEXTS)
def test_the_same_run_with_codes_says_the_same(name: str, tmp_path: Path) -> None:
    reason, _ = WITH_TEXTS[name]
    run_dir = tmp_path / "runs" / name
    shutil.copytree(OLD.parent / f"{name}-as-texts", run_dir)
    journal = run_dir / JOURNAL_FILE
    events = [*read_events(journal)]
    for event in events:
        if isinstance(event, StepEnded | RunEnded) and event.reason:
            event.reason = CODES[run_text(event.reason)]
        if isinstance(event, HostState) and event.detail:
            event.detail = CODES[run_text(event.detail)]
        if isinstance(event, HostProblem):
            text = run_text(event.message)
            event.message = CODES[text]
    journal.write_bytes(b"".join(map(encode, events)))
    record = write_record(run_dir)
    assert record.reason == CodedText.model_validate(CODES[reason])
    before = json.loads(with_texts((OLD.parent / f"{name}-as-texts" / "run.json").read_text()))
    shown = json.loads(record_json(run_dir))
    assert shown["reason"] == reason
    for part in ("detail", "problems"):
        assert [each[part] for each in shown["hosts"]] == [each[part] for each in before["hosts"]]
    (summary,) = RunStore(run_dir.parent).list()
    assert (summary.reason, summary.why) == (CODES[reason], reason)
    assert [each for each in verify_run(run_dir).differs if not each.startswith("raw/")] == []


@pytest.mark.parametrize("text", CODES)
def test_streams_have_the_text_of_a_reason(text: str) -> None:
    events = (
        HostState(t=1.0, host="h1", state="ready", detail=CODES[text]),
        HostProblem(t=1.0, host="h1", phase="connect", code="x", message=CODES[text]),
        StepEnded(t=1.0, step=0, reason=CODES[text]),
        RunEnded(t=1.0, state="partial", exit_code=4, reason=CODES[text]),
        StopRequested(t=1.0, mode="stop", reason=CODES[text]),
    )
    for event in events:
        told = json.loads(line_of(event))
        assert text in (told.get("reason"), told.get("detail"), told.get("message"))
