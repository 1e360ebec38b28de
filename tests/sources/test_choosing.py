"""SPECs with sources, exclusions and groups that have a source, as a Fleet resolves them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tui.engine.inputs.hosts import Fleet
from tui.model.distributions import not_installed
from tui.model.hostspec import MOST_KNOWN
from tui.model.inventory import load_inventory
from tui.model.problem import UsageError
from tui.sources import run_command
from tui.sources.base import SourceContext, installed_sources

INVENTORY = """
defaults: {user: bench}
hosts:
  h[1-6]: {groups: [all6]}
  head: {address: 127.0.0.9, port: 2222, user: root}
groups:
  odd: ["h[1,3,5]"]
  printed: {from: "command:echo h2; echo x1"}
  listed: {from: ["file:names", "!h5"]}
  nested: {from: "@printed,@listed,!@odd"}
  loop: {from: "@loop"}
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    (tmp_path / "names").write_text("# ours\nh[3-5]  # rack 1\n\nh6, head\n")
    context = SourceContext(dict(os.environ), tmp_path, time_limit_s=20)
    return Fleet(load_inventory(INVENTORY, "inventory.yaml"), Path(os.devnull), context)


def names(fleet: Fleet, *specs: str) -> list[str]:
    return [host.name for host in fleet.resolve(list(specs))]


def refusal(fleet: Fleet, *specs: str) -> str:
    with pytest.raises(UsageError) as caught:
        fleet.resolve(list(specs))
    (problem,) = caught.value.problems
    return str(problem)


def test_exclusions_hold_for_the_whole_list_wherever_they_stand(fleet: Fleet) -> None:
    assert names(fleet, "!h3,@all6", "!@odd") == ["h2", "h4", "h6"]


def test_an_excluded_name_that_nobody_named_is_a_mistake_and_an_empty_group_is_none(
    fleet: Fleet,
) -> None:
    assert "!h33 excludes none of the named hosts (did you mean 'h3'" in refusal(fleet, "@odd,!h33")
    assert names(fleet, "head,!@odd") == ["head"]
    assert "no host left" in refusal(fleet, "h1,!h1")
    assert "name the hosts first" in refusal(fleet, "!h1")


def test_a_port_makes_another_host_of_a_name_and_the_inventory_says_the_rest(fleet: Fleet) -> None:
    host, plain = fleet.resolve(["head:22", "alice@h1"])
    assert (host.name, host.alias, host.address, host.port, host.user) == (
        "head:22",
        "head",
        "127.0.0.9",
        22,
        "root",
    )
    assert (plain.name, plain.user) == ("h1", "alice")


def test_one_name_with_two_users_is_refused(fleet: Fleet) -> None:
    assert "host 'h1' given twice, with user a and user b" in refusal(fleet, "a@h1,b@h1")


def test_a_file_has_specs_and_comments(fleet: Fleet) -> None:
    assert names(fleet, "file:names") == ["h3", "h4", "h5", "h6", "head"]


def test_a_command_vouches_for_names_that_nothing_else_knows(fleet: Fleet) -> None:
    one = '{"name": "z", "address": "127.0.0.5", "port": 99}'
    hosts = fleet.resolve([f"command:echo 'gpu[1-2]'; echo '{one}'"])
    assert [(host.name, host.address, host.port) for host in hosts] == [
        ("gpu1", None, None),
        ("gpu2", None, None),
        ("z", "127.0.0.5", 99),
    ]
    assert names(fleet, "gpu2") == ["gpu2"]


def test_groups_have_their_hosts_from_sources_when_they_are_named(fleet: Fleet) -> None:
    printed = fleet.resolve(["@printed"])
    assert [(host.name, host.user) for host in printed] == [("h2", "bench"), ("x1", None)]
    assert all("printed" in host.groups for host in printed)
    assert names(fleet, "@listed") == ["h3", "h4", "h6", "head"]
    assert names(fleet, "@nested") == ["h2", "x1", "h4", "h6", "head"]
    assert "contains itself" in refusal(fleet, "@loop")


def test_what_sources_resolved_to_is_kept_with_the_time_and_asked_for_once(
    fleet: Fleet, tmp_path: Path
) -> None:
    spec = "command:echo once >>asked; echo h1"
    fleet.resolve([spec])
    fleet.resolve(["h2", spec])
    assert (tmp_path / "asked").read_text() == "once\n"
    (use,) = fleet.uses
    assert (use.spec, use.hosts, use.utc[-1]) == (spec, ("h1",), "Z")


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("comand:echo h1", "unknown source 'comand' (did you mean 'command'?)"),
        ("file:nams", "no such file (did you mean 'names'?)"),
        ("file:", "no file given; allowed: file:PATH"),
        ("file:.", "is a directory; allowed: file:PATH"),
        ("ansible:", "no file given; allowed: ansible:FILE[:GROUP]"),
        ("ansible:nams", "no such file (did you mean 'names'?)"),
        ("command:", "no command given"),
        ("command:exit 7", "exit code 7"),
        ("command:true", "names no hosts"),
        ("command:echo 'a;b'", "output line 1"),
        ('command:echo \'{"nam": "h1"}\'', "unknown key 'nam' (did you mean 'name'?)"),
        (
            'command:echo \'{"name": "h1", "port": 0}\'',
            "port: 0 is not allowed; expected a number from 1",
        ),
        ('command:echo \'{"name": "-oProxyCommand=x"}\'', "without spaces or a leading dash"),
        ("slurm:x", "'x' is not a job id (did you mean 'slurm:@x'?)"),
        (
            "k8s:storage",
            "namespace and label selector are required; allowed: k8s:NAMESPACE/SELECTOR",
        ),
        ("k8s:a b/app=x", "allowed: k8s:NAMESPACE/SELECTOR"),
        ("@printd", "unknown group 'printd' (did you mean 'printed'?)"),
        ("local:22", "local is this machine"),
    ],
)
def test_a_mistyped_source_is_one_line_with_what_is_allowed(
    fleet: Fleet, spec: str, told: str
) -> None:
    text = refusal(fleet, spec)
    assert told in text
    assert text.isprintable()


@pytest.mark.parametrize(
    ("spec", "program"),
    [("slurm:4711", "squeue"), ("slurm:@io", "salloc"), ("k8s:storage/app=bench", "kubectl")],
)
def test_a_source_without_its_program_is_reported_in_one_line(
    fleet: Fleet, spec: str, program: str
) -> None:
    fleet.context = fleet.context._replace(environ={"PATH": "/nonexistent"}, may_allocate=True)
    assert refusal(fleet, spec).startswith(f"{spec}: {not_installed(program)}")


@pytest.mark.parametrize("spec", ["slurm:@io,nodes", "nodes,slurm:@io", "@io,nodes"])
def test_nothing_is_allocated_while_another_host_is_unknown(fleet: Fleet, spec: str) -> None:
    fleet.context = fleet.context._replace(environ={"PATH": "/nonexistent"}, may_allocate=True)
    fleet.sources = {"io": ["slurm:@io"]}
    assert "unknown host 'nodes'" in refusal(fleet, spec)


def test_hosts_keep_the_order_in_which_they_are_named(fleet: Fleet) -> None:
    fleet.context = fleet.context._replace(may_allocate=True)
    assert list(fleet.chooser.hosts(["h2,command:echo h9,h1", "h2"])) == ["h2", "h9", "h1"]


def test_too_many_names_are_refused_before_all_of_them_are_spelled_out(fleet: Fleet) -> None:
    spec = ",".join(f"{name}[1-4096]" for name in "abcdef")
    assert "more than 16384 hosts" in refusal(fleet, spec)


def test_what_a_source_prints_is_printable_in_errors(fleet: Fleet) -> None:
    assert refusal(fleet, "command:printf 'h\\033[31m1\\n'").isprintable()
    assert refusal(fleet, "command:printf '\\033[31mno\\n' >&2; exit 1").isprintable()


def test_a_command_is_bounded_in_time_and_ended_with_what_it_has_started(
    fleet: Fleet, tmp_path: Path
) -> None:
    fleet.context = fleet.context._replace(time_limit_s=0.5)
    began = time.monotonic()
    text = refusal(fleet, "command:sleep 300 & echo $! >child; wait")
    assert "not finished after 0.5 s" in text
    assert time.monotonic() - began < 60
    child = int((tmp_path / "child").read_text())
    for _ in range(600):
        if is_gone(child):
            return
        time.sleep(0.05)
    pytest.fail("the command's child is still running")


def is_gone(pid: int) -> bool:
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_a_command_that_prints_without_end_is_cut_off(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_command, "MOST_OUTPUT", 1 << 20)
    assert "printed more than 1 MiB" in refusal(fleet, "command:yes")


def test_all_that_sources_name_has_a_limit(fleet: Fleet) -> None:
    half = MOST_KNOWN // 8
    ranges = "; ".join(f"echo 'h{at}x[1-{half}]'" for at in range(9))
    assert f"more than {MOST_KNOWN} hosts" in refusal(fleet, f"command:{ranges}")


def test_our_sources_are_found_by_entry_point() -> None:
    assert {"file", "command", "ansible", "slurm", "k8s"} <= set(installed_sources())
