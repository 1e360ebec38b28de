"""A fio that keeps the latency logs of a load: a run removes them with its other files."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.lab.sshd import SSHD_PATH, set_env

SCRIPT = """#!/bin/sh
{fio} "$@"
code=$?
for log in ./*_*lat.*log; do [ ! -e "$log" ] || cp -- "$log" '{logs}/'; done
exit $code
"""


def logging_fio(root: Path, logs: Path) -> list[str]:
    """Return the configuration of lab hosts whose fio copies its logs to a new directory `logs`.

    A profile names them `write_lat_log: "{host}"`. Raises RuntimeError without a fio.
    """
    fio = shutil.which("fio")
    if fio is None:
        raise RuntimeError("fio is not installed")
    programs = root / "programs"
    programs.mkdir()
    logs.mkdir()
    program = programs / "fio"
    program.write_text(SCRIPT.format(fio=fio, logs=logs))
    program.chmod(0o755)
    return [set_env(root, f"PATH={programs}:{SSHD_PATH}")]
