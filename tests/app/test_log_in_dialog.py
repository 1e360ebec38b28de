"""Passwords in the screens: asked once on top of whatever is shown, masked, and handed to nobody
but the host.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.driver import User, opened, options
from tests.e2e.command import journal_has, only_run
from tests.lab.accounts import BY_PASSWORD, with_password
from tests.lab.faults_run import LOAD
from tests.lab.sshd import SshdLab
from tui.app.dialogs.text_entry import SecretPrompt, ask
from tui.app.widgets.form import SecretInput
from tui.remote.vault import Question

SECRET = "hunter2"


@pytest.fixture(scope="module")
def walled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshdLab]:
    """Two hosts that take a password and nothing else."""
    root = tmp_path_factory.mktemp("walled")
    with SshdLab(
        root / "lab", hosts=2, extra_config=BY_PASSWORD, wrapper=with_password(root, SECRET)
    ) as lab:
        yield lab


async def check_both(user: User) -> None:
    await user.press("space", "j", "space", "c")
    await user.sees("Log in")
    await user.sees("password for")


async def test_check_asks_once_for_all_hosts_and_shows_nothing_of_it(
    home: Path, walled: SshdLab
) -> None:
    async with opened(options(home, ssh_config=walled.ssh_config)) as user:
        await check_both(user)
        await user.types(SECRET)
        assert SECRET not in user.text and "•" * len(SECRET) in user.text
        await user.press("enter")
        checks = user.app.selection.checks
        await user.sees(lambda: len(checks) == 2)
        assert all(check.ok for check in checks.values())


async def test_wrong_password_is_asked_again_and_says_where_it_was_refused(
    home: Path, walled: SshdLab
) -> None:
    async with opened(options(home, ssh_config=walled.ssh_config)) as user:
        await check_both(user)
        await user.types("wrong")
        await user.press("enter")
        await user.sees("2 of 3 tries left")
        await user.types(SECRET)
        await user.press("enter")
        await user.sees(lambda: len(user.app.selection.checks) == 2)
        assert all(check.ok for check in user.app.selection.checks.values())


async def test_escape_gives_up(home: Path, walled: SshdLab) -> None:
    async with opened(options(home, ssh_config=walled.ssh_config)) as user:
        await check_both(user)
        await user.press("escape")
        await user.sees(lambda: len(user.app.selection.checks) == 2)
        assert {check.code for check in user.app.selection.checks.values()} == {"auth-failed"}
        assert user.scope == "hosts"


async def test_a_dialog_that_another_screen_replaces_counts_as_given_up(home: Path) -> None:
    async with opened(options(home)) as user:
        question = Question("login to bench@box", (("Password", False), ("Code", True)))
        worker = user.app.run_worker(ask(user.app, question))
        await user.sees(lambda: isinstance(user.app.screen, SecretPrompt))
        user.app.go("runs")
        await user.sees(lambda: worker.is_finished)
        assert worker.result is None


async def test_several_prompts_are_fields_of_one_dialog(home: Path) -> None:
    async with opened(options(home)) as user:
        question = Question(
            "login to bench@box",
            (("Password:", False), ("Code:", True)),
            "Your token [shows] a code",
        )
        worker = user.app.run_worker(ask(user.app, question))
        await user.sees("Your token [shows] a code")
        await user.types("abc")
        await user.press("enter")
        await user.types("123")
        assert "abc" not in user.text and "123" in user.text
        await user.press("enter")
        await user.sees(lambda: worker.is_finished)
        assert worker.result == ["abc", "123"]


async def test_what_is_masked_never_reaches_the_clipboard(home: Path) -> None:
    async with opened(options(home)) as user:
        question = Question("login to bench@box", (("Password:", False), ("Code:", True)))
        worker = user.app.run_worker(ask(user.app, question))
        await user.sees("Log in")
        fields = list(user.app.screen.query(SecretInput))
        await user.types(SECRET)
        for action in (fields[0].action_copy, fields[0].action_cut):
            fields[0].select_all()
            action()
            assert user.app.clipboard == ""
        assert fields[0].value == ""
        await user.press("enter")
        await user.types("123")
        fields[1].select_all()
        fields[1].action_copy()
        assert user.app.clipboard == "123"
        await user.press("escape")
        await user.sees(lambda: worker.is_finished)


async def test_launch_asks_on_the_live_screen_and_the_run_continues(
    home: Path, walled: SshdLab, tmp_path: Path
) -> None:
    overrides = {"directory": str(tmp_path), "runtime": "1s"}
    chosen = {
        "ssh_config": walled.ssh_config,
        "hosts": ("h1",),
        "profile": str(LOAD),
        "overrides": overrides,
    }
    async with opened(options(home, review=True, **chosen)) as user:
        await user.starts()
        await user.sees("Log in")
        await user.types(SECRET)
        await user.press("enter")
        await user.sees(lambda: user.scope == "live")
        for stage in ("preflight", "layout", "measure", "collect"):
            await user.sees(lambda stage=stage: journal_has(only_run(home), f'"phase":"{stage}"'))  # type: ignore[misc]
        await user.sees(lambda: any(home.glob("runs/*/run.json")))
    record = (only_run(home) / "run.json").read_text()
    assert '"state": "complete"' in record or '"state":"complete"' in record
    assert not [
        path for path in home.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()
    ]
