"""Step 1, Hosts: real inventory files, real checks of this machine and of a real sshd."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.app.driver import INVENTORY, opened, options, write_inventory
from tests.app.test_facts_differ import facts_of
from tests.lab.sshd import SshdLab
from tui.app.frame.selection import Selection
from tui.app.screens.hosts import HostsScreen, detail_lines
from tui.app.screens.hosts_facts import fact_columns
from tui.app.screens.hosts_list import HostList, KnownHost, rows
from tui.app.terminal.theme import SYMBOLS
from tui.app.widgets.picklist import Heading
from tui.engine.preflight.host_check import HostCheck
from tui.model.address import HostAddress
from tui.model.hostfacts import Fact
from tui.model.inventory import load_inventory
from tui.model.settings import Settings
from tui.text.line import BAD, TEXT, WARN


async def test_this_machine_can_be_ticked_even_without_an_inventory(home: Path) -> None:
    async with opened(options(home)) as user:
        assert user.cursor == "local"
        await user.press("space")
        assert user.app.selection.ticked == ["local"]
        assert "1 of 1 ticked" in user.text


async def test_hosts_are_under_their_groups(home: Path) -> None:
    write_inventory(home)
    async with opened(options(home)) as user:
        lines = [line.strip("│╭╮╰╯ ") for line in user.text.splitlines()]
        assert any(line.startswith("weka  0/4") for line in lines)
        assert any(line.startswith("mapr  0/3") for line in lines)
        assert any(line.startswith("this machine  0/1") for line in lines)


async def test_names_of_the_ssh_config_are_hosts_too(home: Path) -> None:
    config = home / "my_ssh_config"
    config.write_text("Host jump *.lab !x\n  User me\nHost gate\n")
    async with opened(options(home, ssh_config=config)) as user:
        assert [host.name for host in user.app.screen.host_list.hosts] == ["jump", "gate", "local"]  # type: ignore[attr-defined]


async def test_space_on_a_heading_ticks_its_group_and_again_unticks_it(home: Path) -> None:
    write_inventory(home)
    async with opened(options(home)) as user:
        await user.press("g", "space")
        assert user.app.selection.ticked == ["weka-01", "weka-02", "weka-03", "weka-04"]
        await user.press("space")
        assert user.app.selection.ticked == []


async def test_u_ticks_the_group_of_the_host_under_the_cursor(home: Path) -> None:
    write_inventory(home)
    async with opened(options(home)) as user:
        await user.press("j", "u")
        assert user.cursor == "weka-02"
        assert len(user.app.selection.ticked) == 4


async def test_a_ticks_everything_and_again_nothing(home: Path) -> None:
    write_inventory(home)
    async with opened(options(home)) as user:
        await user.press("a")
        assert len(user.app.selection.ticked) == 8
        assert "local" not in user.app.selection.ticked  # it would join the load unnoticed
        await user.press("a")
        assert user.app.selection.ticked == []
        await user.press("G", "space", "a")
        assert len(user.app.selection.ticked) == 9  # ticked by its own row: stays
        await user.press("a")
        assert user.app.selection.ticked == []


async def test_a_ticks_this_machine_if_it_is_the_only_host(home: Path) -> None:
    async with opened(options(home)) as user:
        await user.press("a")
        assert user.app.selection.ticked == ["local"]


async def test_the_filter_narrows_while_typing_and_keeps_ticks_and_cursor(home: Path) -> None:
    write_inventory(home)
    async with opened(options(home)) as user:
        await user.press("space", "slash")
        await user.types("map")
        assert "3 of 9 shown, 1 of 9 ticked" in user.text
        assert "weka-01" not in user.text.splitlines()[3]
        await user.press("enter", "a")
        assert user.app.selection.ticked == ["weka-01", "mapr-1", "mapr-2", "mapr-3"]
        cursor = user.cursor
        await user.press("escape")
        assert user.cursor == cursor
        assert "4 of 9 ticked" in user.text


async def test_a_checked_host_says_what_it_differs_in_from_the_others_of_its_group(
    home: Path,
) -> None:
    write_inventory(home)
    async with opened(options(home)) as user:
        checks = user.app.selection.checks
        for name in ("weka-01", "weka-02", "weka-03"):
            checks[name] = HostCheck(
                name, True, facts={"governor": "performance", "clocksource": "tsc"}
            )
        checks["weka-02"] = HostCheck(
            "weka-02", True, facts={"governor": "powersave", "clocksource": "tsc"}
        )
        await user.press("j", "k")
        assert "differs" not in user.text.partition("weka-01 ─")[2]
        await user.press("j")
        assert user.cursor == "weka-02"
        assert "differs  governor  powersave  (performance on 2 hosts)" in user.text


async def test_a_broad_terminal_has_the_details_beside_a_long_list(home: Path) -> None:
    for many, size, beside in (
        (60, (200, 60), True),
        (8, (200, 60), False),
        (60, (120, 36), False),
    ):
        write_inventory(home, f"hosts: {{'weka-[01-{many:02}]': {{}}}}\n")
        async with opened(options(home), size=size) as user:
            await user.sees("weka-01")
            side, detail = (
                user.app.screen.query_one(f"#hosts-{name}").region for name in ("list", "detail")
            )
            assert (detail.x == side.right and detail.y == side.y) == beside
            assert (detail.y == side.bottom and detail.width == side.width) != beside


async def test_what_the_ticked_hosts_have_in_common_is_told_where_there_is_room(home: Path) -> None:
    write_inventory(home)
    for size, together in (((200, 60), True), ((120, 36), True), ((80, 24), False)):
        async with opened(
            options(home, hosts=("weka-01", "weka-02", "weka-03")), size=size
        ) as user:
            checks = user.app.selection.checks
            for name, governor in (("weka-01", "performance"), ("weka-02", "powersave")):
                checks[name] = HostCheck(
                    name, True, facts={"governor": governor, "cpu_model": "EPYC 9354"}
                )
            await user.press("j", "k")
            assert ("Ticked hosts" in user.text and "2 of 3 checked" in user.text) == together
            said = user.text.partition("Ticked hosts")[2].partition("Further facts")[0]
            assert ("EPYC 9354" in said and "powersave" in said) == together


async def test_the_footer_names_the_key_that_helps_and_none_that_does_not(home: Path) -> None:
    async with opened(options(home), size=(120, 36)) as user:
        await user.sees("benchmark this machine")
        footer = user.text.splitlines()[-1]
        assert "c check" in footer and not any(
            each in footer for each in ("t trust", "s sort", "a all")
        )
    write_inventory(home)
    async with opened(options(home)) as user:
        await user.sees("weka-01")
        assert "t trust" not in user.text.splitlines()[-1]
        user.app.selection.checks["weka-02"] = HostCheck(
            "weka-02", False, "host-key-unknown", "unknown host key"
        )
        await user.press("j")
        assert user.cursor == "weka-02" and "t trust" in user.text.splitlines()[-1]


async def test_tab_reads_on_about_a_host_that_has_more_to_tell_than_there_is_room(
    home: Path,
) -> None:
    write_inventory(home, f"{INVENTORY}  more-[1-20]: {{}}\n")
    facts: dict[str, Fact] = {
        "os": "Linux",
        "cpus": 64,
        "mem_bytes": 2**38,
        "fio_version": "fio-3.39",
    }
    facts |= {"target": "/mnt/x", "target_free_bytes": 2**40}
    async with opened(options(home)) as user:
        user.app.selection.checks["weka-01"] = HostCheck("weka-01", True, facts=facts)
        await user.press("j", "k")
        await user.sees("Tab scrolls")
        assert "/mnt/x, 1 TiB free" not in user.text
        await user.press("tab")
        await user.sees("/mnt/x, 1 TiB free")
        assert user.cursor == "weka-01"
        await user.press("escape", "j")
        assert user.scope == "hosts" and user.cursor == "weka-02"


async def test_letters_that_are_keys_can_be_typed_into_the_filter(home: Path) -> None:
    write_inventory(home)
    async with opened(options(home)) as user:
        await user.press("slash")
        await user.types("spare 1q?")
        assert user.scope == "hosts"
        assert "Nothing matches the filter" in user.text


async def test_enter_continues_to_profiles_with_the_host_under_the_cursor_when_none_is_ticked(
    home: Path,
) -> None:
    async with opened(options(home)) as user:
        await user.press("enter")
        assert user.scope == "profiles"
        assert user.app.selection.ticked == ["local"]


async def test_a_check_of_this_machine_shows_what_it_is(home: Path) -> None:
    async with opened(options(home), size=(120, 36)) as user:
        await user.press("c")
        await user.sees("✓ ready")
        await user.sees("fio-3.")
        await user.sees("GiB available")


async def test_a_check_takes_the_programs_of_the_settings(home: Path, tmp_path: Path) -> None:
    (tmp_path / "fio").write_text("no program")
    chosen = options(home, settings=Settings(programs=tmp_path), hosts=("local",))
    async with opened(chosen) as user:
        await user.press("c")
        await user.is_told("not a 64-bit ELF executable")
        shutil.copy(shutil.which("fio") or "", tmp_path / "fio")
        await user.press("c")
        await user.sees("✓ ready")
        assert user.app.selection.checks["local"].copied == ("fio",)


async def test_a_selection_that_another_screen_replaced_is_shown_everywhere(home: Path) -> None:
    write_inventory(home)
    async with opened(options(home)) as user:
        await user.press("g", "space", "enter")
        await user.sees(lambda: user.scope == "profiles")
        selection = user.app.selection
        selection.put("weka-01", server=None)  # as "run again without weka-01" does
        selection.put("mapr-1", server=False)
        await user.press("1")
        await user.sees("4 of 9 ticked")
        lines = [line.strip("│╭╮╰╯ ") for line in user.text.splitlines()]
        assert any(line.startswith("weka  3/4") for line in lines)
        assert any(line.startswith("mapr  1/3") for line in lines)


async def test_an_unreachable_host_says_why_below_the_list(home: Path) -> None:
    write_inventory(home)
    async with opened(options(home)) as user:
        user.app.screen.picklist.move_to("spare")  # type: ignore[attr-defined]
        await user.press("c")
        await user.sees("✗ refused")
        await user.sees("connection refused by 127.0.0.1 port 1")


async def test_a_check_looks_at_the_directory_of_the_chosen_profile(home: Path) -> None:
    chosen = options(
        home, profile="demo/quick", overrides={"directory": "/no/such/dir"}, hosts=("local",)
    )
    async with opened(chosen) as user:
        await user.press("c")
        await user.sees("/no/such/dir does not exist")


async def test_an_unknown_host_key_is_pinned_only_after_its_fingerprint_was_agreed_to(
    home: Path, lab: SshdLab
) -> None:
    host = lab.host("h1")
    async with opened(options(home, ssh_config=lab.ssh_config_unknown)) as user:
        await user.press("c")
        await user.sees("✗ key unknown")
        await user.press("t")
        await user.sees("Trust the key of h1?")
        assert host.fingerprint in user.text
        await user.press("enter")  # the focus is on No
        assert not (home / "known_hosts").exists()
        await user.press("t")
        await user.sees("Trust the key of h1?")
        await user.press("y")
        await user.sees("✓ ready")
        assert f"[127.0.0.1]:{host.port}" in (home / "known_hosts").read_text()


async def test_a_new_host_goes_into_the_inventory_and_comments_stay(home: Path) -> None:
    path = write_inventory(home)
    async with opened(options(home)) as user:
        await user.press("n")
        await user.types("weka-09")
        await user.press("tab", *"10.0.0.9", "enter")
        await user.sees(lambda: user.cursor == "weka-09")
        assert path.read_text().startswith("# hosts of the lab")
        assert load_inventory(path.read_text(), "x").hosts["weka-09"].address == "10.0.0.9"


async def test_a_range_is_one_entry_of_the_inventory_and_its_hosts_are_ticked(home: Path) -> None:
    async with opened(options(home)) as user:
        await user.press("n")
        await user.types("weka-[01-04], nas")
        await user.press("enter")
        await user.sees(lambda: user.cursor == "weka-01")
        inventory = load_inventory((home / "inventory.yaml").read_text(), "x")
        assert [*inventory.hosts] == ["weka-01", "weka-02", "weka-03", "weka-04", "nas"]
        assert "weka-[01-04]:" in (home / "inventory.yaml").read_text()
        assert user.app.selection.ticked == [*inventory.hosts]


async def test_a_mistyped_host_is_removed_from_the_inventory_by_a_key(home: Path) -> None:
    path = write_inventory(home)
    async with opened(options(home)) as user:
        await user.press("n")
        await user.types("wkea-09")
        await user.press("enter")
        await user.sees(lambda: user.cursor == "wkea-09")
        await user.press("D")
        await user.sees("wkea-09")
        await user.press("n")
        assert "wkea-09" in path.read_text()
        await user.press("D", "y")
        await user.sees(lambda: "wkea-09" not in path.read_text())
        await user.sees(lambda: user.cursor != "wkea-09")
        assert path.read_text() == INVENTORY and user.app.selection.ticked == []
        await user.press("g", "j", "D")
        await user.sees("weka-[01-04]")
        await user.press("y")
        await user.sees(lambda: "weka" not in path.read_text())
        assert [*load_inventory(path.read_text(), "x").hosts] == ["mapr-1", "mapr-2", "mapr-3", "spare"]


async def test_a_host_from_elsewhere_stays_and_the_reason_is_named(home: Path) -> None:
    config = home / "my_ssh_config"
    config.write_text("Host gate\n")
    async with opened(options(home, ssh_config=config)) as user:
        await user.press("D")
        await user.is_told("ssh config")
        assert user.scope == "hosts"


async def test_the_first_host_makes_the_inventory(home: Path) -> None:
    async with opened(options(home)) as user:
        await user.press("n")
        await user.types("first")
        await user.press("enter")
        await user.sees(lambda: user.cursor == "first")
        assert (home / "inventory.yaml").stat().st_mode & 0o777 == 0o600


async def test_a_broken_inventory_is_reported_with_its_place_and_left_alone(home: Path) -> None:
    path = write_inventory(home, INVENTORY + "hots: {}\n")
    async with opened(options(home), size=(120, 36)) as user:
        await user.sees(f"{path}:6:1")
        await user.sees("'hots'")
        assert path.read_text() == INVENTORY + "hots: {}\n"


@pytest.mark.parametrize("spec", [("weka-02", "weka-01"), ("local",)])
async def test_hosts_of_the_command_line_are_ticked(home: Path, spec: tuple[str, ...]) -> None:
    write_inventory(home)
    async with opened(options(home, hosts=spec)) as user:
        assert user.app.selection.ticked == sorted(spec)
        assert user.cursor == sorted(spec)[0]


async def test_hosts_of_the_command_line_that_only_dns_or_a_pattern_knows_keep_their_ticks(
    home: Path,
) -> None:
    config = home / "my_ssh_config"
    config.write_text("Host *.lab\n  User me\n")
    spec = ("a.lab", "127.0.0.1", "local")
    async with opened(options(home, ssh_config=config, hosts=spec)) as user:
        assert user.app.selection.ticked == ["a.lab", "127.0.0.1", "local"]
        assert "command line  2/2" in user.text and "3 of 3 ticked" in user.text


async def test_an_early_enter_takes_effect_once_the_hosts_are_read(home: Path) -> None:
    async with opened(options(home)) as user:
        screen = user.app.screen
        assert isinstance(screen, HostsScreen)
        known = screen.host_list
        known.was_read, found = False, known.hosts
        known.hosts = known.shown = []
        screen.show_rows()
        assert "reading the inventory" in "".join(map(str, detail_lines(known, None, 60)))
        screen.action_go_on("profiles")
        assert user.scope == "hosts" and user.app.selection.ticked == [] and user.told == ""
        screen.take_hosts(found, None, None)
        await user.sees("demo/quick")
        assert user.app.selection.ticked == ["local"]


async def test_200_hosts_are_no_problem(home: Path) -> None:
    write_inventory(home, "hosts: {'n[001-200]': {}}\n")
    async with opened(options(home)) as user:
        await user.press("a", "G")
        assert "200 of 201 ticked" in user.text
        assert user.cursor == "local"


async def test_the_first_screen_says_what_can_be_done(home: Path) -> None:
    async with opened(options(home)) as user:
        await user.sees("benchmark this machine")
        await user.sees("n      add a host")
        assert "n add host" in user.text.splitlines()[-1]
        await user.press("n")
        await user.types("h1")
        await user.press("enter")
        await user.sees(lambda: user.cursor == "h1" and "benchmark this machine" not in user.text)


async def test_a_list_of_unchecked_hosts_says_where_to_begin_until_one_is_ticked(
    home: Path,
) -> None:
    write_inventory(home)
    async with opened(options(home)) as user:
        await user.sees("J      then describe a job")
        await user.press("space")
        await user.sees(lambda: "describe a job" not in user.text)


async def test_hosts_are_found_by_range_and_role_and_sorted_by_any_column(home: Path) -> None:
    write_inventory(home, "hosts:\n  h[1-12]: {groups: [lab]}\n  st: {role: server}\n")
    checks = {
        "h2": HostCheck("h2", False, "timeout", "no answer"),
        "h3": HostCheck("h3", True, facts={"cpus": 8}),
    }
    async with opened(options(home), size=(140, 36)) as user:
        screen = user.app.screen
        assert isinstance(screen, HostsScreen)

        def shown() -> list[str]:
            return [host.name for host in screen.host_list.shown]

        def rows() -> list[str]:
            return [screen.picklist.key_of(row) for row in screen.picklist.rows]

        await user.press("slash")
        await user.types("h[2-4]")
        assert shown() == ["h2", "h3", "h4"]
        await user.press("ctrl+u")
        await user.types("server")
        assert shown() == ["st"]
        await user.press("escape", "s")
        assert rows()[:3] == ["h1", "h2", "h3"] and rows()[9] == "h10"
        assert "CPUs" not in [column.title for column in screen.picklist.columns], (
            "nothing was read of any host"
        )
        user.app.selection.checks.update(checks)
        screen.show_rows()
        columns = {column.title: column for column in screen.picklist.columns}
        screen.picklist.sort_by(columns["reach"])
        assert rows()[:2] == ["h2", "h3"]
        screen.picklist.sort_by(columns["CPUs"])
        assert rows()[0] == "h3"


async def test_a_ticked_server_is_looked_at_and_o_makes_it_generate_load(home: Path) -> None:
    write_inventory(
        home, "hosts:\n  c[1-2]: {groups: [lab]}\n  osd-[1-2]: {role: server, groups: [osds]}\n"
    )
    async with opened(options(home), size=(120, 36)) as user:
        chosen = user.app.selection
        await user.press("j", "j", "j")
        assert user.cursor == "osd-1"
        await user.press("enter")
        assert user.scope == "hosts" and chosen.servers == ["osd-1"]
        assert (
            "osd-1: a server is only monitored; tick at least one host that generates load"
            in user.told
        )
        assert (
            "server  only monitored while others generate load; o: generate load on it" in user.text
        )
        await user.press("a")
        assert (chosen.ticked, chosen.servers) == (["c1", "c2"], ["osd-1", "osd-2"])
        assert "4 of 5 ticked, 2 only monitored" in user.text and "2 hosts + 2 servers" in user.text
        assert user.text.count(" ● ") == 2
        await user.press("o")
        assert (chosen.ticked, chosen.servers) == (["c1", "c2", "osd-1"], ["osd-2"])
        assert (
            "client  generates load, although the inventory lists it as a server; o: monitor it only"
            in user.text
        )
        await user.press("g", "o")  # the heading of the group of clients
        assert (chosen.ticked, chosen.servers) == (["osd-1"], ["c1", "c2", "osd-2"])
        await user.press("a")
        assert chosen.chosen == []


async def test_addresses_are_those_that_ssh_would_take(home: Path) -> None:
    config = home / "my_ssh_config"
    config.write_text(
        "Host gate\n  HostName 10.0.0.9\n  User me\n  Port 2222\nHost h1\n  User me\n  ProxyJump"
        " gate\n"
    )
    async with opened(options(home, ssh_config=config), size=(140, 36)) as user:
        await user.sees("me@10.0.0.9:2222")
        await user.sees("me@h1 via gate")


async def test_addresses_are_found_out_of_hosts_that_were_read_after_it_was_time_to(
    home: Path,
) -> None:
    config = home / "my_ssh_config"
    config.write_text("Host gate\n  HostName 10.0.0.9\n")
    async with opened(options(home, ssh_config=config), size=(140, 36)) as user:
        screen = user.app.screen
        assert isinstance(screen, HostsScreen)
        await user.sees("10.0.0.9")
        found, screen.host_list.hosts = screen.host_list.hosts, []
        screen.host_list.places.clear()  # as on a machine that takes longer to read
        screen.take_hosts(found, None, None)
        await user.sees(lambda: "gate" in screen.host_list.places)


async def test_trust_shows_the_keys_of_all_ticked_hosts(home: Path, lab: SshdLab) -> None:
    async with opened(options(home, ssh_config=lab.ssh_config_unknown)) as user:
        await user.press("space", "j", "space", "t")
        await user.sees("Trust these 2 keys?")
        assert lab.host("h1").fingerprint in user.text and lab.host("h2").fingerprint in user.text
        await user.press("y")
        await user.sees(lambda: user.text.count("✓ ready") == 2)
        pinned = (home / "known_hosts").read_text()
        assert all(f"[127.0.0.1]:{lab.host(name).port}" in pinned for name in ("h1", "h2"))


def checked_hosts(facts: Mapping[str, Fact]) -> HostList:
    """Three hosts of one group with the same facts."""
    names = ("h1", "h2", "h3")
    checks = {name: HostCheck(name, True, facts=dict(facts)) for name in names}
    host_list = HostList(Selection(checks=checks), SYMBOLS["braille"])
    host_list.hosts = [KnownHost(HostAddress(name), "inventory") for name in names]
    return host_list


def test_a_host_that_differs_from_its_peers_is_reported_in_the_list() -> None:
    host_list = checked_hosts({"cpus": 8, "kernel": "6.1"})
    host_list.selection.checks["h3"].facts["kernel"] = "5.4"
    assert [*map(host_list.differs, host_list.hosts)] == ["", "", "kernel"]


def test_parts_of_a_fact_that_differ_are_reported_behind_it_once() -> None:
    host_list = checked_hosts(facts_of("weka-01"))
    host_list.selection.checks["h3"].facts.update(facts_of("weka-05"))
    assert host_list.differs(host_list.hosts[2]) == "kernel, governor, link MTU/speed"


def test_only_the_odd_value_of_a_column_stands_out() -> None:
    host_list = checked_hosts({"cpus": 8, "kernel": "6.1"})
    host_list.selection.checks["h3"].facts["kernel"] = "5.4"
    (kernel,) = (each for each in fact_columns(host_list) if each.title == "kernel")
    assert [kernel.runs(host) for host in host_list.hosts] == [
        [("6.1", TEXT)],
        [("6.1", TEXT)],
        [("5.4", WARN)],
    ]


def test_ticked_hosts_whose_check_failed_are_counted_apart() -> None:
    host_list = checked_hosts({"cpus": 8})
    selection = host_list.selection
    selection.ticked = ["h1", "h3"]
    for name in ("h2", "h3"):
        selection.checks[name] = HostCheck(name, False, "unreachable", "no answer")
    assert selection.not_ready == ["h3"]
    heading, *_ = rows(host_list.hosts, selection)
    assert isinstance(heading, Heading)
    assert (heading.note[0], heading.more) == ("2/3", ((", 1 not ready", BAD),))
