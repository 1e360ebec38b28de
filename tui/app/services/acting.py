"""What screens ask of the app that takes several steps: a run made again, measured further, proved."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

from textual import work

from tui.app.frame.shell import AppShell
from tui.model.problem import BenchtuiError

AGAIN_FROM = ("runs", "result")  # screens from which a run is made again; others lead back to Review themselves


class Acting(AppShell):
    """The app with what it does to runs."""

    @work(group="again", exclusive=True)
    async def run_again(self, run_dir: Path) -> None:
        """Choose what a run was made of, and show it on Review."""
        from tui.app.services import resuming as services_resuming

        asked_on = str(getattr(self.screen, "SCOPE", ""))
        self.forget_fleet()  # its hosts may have been written down since
        try:
            chosen = await asyncio.to_thread(services_resuming.read_choice, run_dir, self.fleet, self.catalogue)
        except BenchtuiError as error:
            self.notify(str(error), severity="warning", markup=False)
            return
        services_resuming.choose(self.selection, chosen)
        self.again_from = asked_on if asked_on in AGAIN_FROM else ""
        self.go("review")

    @work(group="resume", exclusive=True)
    async def resume_run(self, run_dir: Path) -> None:
        """Ask what to measure of what a run lacks, then measure it and show it as it goes on."""
        from tui.app.services import resuming

        try:
            found = await asyncio.to_thread(resuming.lacking, run_dir)
            if not found:
                self.notify("nothing to resume")
                return
            mode = await resuming.ask_to_resume(self, run_dir, found)
        except BenchtuiError as error:
            self.notify(str(error), severity="warning", markup=False)
            return
        if mode is not None:
            await resuming.resume(run_dir, mode, self.open_live, self.answer_questions)

    @work(group="prove", exclusive=True)
    async def prove_run(self, run_dir: Path) -> None:
        """Ask whether to make a counter-experiment about what limited a run, then make it and show it as it goes on."""
        from tui.app.dialogs import text_entry
        from tui.app.services import resuming as services_resuming
        from tui.engine.launch import launch_asking
        from tui.remote.vault import Remembering

        person = Remembering(partial(text_entry.ask, self))
        try:
            plan = await asyncio.to_thread(services_resuming.planned_proof, run_dir)
            if await self.push_screen_wait(services_resuming.proof_question(plan)) != "yes":
                return
            agreed = await services_resuming.agreed_proof(self, plan, self.paths, person)
            if agreed is None:
                return
            launched = await asyncio.to_thread(launch_asking, agreed, self.paths.runs)
        except BenchtuiError as error:
            self.notify(str(error), severity="warning", markup=False)
            return
        self.open_live(launched.run_dir)
        self.answer_questions(launched.questions, person)
