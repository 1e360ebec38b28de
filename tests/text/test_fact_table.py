"""Every fact of the hosts, as a table."""

from __future__ import annotations

import pytest

from tui.metrics.facts import compare
from tui.model.hostfacts import Fact
from tui.text.fact_table import table_lines
from tui.text.line import WARN

FACTS: dict[str, Fact] = {
    "kernel": "Linux 6.1",
    "boot_id": "0a5ec183",
    "cpus": 64,
    "governor": "performance",
    "mem_bytes": 512 << 30,
    "boot_options": ["mitigations=auto,no_guest_host,no_guest_guest", "psi=1", "nohz_full=2-63"],
    "sysctls": {"vm.dirty_ratio": 20, "net.ipv4.tcp_congestion_control": "cubic"},
}


def lines(hosts: dict[str, dict[str, Fact]], width: int) -> list[str]:
    return ["".join(text for text, _ in line.runs) for line in table_lines(compare(hosts), width)]


def test_every_fact_is_under_its_section_with_its_unit() -> None:
    text = "\n".join(lines({"h1": FACTS}, 60))
    for part in ("system", "Linux 6.1", "64", "performance", "512 GiB", "kernel settings", "cubic"):
        assert part in text
    assert text.index("system") < text.index("memory") < text.index("kernel settings")


def test_what_is_unique_to_each_host_is_left_out() -> None:
    assert "0a5ec183" not in "\n".join(lines({"h1": FACTS}, 60))


def test_values_that_differ_name_their_hosts_and_the_odd_one_stands_out() -> None:
    hosts = {"h1": FACTS, "h2": FACTS, "h3": FACTS | {"governor": "powersave"}}
    runs = [run for line in table_lines(compare(hosts), 60) for run in line.runs]
    assert [text for text, role in runs if role == WARN] == ["; powersave on h3"]
    assert "performance on h1, h2" in [text for text, _ in runs]


@pytest.mark.parametrize("width", [30, 60, 80, 116, 196, 300])
def test_no_value_is_cut_and_no_line_is_wider_than_the_pane(width: int) -> None:
    made = lines({"h1": FACTS}, width)
    assert max(map(len, made)) <= width
    said = "".join("".join(made).split())
    assert "mitigations=auto,no_guest_host,no_guest_guest" in said


def test_a_wide_pane_has_several_facts_in_a_line() -> None:
    assert len(lines({"h1": FACTS}, 196)) < len(lines({"h1": FACTS}, 60))
