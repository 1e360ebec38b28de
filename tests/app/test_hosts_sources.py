"""Step 1, Hosts: sources are groups that a key refreshes in the background."""

from __future__ import annotations

from pathlib import Path

from tests.app.driver import opened, options
from tui.app.screens.hosts import HostsScreen


async def test_r_asks_a_source_and_what_it_does_not_name_any_more_is_gone(home: Path) -> None:
    names = home / "names"
    names.write_text("n1 n2")
    (home / "inventory.yaml").write_text(f"groups: {{pool: {{from: 'command:cat {names}'}}}}\n")
    async with opened(options(home, inventory=home / "inventory.yaml")) as user:
        screen = user.app.screen
        assert isinstance(screen, HostsScreen)

        def known() -> list[str]:
            return [host.name for host in screen.host_list.hosts]

        assert known() == ["local"]
        await user.press("r")
        await user.sees(lambda: known() == ["n1", "n2", "local"])
        await user.press("g", "space")
        assert user.app.selection.ticked == ["n1", "n2"]
        names.write_text("n2 n3")
        await user.press("r")
        await user.sees(lambda: known() == ["n2", "n3", "local"])
        assert user.app.selection.ticked == ["n2"]
        names.unlink()
        await user.press("r")
        await user.sees(lambda: "failed" in user.text)
        assert known() == ["n2", "n3", "local"]  # what it said before
        await user.press("g")
        await user.sees("command:cat")
