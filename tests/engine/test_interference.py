"""`other-traffic` on a real disk: reads by another process are reported."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import pytest

from tests.lab.course import LOAD, course
from tests.lab.sshd import SshdLab
from tui.engine.run.run import execute
from tui.judge.wording import message_of
from tui.library.build import build_record

READ = ("dd", "bs=1M", "count=4", "iflag=direct", "of=/dev/null")


@pytest.mark.e2e
async def test_what_others_read_beside_the_load_is_reported(home: Path, lab: SshdLab) -> None:
    profile, other, over = home / "direct.yaml", home / "other", threading.Event()
    profile.write_text(LOAD.read_text().replace("global: {", "global: {direct: 1, "))
    other.write_bytes(os.urandom(4 << 20))
    os.sync()

    def read() -> None:
        while not over.wait(0.2):
            subprocess.run([*READ, f"if={other}"], capture_output=True, check=False)

    reader = threading.Thread(target=read)
    async with course(home, lab, "6s", hosts=1, profile=profile) as run:
        reader.start()
        try:
            assert (await execute(run.ctx)).state == "complete", run.events("host_problem")
        finally:
            over.set()
            reader.join()
    record = build_record(run.ctx.run_dir)
    if why := (record.checks_not_made or {}).get("other-traffic"):
        pytest.skip(f"on this machine: {why}")
    (found,) = [each for each in record.findings if each.id == "other-traffic"]
    assert found.severity == "warning" and "read " in message_of(found)
