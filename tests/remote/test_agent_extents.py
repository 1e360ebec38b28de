"""Which blocks of files were ever written, under every POSIX shell that is here."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tui.model.address import HostAddress
from tui.remote.agent import Agent
from tui.remote.answers import AgentAnswer, parse_extents
from tui.remote.files import read_extents
from tui.remote.local import LocalTransport

MIB = 1 << 20
needs_filefrag = pytest.mark.skipif(
    shutil.which("filefrag") is None, reason="no filefrag (e2fsprogs) here"
)


def tells_extents(folder: Path) -> bool:
    """Whether files below a folder lie on a file system that tells their extents."""
    probe = folder / "probe"
    probe.write_bytes(bytes(4096))
    return (
        subprocess.run(["filefrag", "-v", probe], capture_output=True, check=False).returncode == 0
    )


@needs_filefrag
async def test_holes_and_blocks_that_were_only_reserved_were_never_written(
    shell_agent: Agent, tmp_path: Path
) -> None:
    if not tells_extents(tmp_path):
        pytest.skip("this file system tells no extents")
    whole, reserved, holes = (tmp_path / name for name in ("whole", "a 1: 2 reserved", "holes"))
    whole.write_bytes(os.urandom(4 * MIB))
    with reserved.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, 4 * MIB)
        file.write(os.urandom(MIB))
    with holes.open("wb") as file:
        file.truncate(4 * MIB)
    found, why = await read_extents(
        shell_agent, [str(path) for path in (whole, reserved, holes, tmp_path / "none")]
    )
    never = {path: extents.never_written // MIB for path, extents in found.items()}
    assert never == {str(whole): 0, str(reserved): 3, str(holes): 4}
    assert why == "a test file does not exist"


async def test_extents_that_map_none_of_a_files_blocks_are_unknown(tmp_path: Path) -> None:
    filefrag = tmp_path / "bin" / "filefrag"
    filefrag.parent.mkdir()
    # what it prints of every file on FUSE
    size = f"File size of $3 is {4 * MIB} (1024 blocks of 4096 bytes)"
    filefrag.write_text(f'#!/bin/sh\necho "{size}"\necho "$3: 0 extents found"\n')
    filefrag.chmod(0o755)
    environ = {**os.environ, "PATH": f"{filefrag.parent}:{os.environ['PATH']}"}
    here = LocalTransport(HostAddress(name="local", transport="local"), environ=environ)
    whole, holes = tmp_path / "whole", tmp_path / "holes"
    whole.write_bytes(os.urandom(4 * MIB))
    with holes.open("wb") as file:
        file.truncate(4 * MIB)
    found, why = await read_extents(Agent(here, "run"), [str(whole), str(holes)])
    assert {path: each.never_written for path, each in found.items()} == {str(holes): 4 * MIB}
    assert why == "the file system does not report extents"


def test_a_host_without_filefrag_says_so() -> None:
    assert parse_extents(AgentAnswer({"why": "no-filefrag"}, ["why=no-filefrag"]), ["/f"]) == (
        {},
        "filefrag (e2fsprogs) not found",
    )
