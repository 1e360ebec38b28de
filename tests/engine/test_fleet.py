"""Hosts by SPEC: inventory, groups, ranges, SSH configuration, this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.engine.inputs.hosts import Fleet
from tui.model.inventory import load_inventory
from tui.model.problem import UsageError

INVENTORY = """
defaults: {user: bench}
hosts:
  weka-[01-03]: {groups: [clients]}
  head: {address: 127.0.0.9, port: 2222, user: root}
groups:
  all: ["@clients", head]
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    config = tmp_path / "config"
    (tmp_path / "more").write_text("Host jump\n  HostName 127.0.0.8\n")
    config.write_text(
        f"Include {tmp_path}/more\nHost box1 box2\n  Port 2200\nHost *.lab !x\n  User u\n"
    )
    return Fleet(load_inventory(INVENTORY, "inventory.yaml"), config)


def names(fleet: Fleet, *specs: str) -> list[str]:
    return [host.name for host in fleet.resolve(list(specs))]


def test_groups_ranges_and_names_are_resolved_in_order_each_once(fleet: Fleet) -> None:
    assert names(fleet, "weka-[02-03],head", "@all") == ["weka-02", "weka-03", "head", "weka-01"]


def test_names_of_the_ssh_configuration_are_hosts_and_patterns_are_not(fleet: Fleet) -> None:
    assert fleet.config_names == ["jump", "box1", "box2"]
    assert names(fleet, "box[1-2]", "jump") == ["box1", "box2", "jump"]


def test_name_that_only_a_pattern_describes_is_a_host_though_it_cannot_be_looked_up_from_here(
    fleet: Fleet,
) -> None:
    assert names(fleet, "node7.lab") == ["node7.lab"]


@pytest.mark.parametrize("line", ["= hHost *", "[]", 'Host "far', "H\0o\0s\0t\0", "Hosts far"])
def test_an_unknown_host_comes_with_the_line_that_ssh_would_refuse(
    tmp_path: Path, line: str
) -> None:
    config = tmp_path / "config"
    config.write_text(f"Host near\n  Port 2200\n{line}\n")
    with pytest.raises(UsageError) as refused:
        Fleet(None, config).resolve(["far.invalid"])
    first, second = refused.value.problems
    assert "unknown host" in str(first)
    assert f"{config} line 3" in str(second)


def test_an_option_that_shall_be_ignored_is_no_reason_for_an_unknown_host(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("IgnoreUnknown Odd*\nOddly yes\n")
    with pytest.raises(UsageError) as refused:
        Fleet(None, config).resolve(["far.invalid"])
    assert len(refused.value.problems) == 1


def test_inventory_says_how_to_reach_a_host(fleet: Fleet) -> None:
    head, weka = fleet.resolve(["head", "weka-01"])
    assert (head.address, head.port, head.user) == ("127.0.0.9", 2222, "root")
    assert (weka.address, weka.user, weka.groups) == (None, "bench", ("all", "clients"))


def test_local_is_this_machine_without_ssh(fleet: Fleet) -> None:
    (local,) = fleet.resolve(["local"])
    assert local.transport == "local"


def test_every_unknown_name_is_named_at_once(fleet: Fleet) -> None:
    with pytest.raises(UsageError) as caught:
        fleet.resolve(["weka-[03-04]", "haed.invalid"])
    assert "'weka-04' (did you mean 'weka-0" in str(caught.value)
    assert "'haed.invalid'" in str(caught.value)


def test_unknown_group_names_the_groups(fleet: Fleet) -> None:
    with pytest.raises(UsageError, match=r"unknown group 'client' \(did you mean 'clients'\?\)"):
        fleet.resolve(["@client"])


def test_known_hosts_are_listed_with_where_they_come_from(fleet: Fleet) -> None:
    origins = {host.name: origin for host, origin in fleet.all()}
    assert origins["weka-01"] == "inventory"
    assert origins["box1"] == "ssh config"
    assert origins["local"] == "this machine"
