"""Hosts that print without end: a fio that does once it measures or writes its files, a login
shell that does.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from tests.lab.sshd import SshdLab, set_env

REAL = shutil.which("fio") or "/usr/bin/fio"
OBJECT = '{"fio version": "fio-3.33", "timestamp_ms": 1, "jobs": []}'
FLOODS: Mapping[str, str] = {
    "lines": "exec yes",
    "one-line": "exec tr '\\0' x </dev/zero",
    "stderr": "exec yes 'fio: something is wrong with it' >&2",
    "objects": (
        'while :; do printf \'{\\n  "fio version": "fio-3.33", "timestamp_ms": 1, "jobs":'
        " []\\n}\\n'; done"
    ),
    "zeros": "exec cat /dev/zero",
    "numbered": 'i=0; while :; do i=$((i + 1)); echo "fio: line $i" >&2; done',
}
FIO = """\
#!/bin/sh
for each; do
    [ -f "$each" ] && grep -q '{sign}' "$each" && {{ {flood}; }}
done
exec {real} "$@"
"""
MEASURES, LAYS_OUT = "^runtime", "^.layout"


def with_flood(lab: SshdLab, host: str, flood: str, sign: str = MEASURES) -> None:
    """Give a host of a lab that has not started yet a fio that floods when its job file has this
    sign.
    """
    programs = lab.root / f"programs-{host}"
    programs.mkdir()
    script = programs / "fio"
    script.write_text(FIO.format(sign=sign, flood=flood, real=REAL))
    script.chmod(0o755)
    place = lab.host(host)
    place.options = [*place.options, set_env(place.root, f"PATH={programs}:{os.environ['PATH']}")]
