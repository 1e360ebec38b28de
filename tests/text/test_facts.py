"""What hosts are, in a few lines."""

from __future__ import annotations

from tui.metrics.fact_groups import compare
from tui.model.hostfacts import Fact
from tui.text.facts import common_lines, differing_lines, odd_lines, own_lines, unknown_lines
from tui.text.line import Run

ALIKE: dict[str, Fact] = {"governor": "performance", "clocksource": "tsc", "kernel": "Linux 6.1", "nofile": 1024}


def told(lines: list[tuple[str, list[Run]]]) -> list[str]:
    return [f"{label}: {''.join(text for text, _ in runs)}" for label, runs in lines]


def test_of_a_directory_that_is_missing_no_mount_options_are_told() -> None:
    mounts: Fact = [{"path": "/mnt/gone", "at": "/", "fstype": "ext4", "options": ["discard", "rw"]}]
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


def test_three_values_are_told_with_their_hosts() -> None:
    found = compare({f"h{n}": {"clocksource": name} for n, name in enumerate(("tsc", "tsc", "hpet", "acpi_pm"))})
    assert told(list(differing_lines(found))) == ["differs: clock source: tsc on h0, h1; hpet on h2; acpi_pm on h3"]


def test_what_is_known_of_some_hosts_alone_is_no_difference() -> None:
    found = compare({"a": ALIKE, "b": {"kernel": "Linux 6.1"}})
    assert told(list(differing_lines(found))) == ["unknown: on b alone: clock source, governor, open files"]


def test_one_of_a_thing_is_not_many() -> None:
    links = compare({"h": {"nics": [{"name": "e", "kind": "physical"}], "cpus": 2, "sockets": 1}})
    assert told(list(common_lines(links))) == ["cpu: 1 socket, 2 CPUs", "network: 1 link, physical"]


def test_the_host_that_is_looked_at_comes_first() -> None:
    found = compare({"a": ALIKE, "b": ALIKE, "c": ALIKE | {"governor": "powersave"}})
    assert told(list(odd_lines(found, "c"))) == ["differs: from a, b: governor powersave, not performance"]
    assert told(list(odd_lines(found, "a"))) == []


def test_what_each_host_has_of_its_own_is_told_by_host() -> None:
    facts: dict[str, Fact] = {"hostname": "n1", "mem_available_bytes": 1 << 30, "running": [{"name": "fio", "pid": 7}]}
    assert list(own_lines({"h1": facts})) == ["h1: host name n1; available memory 1 GiB; runs fio"]


def test_a_reason_that_all_hosts_have_is_told_once() -> None:
    both: Fact = [{"name": "governor", "reason": "no file"}]
    one: Fact = [{"name": "governor", "reason": "no file"}, {"name": "routes", "reason": "no command ip"}]
    assert list(unknown_lines({"a": {"unknown": both}, "b": {"unknown": one}})) == [
        "governor: no file",
        "routes: no command ip (b)",
    ]
