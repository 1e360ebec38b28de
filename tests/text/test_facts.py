"""What hosts are, in a few lines."""

from __future__ import annotations

import pytest

from tui.metrics.facts import compare
from tui.model.hostfacts import Fact
from tui.text.facts import (
    common_lines,
    difference_rows,
    differing_lines,
    machine_lines,
    machines_text,
    odd_rows,
    own_lines,
    same_machine,
    unknown_lines,
)
from tui.text.line import Run

ALIKE: dict[str, Fact] = {
    "governor": "performance",
    "clocksource": "tsc",
    "kernel": "Linux 6.1",
    "nofile": 1024,
}


def told(lines: list[tuple[str, list[Run]]]) -> list[str]:
    return [f"{label}: {''.join(text for text, _ in runs)}" for label, runs in lines]


def test_of_a_directory_that_is_missing_no_mount_options_are_reported() -> None:
    mounts: Fact = [
        {"path": "/mnt/gone", "at": "/", "fstype": "ext4", "options": ["discard", "rw"]}
    ]
    assert told(list(common_lines(compare({"a": {"target": "/mnt/gone", "mounts": mounts}})))) == []
    there = compare({"a": {"target": "/mnt/x", "target_fstype": "ext4", "mounts": mounts}})
    assert told(list(common_lines(there))) == ["target: ext4, discard, rw"]


def test_what_one_host_differs_in_is_one_line() -> None:
    odd = ALIKE | {"governor": "powersave", "clocksource": "hpet", "nofile": 20000}
    found = compare({**{f"h{n}": ALIKE for n in range(1, 8)}, "h8": odd})
    assert told(list(differing_lines(found))) == [
        "differs: h8: clock source hpet, not tsc; governor powersave, not performance",
        "differs: also in open files",
    ]
    assert told(list(common_lines(found))) == ["system: Linux 6.1"]


def test_in_wide_panes_each_fact_that_differs_has_a_line_with_both_values() -> None:
    odd = ALIKE | {"governor": "powersave", "clocksource": "hpet", "nofile": 20000}
    found = compare({**{f"h{n}": ALIKE for n in range(1, 8)}, "h8": odd})
    assert told(list(difference_rows(found, 80))) == [
        "differs:                   this host   others",
        ": h8  clock source  hpet        tsc",
        ":     governor      powersave   performance",
        "differs: also in open files",
    ]
    assert list(difference_rows(found, 40)) == list(differing_lines(found))
    assert told(list(odd_rows(found, "h8"))) == [
        "differs: clock source  hpet  (tsc on 7 hosts)",
        ": governor      powersave  (performance on 7 hosts)",
        ": open files    20000  (1024 on 7 hosts)",
    ]


def test_on_broad_pages_hosts_that_are_alike_share_a_row_of_a_table() -> None:
    odd = ALIKE | {"governor": "powersave", "clocksource": "hpet", "nofile": 20000}
    found = compare({**{f"h{n}": ALIKE for n in range(1, 7)}, "h7": odd, "h8": {}, "h9": odd})
    assert told(list(difference_rows(found, 120))) == [
        "differs: hosts    clock source  governor",
        ": 6 hosts  tsc           performance",
        ": h7, h9   hpet          powersave",
        "differs: also in open files",
    ]


def test_three_values_are_reported_with_their_hosts() -> None:
    found = compare(
        {f"h{n}": {"clocksource": name} for n, name in enumerate(("tsc", "tsc", "hpet", "acpi_pm"))}
    )
    assert told(list(differing_lines(found))) == [
        "differs: clock source: tsc on h0, h1; hpet on h2; acpi_pm on h3"
    ]


def test_what_is_known_of_some_hosts_alone_is_no_difference() -> None:
    found = compare({"a": ALIKE, "b": {"kernel": "Linux 6.1"}})
    assert told(list(differing_lines(found))) == [
        "unknown: only on b: clock source, governor, open files"
    ]


def test_one_of_a_thing_is_not_many() -> None:
    links = compare({"h": {"nics": [{"name": "e", "kind": "physical"}], "cpus": 2, "sockets": 1}})
    assert told(list(common_lines(links))) == ["cpu: 1 socket, 2 CPUs", "network: 1 link, physical"]


def test_the_host_that_is_looked_at_comes_first() -> None:
    found = compare({"a": ALIKE, "b": ALIKE, "c": ALIKE | {"governor": "powersave"}})
    assert told(list(odd_rows(found, "c"))) == [
        "differs: governor  powersave  (performance on 2 hosts)"
    ]
    assert told(list(odd_rows(found, "a"))) == []


ONE_BOOT: dict[str, Fact] = {"boot_id": "b1", "hostname": "box"}


def test_names_of_one_machine_are_reported_together() -> None:
    hosts: dict[str, dict[str, Fact]]
    hosts = {
        "lo1": ONE_BOOT,
        "far": {"boot_id": "b2", "hostname": "box"},
        "lo2": ONE_BOOT,
        "lo3": ONE_BOOT,
    }
    shared = "they share CPUs and links; count them once"
    assert told(list(machine_lines(hosts))) == [f"machine: lo1, lo2, lo3 are one machine: {shared}"]
    assert machines_text(hosts) == "4 names, 2 machines"
    assert told(list(same_machine(hosts, "lo2"))) == ["machine: the same machine as lo1, lo3"]
    assert told(list(same_machine(hosts, "far"))) == []
    assert machines_text({name: hosts[name] for name in ("lo1", "lo3")}) == "2 names, 1 machine"


def test_containers_share_a_kernel_and_are_not_called_one_machine() -> None:
    hosts = {"c1": ONE_BOOT, "c2": ONE_BOOT | {"hostname": "pod-2"}}
    (line,) = told(list(machine_lines(hosts)))
    assert (
        line.startswith("machine: c1, c2 run on one kernel: ")
        and machines_text(hosts) == "2 names, 1 kernel"
    )
    assert told(list(same_machine(hosts, "c1"))) == ["machine: the same kernel as c2"]


@pytest.mark.parametrize("boots", [("b1", "b2"), ("unknown", "unknown"), (None, None)])
def test_hosts_whose_boots_differ_or_are_not_known_are_not_told_as_one(
    boots: tuple[Fact, Fact],
) -> None:
    hosts: dict[str, dict[str, Fact]]
    hosts = {
        name: {"boot_id": boot, "hostname": "box"} for name, boot in zip("ab", boots, strict=True)
    }
    assert told(list(machine_lines(hosts))) == [] and machines_text(hosts) == ""


def test_what_each_host_has_of_its_own_is_reported_by_host() -> None:
    facts: dict[str, Fact] = {
        "hostname": "n1",
        "mem_available_bytes": 1 << 30,
        "running": [{"name": "fio", "pid": 7}],
    }
    assert list(own_lines({"h1": facts})) == ["h1: host name n1; available memory 1 GiB; runs fio"]


def test_a_reason_that_all_hosts_have_is_reported_once() -> None:
    both: Fact = [{"name": "governor", "reason": "no file"}]
    one: Fact = [
        {"name": "governor", "reason": "no file"},
        {"name": "routes", "reason": "no command ip"},
    ]
    assert list(unknown_lines({"a": {"unknown": both}, "b": {"unknown": one}})) == [
        "governor: no file",
        "routes: no command ip (b)",
    ]
