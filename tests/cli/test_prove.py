"""`run --prove-bottleneck`: what becomes of the run when its counter-experiment is not made."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.journal_maker import READS, RUN_ID, RunMaker
from tui.cli.shared import experiments
from tui.library.build import write_record


def test_ctrl_c_before_it_has_begun_is_reported_and_the_run_continues_to_be_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    maker = RunMaker(tmp_path / RUN_ID, ["h1"], READS).begin().go().measure(6).finish()
    write_record(maker.run_dir)

    def interrupted(_: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(experiments, "planned", interrupted)
    assert experiments.prove_after(maker.run_dir) == 130
    assert (
        "interrupted; the bottleneck was not tested, and the run is unchanged"
        in capsys.readouterr().err
    )


def test_a_run_that_was_stopped_is_not_put_to_the_test(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    maker = RunMaker(tmp_path / RUN_ID, ["h1"], READS).begin().go()
    maker.look_at("h1", {"cpu.busy": 10.0})
    maker.measure(6).finish("partial", "stopped on request")
    write_record(maker.run_dir)
    assert experiments.prove_after(maker.run_dir) == 0
    assert (
        capsys.readouterr().err == f"benchtui: the bottleneck was not tested: {RUN_ID} is partial\n"
    )
