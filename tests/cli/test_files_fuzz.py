"""Files of any bytes: inventories, profiles and job files become data, or a line that names them.

Never a traceback.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.cli.main import main
from tui.cli.shared.common import load_fleet
from tui.engine.inputs.profiles import Catalogue
from tui.model.paths import presets_dir
from tui.model.problem import UsageError, user_text
from tui.workloads.fio.jobimport import import_job

INVENTORY = (
    b"defaults: {user: b}\nhosts:\n  w-[01-04]: {groups: [clients], port: 22}\ngroups:\n  all:"
    b" ['@clients']\n"
)
JOB = b"[global]\nrw=randread\nsize=1g ; all\n[a]\nbs=4k\n[b]\nstonewall\nfilename=/x/${N}\n"
PROFILE = (presets_dir() / "ceph" / "randread.yaml").read_bytes()
EDITS = st.lists(
    st.tuples(st.integers(0, 5000), st.integers(0, 3), st.binary(max_size=4)),
    min_size=1,
    max_size=4,
)


def damaged(data: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    for place, length, text in edits:
        at = place % (len(data) + 1)
        data = data[:at] + text + data[at + length :]
    return data


@given(EDITS, st.sampled_from([INVENTORY, JOB, PROFILE]))
def test_a_damaged_file_is_data_or_a_refusal_that_names_it(
    edits: list[tuple[int, int, bytes]], original: bytes
) -> None:
    with tempfile.NamedTemporaryFile(suffix=".yaml") as file:
        path = Path(file.name)
        path.write_bytes(damaged(original, edits))
        try:
            if original is INVENTORY:
                load_fleet(argparse.Namespace(inventory=path, ssh_config=None)).all()
            elif original is JOB:
                import_job(user_text(path), str(path), "my/job", {"N": "1"})
            else:
                Catalogue(Path("/nowhere")).load_file(path)
        except UsageError as error:
            assert all(str(problem).startswith(str(path)) for problem in error.problems)


def test_an_inventory_that_is_not_utf_8_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "hosts.yaml"
    path.write_bytes(b"hosts:\n  h1: {user: \xff}\n")
    assert main(["hosts", "list", "--inventory", str(path)]) == 2
    assert (
        capsys.readouterr().err == f"benchtui: {path}: not UTF-8 text: invalid byte at offset 20\n"
    )
