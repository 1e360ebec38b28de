"""What a host lacks is found in preflight, before anything is written or measured: real sshd, real
fio.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.lab.course import LOAD, course
from tests.lab.sshd import SshdLab
from tui.engine.run.run import execute
from tui.model.operands import clause

pytestmark = pytest.mark.e2e


def with_engine(folder: Path, engine: str) -> Path:
    path = folder / "engine.yaml"
    path.write_text(LOAD.read_text().replace("ioengine: psync", f"ioengine: {engine}"))
    return path


def an_engine_that_is_not_here() -> str:
    for engine in ("libhdfs", "dfs", "libblkio", "xnvme"):
        if subprocess.run(
            ["fio", f"--enghelp={engine}"], capture_output=True, check=False
        ).returncode:
            return engine
    pytest.skip("this fio has all engines")


async def test_an_engine_that_is_not_installed_is_refused_by_name(
    lab: SshdLab, home: Path, tmp_path: Path
) -> None:
    missing = an_engine_that_is_not_here()
    async with course(home, lab, "1s", hosts=2, profile=with_engine(tmp_path, missing)) as run:
        end = await execute(run.ctx)
    assert (end.exit_code, end.reason) == (3, clause("preflight-refused", hosts=["h1", "h2"]))
    assert run.codes("h1") == run.codes("h2") == ["fio-unfit"]
    (first, _) = run.events("host_problem")
    told = first["message"]["operands"]
    assert told["feature"] == f"ioengine {missing}" and "not loadable" in told["quote"]
    assert not list(home.rglob("load.*")), "nothing was laid out"


async def test_an_engine_that_works_is_no_problem(lab: SshdLab, home: Path, tmp_path: Path) -> None:
    async with course(home, lab, "1s", hosts=1, profile=with_engine(tmp_path, "posixaio")) as run:
        assert (await execute(run.ctx)).state == "complete"
