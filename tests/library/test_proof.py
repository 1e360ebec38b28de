"""A counter-experiment is a prediction that can fail: what the figures of its two steps say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from msgspec.structs import asdict, replace

from tests.app.journal_maker import READS, RUN_ID, RunMaker
from tests.app.matrix_maker import MatrixMaker
from tests.samples.evidence import direction, series
from tests.samples.records import SENTENCE, strings
from tui.journal.fold import fold
from tui.journal.state import RunState
from tui.journal.writer import append_events
from tui.judge.proof import (
    HALF,
    MORE,
    MORE_EACH,
    NO_MORE,
    SAME_BYTES,
    SAME_EACH,
    SAME_IOPS,
    UNPACED,
    chosen,
    experiments,
    judged,
)
from tui.judge.severity import Moot
from tui.judge.wording import bottleneck_text, proof_text
from tui.library.additions import add_proof, question_of
from tui.library.build import write_record
from tui.library.load import load_record
from tui.library.unfinished import is_unfinished
from tui.model.event import BottleneckProved, StepStarted
from tui.model.figure_record import ResultsRecord
from tui.model.plan import HostTask, JobLoad, Step
from tui.model.problem import UsageError
from tui.model.search import LoadChange, Proof, ProofResult
from tui.model.step_record import BottleneckRecord, ProofRecord, StepRecord
from tui.record.timeline import read_journal
from tui.view.objections import reason_code

MORE_IN_FLIGHT = LoadChange("twice-in-flight", MORE)
STEADY = [0.99, 1.01, 1.0, 0.99, 1.01, 1.0, 0.99, 1.01, 1.0, 1.0]
RESTLESS = [0.6, 0.6, 1.3, 1.4, 0.7, 0.6, 1.4, 1.3, 1.0, 1.1]


def load(
    iops: float,
    hosts: int = 1,
    block: int = 4096,
    shape: Sequence[float] = STEADY,
    state: str = "done",
) -> StepRecord:
    whole = direction(iops, 1e6, bw_bytes_per_s=iops * block)
    per_host = {f"h{number}": {"write": direction(iops / hosts, 1e6)} for number in range(hosts)}
    return StepRecord(
        index=0,
        name="s",
        state=state,
        results=ResultsRecord(aggregate={"write": whole}, per_host=per_host),
        series=series([iops * each for each in shape]),
    )


def outcome(
    experiment: LoadChange, unchanged: StepRecord, changed: StepRecord, before: float | None = None
) -> ProofResult:
    proof = Proof("r1", 0, "storage", "words", experiment, before)
    return judged(proof, [unchanged, changed], "r2")


def said(found: ProofResult) -> str:
    return proof_text(ProofRecord(**asdict(found)))


@pytest.mark.parametrize(
    ("experiment", "changed", "told"),
    [
        (LoadChange("twice-in-flight", MORE), load(1900), "agreed"),
        (LoadChange("twice-in-flight", MORE), load(1020), "disagreed"),  # it was not concurrency
        (LoadChange("twice-in-flight", MORE), load(1200), "could-not-tell"),
        (LoadChange("twice-in-flight", NO_MORE), load(1030), "agreed"),
        # it was neither device nor storage
        (LoadChange("twice-in-flight", NO_MORE), load(1900), "disagreed"),
        (LoadChange("half-block", SAME_BYTES), load(2000, block=2048), "agreed"),
        # bytes were not the limit
        (LoadChange("half-block", SAME_BYTES), load(1000, block=2048), "disagreed"),
        (LoadChange("half-block", SAME_IOPS), load(1000, block=2048), "agreed"),
        (LoadChange("half-block", SAME_IOPS), load(2000, block=2048), "disagreed"),
        (LoadChange("half-workers", HALF), load(510), "agreed"),
        # the others took over what was left
        (LoadChange("half-workers", HALF), load(990), "disagreed"),
        (LoadChange("no-rate", UNPACED), load(1500), "agreed"),
        (LoadChange("no-rate", UNPACED), load(1000), "disagreed"),
    ],
)
def test_one_host(experiment: LoadChange, changed: StepRecord, told: str) -> None:
    assert outcome(experiment, load(1000), changed).outcome == told


@pytest.mark.parametrize(
    ("kind", "experiment", "changed", "limit"),
    [
        ("storage", LoadChange("twice-in-flight", NO_MORE), load(1030), "storage"),
        ("storage", LoadChange("twice-in-flight", NO_MORE), load(1900), "queue depth"),
        ("storage", LoadChange("twice-in-flight", NO_MORE), load(1200), "words"),
        ("client-cpu", LoadChange("half-workers", HALF), load(510), "words"),
        ("client-cpu", LoadChange("half-workers", HALF), load(990), "words: refuted"),
    ],
)
def test_a_bottleneck_is_named_as_far_as_the_experiment_confirmed_it(
    kind: Literal["storage", "client-cpu"], experiment: LoadChange, changed: StepRecord, limit: str
) -> None:
    found = ProofRecord(**asdict(outcome(experiment, load(1000), changed)))
    assert bottleneck_text(BottleneckRecord(kind=kind, text="words", proof=found)).startswith(limit)


@pytest.mark.parametrize(
    ("experiment", "total", "told"),
    [
        (LoadChange("half-hosts", MORE_EACH), 3900, "agreed"),  # the rest gets all that there is
        (LoadChange("half-hosts", MORE_EACH), 2000, "disagreed"),
        (LoadChange("half-hosts", SAME_EACH), 2000, "agreed"),  # each client is its own limit
        (LoadChange("half-hosts", SAME_EACH), 3900, "disagreed"),
    ],
)
def test_half_of_the_hosts_are_compared_host_by_host(
    experiment: LoadChange, total: float, told: str
) -> None:
    assert outcome(experiment, load(4000, hosts=4), load(total, hosts=2)).outcome == told


def test_everything_is_reported_with_its_figures() -> None:
    found = outcome(LoadChange("twice-in-flight", MORE), load(1000), load(1900))
    gave = "twice as many I/Os in flight gave 1.90x the IOPS (from 1.00k to 1.90k; ±1 %)"
    assert said(found) == f"agreed: {gave}; predicted 1.3x the IOPS or more"
    assert not [text for _, text in strings(asdict(found)) if SENTENCE.search(text)]
    assert (found.unchanged, found.changed, found.ratio, found.run_id) == (
        1000.0,
        1900.0,
        1.9,
        "r2",
    )


def test_what_lies_within_the_spread_cannot_be_told() -> None:
    found = outcome(
        LoadChange("twice-in-flight", MORE), load(1000, shape=RESTLESS), load(1500, shape=RESTLESS)
    )
    assert found.outcome == "could-not-tell"
    assert found.spread is not None and found.spread > 0.2


@pytest.mark.parametrize("seconds", [5, 9, 10, 15])
def test_the_spread_holds_the_true_ratio_of_loads_whose_seconds_depend_on_each_other(
    seconds: int,
) -> None:
    random = np.random.default_rng(seconds)
    drawn = random.normal(0, 0.05, (2, 200, seconds + 20))
    for at in range(1, seconds + 20):
        drawn[:, :, at] = 0.5 * drawn[:, :, at - 1] + 0.87 * drawn[:, :, at]
    held = 0
    for shapes in zip(*(1 + drawn[:, :, 20:]), strict=True):
        one, other = (load(1000 * shape.mean(), shape=[*(shape / shape.mean())]) for shape in shapes)
        found = outcome(LoadChange("twice-in-flight", MORE), one, other)
        assert found.ratio is not None and found.spread is not None
        held += abs(found.ratio - 1) <= found.spread
    assert held >= 0.95 * 200


def test_a_state_that_is_not_that_of_the_run_any_more_tells_nothing() -> None:
    found = outcome(LoadChange("twice-in-flight", MORE), load(1000), load(1900), before=2500.0)
    assert found.outcome == "could-not-tell"
    assert "the unchanged load gave 1.00k, but 2.50k in the run" in said(found)


@pytest.mark.parametrize("state", ["failed", "cut", "missing"])
def test_a_step_that_was_not_measured_whole_tells_nothing(state: str) -> None:
    found = outcome(LoadChange("twice-in-flight", MORE), load(1000), load(1900, state=state))
    assert (found.outcome, "incomplete" in said(found)) == ("could-not-tell", True)


def test_too_few_seconds_tell_nothing() -> None:
    found = outcome(LoadChange("twice-in-flight", MORE), load(1000), load(1900, shape=[1.0, 1.0]))
    assert (found.outcome, found.spread) == ("could-not-tell", None)


@pytest.fixture
def maker(tmp_path: Path) -> RunMaker:
    """A finished run; what limited it is not in its journal, for nobody looked at its hosts."""
    return RunMaker(tmp_path / RUN_ID, ["h1"], READS).begin().go().measure(6).finish()


def test_a_run_is_told_without_getting_longer(maker: RunMaker) -> None:
    before = write_record(maker.run_dir)
    append_events(
        maker.run_dir,
        [BottleneckProved(t=0.0, result=outcome(MORE_IN_FLIGHT, load(1000), load(1900)))],
    )
    seen = read_journal(maker.run_dir / "journal.jsonl", 60.0).state
    assert seen.proved[0].outcome == "agreed"
    after = write_record(maker.run_dir)
    assert (after.duration_s, after.state) == (before.duration_s, before.state)
    assert not is_unfinished(maker.run_dir)


def test_a_step_that_is_made_again_is_not_proved_any_more(maker: RunMaker) -> None:
    state = RunState()
    fold(state, BottleneckProved(t=1.0, result=outcome(MORE_IN_FLIGHT, load(1000), load(1900))))
    fold(state, StepStarted(t=2.0, step=0, attempt=2))
    assert state.proved == {}


@pytest.mark.parametrize(("figures", "told"), [({0: 500.0}, "r9"), ({0: 500.0, 1: 900.0}, "r2")])
def test_one_that_was_cut_off_does_not_replace_what_another_one_showed(
    tmp_path: Path, figures: dict[int, float], told: str
) -> None:
    about = RunMaker(tmp_path / RUN_ID, ["h1"], READS).begin().go()
    about.look_at("h1", {"cpu.busy": 10.0})
    about.measure(6).finish()
    shown = replace(outcome(MORE_IN_FLIGHT, load(1000), load(1900)), run_id="r9")
    append_events(about.run_dir, [BottleneckProved(t=0.0, result=shown)])
    write_record(about.run_dir)
    cut = MatrixMaker(tmp_path / "r2", ["h1"], READS)
    proves = Proof(RUN_ID, 0, "storage", "words", MORE_IN_FLIGHT)
    cut.plan_matrix([cut.first_step, cut.first_step], proves=proves).begin()
    cut.steps_done(figures).finish("complete" if len(figures) == 2 else "partial")
    add_proof(cut.run_dir, write_record(cut.run_dir))
    bottleneck = load_record(about.run_dir).steps[0].bottleneck
    assert (
        bottleneck is not None and bottleneck.proof is not None and bottleneck.proof.run_id == told
    )


def test_a_counter_experiment_is_neither_a_sweep_nor_a_repetition(tmp_path: Path) -> None:
    maker = MatrixMaker(tmp_path / "r2", ["h1"], READS)
    steps = [
        replace(maker.first_step, cell=name, point={"load": name})
        for name in ("as it was", "twice")
    ]
    maker.plan_matrix(
        steps, axes=["load"], proves=Proof(RUN_ID, 0, "storage", "words", MORE_IN_FLIGHT)
    ).begin()
    record = write_record(maker.steps_done({0: 500.0, 1: 510.0}).finish().run_dir)
    assert not {each.id for each in record.findings} & {"repetitions", "sweep"}
    assert {reason_code(record, name) for name in ("repetitions", "sweep")} == {Moot.PROOF}


def test_a_step_that_only_prepares_cannot_be_asked_for(maker: RunMaker) -> None:
    record = write_record(maker.run_dir)
    with pytest.raises(UsageError, match="has no step 2; it has 1 step"):
        chosen(record, 1)
    record.steps[0].warmup = True
    with pytest.raises(UsageError, match="step 1 only prepares"):
        chosen(record, 0)


def test_figures_of_others_have_no_plan_to_make_again(maker: RunMaker) -> None:
    record = write_record(maker.run_dir)
    record.state = "imported"
    (maker.run_dir / "run.json").write_text(record.to_json())
    (maker.run_dir / "plan.json").unlink()
    with pytest.raises(UsageError, match="no plan to repeat"):
        question_of(maker.run_dir)


def step(hosts: int = 1, workers: int = 1) -> Step:
    tasks = [HostTask(f"h{number}", 1, "", []) for number in range(hosts)]
    return Step(0, "s", "fio", {}, tasks, 60.0, jobs=[JobLoad("a", ("read",), workers=workers)])


KINDS: Mapping[str, tuple[list[str], list[str]]] = {
    "rate": (["no-rate"], ["no-rate"]),
    "concurrency": (["twice-in-flight"], ["twice-in-flight"]),
    "client-device": (["twice-in-flight"], ["twice-in-flight"]),
    "network": (["half-block", "twice-in-flight"], ["half-block", "twice-in-flight"]),
    "server-cpu": (["half-block"], ["half-hosts", "half-block"]),
    "storage": (["twice-in-flight"], ["half-hosts", "twice-in-flight"]),
    "client-cpu": (["half-workers"], ["half-hosts"]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_bottleneck_has_its_experiment(kind: str) -> None:
    alone, several = (experiments(kind, step(hosts, workers=4), 4) for hosts in (1, 2))
    assert ([each.change for each in alone], [each.change for each in several]) == KINDS[kind]


@pytest.mark.parametrize(
    ("workers", "cpus", "change"), [(1, 4, "twice-workers"), (3, 4, "half-workers"), (8, 4, None)]
)
def test_one_busy_client_needs_cores_that_are_free_or_workers_to_spare(
    workers: int, cpus: int, change: str | None
) -> None:
    found = experiments("client-cpu", step(workers=workers), cpus)
    assert [each.change for each in found] == ([change] if change else [])
