"""Completion: what argcomplete answers a shell, and that asking it stays cheap."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S
from tui.cli.completion import formats, hosts, parser_for, profiles, roles, runs
from tui.cli.main import main, verb_module
from tui.cli.shared.arguments import VERBS

RUN = "20261120T101530Z-weka-read-iops-7f3a"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a run, an inventory and an SSH configuration."""
    (tmp_path / "runs" / RUN).mkdir(parents=True)
    (tmp_path / "runs" / ".index.msgpack").write_text("")
    (tmp_path / "inventory.yaml").write_text(
        "hosts: {c1: {}, c2: {groups: [rack1]}, c3: }\ngroups: {clients: [c1, c2]}\n"
    )
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "config").write_text("Host node1 *.lab\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BENCHTUI_HOME", str(tmp_path))
    return tmp_path


def asked(home: Path, line: str, **more: str) -> tuple[list[str], set[str]]:
    """Ask as a shell does; return the answer, and the packages that were loaded for it."""
    answer, modules = home / "answer", home / "modules"
    code = (
        "import os, sys\n"
        "end = os._exit\n"
        "def told(code):\n"
        "    names = sorted({each.partition('.')[0] for each in sys.modules})\n"
        f"    open({str(modules)!r}, 'w').write(' '.join(names))\n"
        "    end(code)\n"
        "os._exit = told\n"
        "from tui.cli.main import entry\nentry()\n"
    )
    environ = {
        **os.environ, "PYTHONPATH": str(ROOT), "_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n",
        "COMP_TYPE": "9",
        "COMP_LINE": line, "COMP_POINT": str(len(line)),
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answer), **more,
    }  # fmt: skip
    subprocess.run([sys.executable, "-c", code], env=environ, timeout=PATIENCE_S, check=True)
    return [word.strip() for word in answer.read_text().split("\n")], set(
        modules.read_text().split()
    )


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("benchtui run weka/read-t", ["weka/read-throughput"]),
        ("benchtui run demo/quick --hosts @c", ["@clients"]),
        ("benchtui run demo/quick --hosts c1,@r", ["c1,@rack1"]),
        ("benchtui runs show --js", ["--json"]),
        ("benchtui run demo/quick --not", ["--note"]),
        ("benchtui --profile weka/read-t", ["weka/read-throughput"]),
        ("benchtui runs show 2026", [RUN]),
    ],
)
def test_the_shell_is_answered_with_names_and_little_is_loaded_for_it(
    user: Path, line: str, answer: list[str]
) -> None:
    found, modules = asked(user, line)
    assert found == answer
    assert (
        modules & {"textual", "rich", "asyncssh", "pydantic", "numpy", "asyncio", "ruamel"} == set()
    )


def test_names_are_those_of_today(user: Path) -> None:
    assert runs() == ["last", "last:any", RUN]
    assert set(hosts()) == {"c1", "c2", "c3", "@clients", "@rack1", "local", "node1"}
    assert hosts("c1,c") == ["c1,c2", "c1,c3"]
    assert hosts("ans") == ["ansible:"]
    assert "ceph/all" in profiles("ceph/")
    assert "csv" in formats()


@pytest.mark.parametrize(
    ("before", "others"),
    [
        ("c2,", {"c1", "d[1-2]", "@clients", "@all", "@none", "local", "node1"}),
        ("c1,c2,", {"d[1-2]", "@all", "@none", "local", "node1"}),
        ("c[1-3],", {"d[1-2]", "@all", "@none", "local", "node1"}),
        ("@clients,node1,", {"d[1-2]", "@all", "@none", "local"}),
        ("@all,local,", {"@none", "node1"}),
        ("@none,d2,d1,", {"c1", "c2", "@clients", "@all", "local", "node1"}),
        ("c[1,2],", {"d[1-2]", "@all", "@none", "local", "node1"}),
        ("c[1,", set()),
        ("c1,,", set()),
    ],
)
def test_hosts_that_a_list_names_already_are_not_offered_again(
    user: Path, before: str, others: set[str]
) -> None:
    (user / "inventory.yaml").write_text(
        'hosts: {c1: {}, c2: {}, "d[1-2]": {}}\ngroups: {clients: [c1, c2], all: ["@clients",'
        ' "d[1-2]"], none: []}\n'
    )
    assert set(hosts(before)) == {before + name for name in others}


def test_options_of_slurm_and_its_partitions_are_offered(
    user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (user / "slurm.conf").write_text("PartitionName=DEFAULT\nPartitionName=io Nodes=c1\n")
    monkeypatch.setenv("SLURM_CONF", str(user / "slurm.conf"))
    assert hosts("slurm:@") == ["slurm:@io"]
    assert hosts("c1,slurm:@io,no") == ["c1,slurm:@io,nodes="]
    assert "slurm:@io,nodes=2,time=" in hosts("slurm:@io,nodes=2,")
    assert "slurm:@io,nodes=2,c1" in hosts("slurm:@io,nodes=2,"), "a host may follow as well"
    assert "slurm:@io,nodes=2,nodes=" not in hosts("slurm:@io,nodes=2,")
    assert hosts("slurm:4711,v") == ["slurm:4711,via="]


def test_roles_of_the_profile_and_their_hosts_are_offered(user: Path) -> None:
    args = argparse.Namespace(profile="apps/database-beside-bulk")
    assert roles("", args) == ["database=", "bulk="]
    assert "database=@clients" in roles("database=@c", args)


def test_files_that_cannot_be_read_complete_to_nothing(user: Path) -> None:
    (user / "inventory.yaml").write_text("hosts: [\n")
    (user / "config.yaml").write_text("theme: blue\n")
    assert hosts() == []
    assert runs() == []


@pytest.mark.parametrize(
    ("typed", "answer"), [("@cl", "@clients"), ("c1,@cl", "@clients"), ("c1,lo", "c1,local")]
)
def test_bash_gets_a_group_as_it_puts_it_into_the_line(user: Path, typed: str, answer: str) -> None:
    line = f"benchtui run demo/quick --hosts {typed}"
    breaks = {"_ARGCOMPLETE_SHELL": "bash", "_ARGCOMPLETE_COMP_WORDBREAKS": " \t\n\"'@><=;|&(:"}
    assert asked(user, line, **breaks)[0] == [answer]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_can_be_completed(verb: str) -> None:
    assert parser_for(verb_module, verb).parse_known_args([])


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_that_the_shell_reads(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "_ARGCOMPLETE" in script
    assert ('completions=("${(@)completions%:}")' in script) == (shell != "fish"), (
        "zsh: no dash behind a bare name"
    )
    if shutil.which(shell):
        subprocess.run(
            [shell, "-n", "/dev/stdin"], input=script, text=True, timeout=PATIENCE_S, check=True
        )


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("benchtui run fi", ["fio"]),
        ("benchtui run fio num", ["numjobs="]),
        ("benchtui run fio rate_io", ["rate_iops="]),
        ("benchtui run mdtest ra", ["ranks="]),
        ("benchtui run fio bs=4k rw=randr", ["randread", "randrw"]),
    ],
)
def test_terms_of_a_job_are_completed(user: Path, line: str, answer: list[str]) -> None:
    found = {word.removeprefix("rw=") for word in asked(user, line)[0]}
    assert set(answer) <= found
    assert len(found) < 8
