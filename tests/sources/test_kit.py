"""The test kit for sources of other packages: ours keep the contract, broken ones are named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tui.model.address import HostAddress
from tui.sources.ansible.source import AnsibleSource
from tui.sources.base import FoundHosts, HostSource, SourceContext
from tui.sources.commands import CommandSource
from tui.sources.files import FileSource
from tui.testing.sources import SourceContractError, check_source

PACKAGE = """
from tui.model.address import HostAddress
from tui.model.problem import UsageError, did_you_mean
from tui.sources.base import FoundHosts, HostSource

RACKS = {"r1": ["h1", "h2"], "r2": ["h3"]}


class RackSource(HostSource):
    form = "rack:NAME"
    title = "hosts of a rack"

    def find(self, text, context):
        if text not in RACKS:
            raise UsageError(f"no rack '{text}'{did_you_mean(text, RACKS)}; allowed: {', '.join(RACKS)}")
        return FoundHosts(tuple(HostAddress(name, address="127.0.0.1") for name in RACKS[text]), how="racks")
"""


class Careless(HostSource):
    form = "careless:X"
    title = ""

    def find(self, text: str, context: SourceContext) -> FoundHosts:
        if text == "crash":
            raise KeyError(text)
        return FoundHosts((HostAddress("a b"),))


def test_our_sources_keep_the_contract(tmp_path: Path) -> None:
    (tmp_path / "names").write_text("h1 h[2-3]\n")
    (tmp_path / "inv").write_text("[web]\na\nb\n")
    check_source(FileSource(), {"names": ["h1", "h[2-3]"]}, ["", "nams", "."], directory=tmp_path)
    check_source(CommandSource(), {"echo h1 h2": ["h1", "h2"]}, ["", "exit 3"], directory=tmp_path)
    check_source(
        AnsibleSource(),
        {"inv": ["a", "b"], "inv:web": ["a", "b"]},
        ["", "inv:", "inv:wbe"],
        directory=tmp_path,
    )


def test_each_mistake_of_a_source_is_a_line() -> None:
    with pytest.raises(SourceContractError) as caught:
        check_source(Careless(), {"x": ["a b"]}, ["crash", "y"])
    lines = str(caught.value).splitlines()
    assert [line.partition(":")[0] for line in lines[:2]] == ["title", "find('x')"]
    assert "raises KeyError" in lines[2]
    assert "expected UsageError" in lines[3]


def test_a_source_of_another_package_is_found_by_its_entry_point(
    tmp_path: Path, home: Path
) -> None:
    (tmp_path / "benchtui_rack.py").write_text(PACKAGE)
    info = tmp_path / "benchtui_rack-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: benchtui-rack\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[benchtui.sources]\nrack = benchtui_rack:RackSource\n")

    def listed(spec: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "tui", "hosts", "list", spec]
        environ = {
            "PYTHONPATH": f"{tmp_path}:{Path.cwd()}",
            "HOME": str(home),
            "PATH": "/usr/bin:/bin",
        }
        return subprocess.run(words, env=environ, capture_output=True, text=True, check=False)

    assert [line.split()[0] for line in listed("rack:r1,!h2").stdout.splitlines()] == ["h1"]
    refused = listed("rack:r3")
    assert refused.returncode == 2
    assert (
        refused.stderr
        == "benchtui: rack:r3: no rack 'r3' (did you mean 'r1' or 'r2'?); allowed: r1, r2\n"
    )
