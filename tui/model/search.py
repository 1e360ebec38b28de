"""A search (what is asked, offered and found) and a counter-experiment. Pure data."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from tui.model.plain_data import MeanOrPercentile

SearchKind = Literal["capacity", "curve", "scaling"]
Objective = Literal["iops", "bandwidth"]
Verdict = Literal["meets", "breaks", "unclear", "void"]
RATE, HOSTS = "rate", "hosts"  # knobs that are no parameters of the profile
# of a point's seconds, where the profile has no ramp
RAMP_SHARE, LEAST_RAMP_S, MOST_RAMP_S = 0.1, 1, 5


class Limit(Struct, frozen=True, omit_defaults=True):
    """What must hold for a load to be sustained: a percentile or the mean below a latency, or no
    more errors than that.

    `direction` is empty where none is named: then it holds for each that is measured. `most` is in
    ns, or a count.
    """

    text: str
    direction: str
    metric: Literal["latency", "errors"]
    percentile: float | None
    most: float


class Knob(Struct, frozen=True, omit_defaults=True):
    """What is searched over, slowest first: the offered rate, the number of hosts, or a parameter
    of the profile.

    `values` ascend; of the rate there are none.
    """

    name: str
    values: tuple[int, ...] = ()


class Search(Struct, frozen=True, omit_defaults=True):
    """What a run is to find, and what it may cost.

    `lead_s`: seconds of load before each point that are not measured, as the profile has them
    (startdelay, ramp_time). `heavier`: what to search over where full load meets the limits, each
    as Review has it: ``rate numjobs``.
    """

    kind: SearchKind
    objective: Objective = "iops"
    limits: tuple[Limit, ...] = ()
    over: tuple[Knob, ...] = (Knob(RATE),)
    points: int = 15  # measurements at most
    within_s: float | None = None  # seconds of load and pauses at most, from the first point on
    point_s: float = 10.0  # least seconds of a point
    most_point_s: float = 120.0  # most, where its percentile needs more I/Os
    # seconds that the answer of a capacity search is held before it counts as found; 0: it is not
    hold_s: float = 0.0
    # a capacity known to so much of itself, to each side, needs no further point
    tolerance: float = 0.03
    # of the maximum, for a curve
    shares: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    order: Literal["random", "up-down"] = "random"
    seed: int = 1
    lead_s: float = 0.0
    # the profile has a ramp, and it is in `lead_s`; else points have the usual one
    own_ramp: bool = False
    heavier: tuple[str, ...] = ()

    @property
    def offers_rates(self) -> bool:
        """Whether some of its points have an offered rate; the others are at full load."""
        return self.kind == "curve" or (
            self.kind == "capacity" and any(knob.name == RATE for knob in self.over)
        )


def usual_ramp_s(seconds: float) -> float:
    """Return how long load goes on before a point of so many seconds is measured, where the profile
    says nothing.
    """
    return float(min(MOST_RAMP_S, max(LEAST_RAMP_S, round(RAMP_SHARE * seconds))))


class Offer(Struct, frozen=True, omit_defaults=True):
    """One point to measure: `rate_iops` over all hosts and directions; None: as much as it can
    (closed loop).

    `settle_s`: seconds without load before it, so that the system recovers from the point before.
    `lead_s`: seconds of its load before it is measured.
    """

    rate_iops: float | None
    seconds: float
    knobs: dict[str, int] = field(default_factory=dict)
    role: Literal["maximum", "search", "confirm", "curve", "recover", "hold"] = "search"
    settle_s: float = 0.0
    why: str = ""
    # of the rate, by job, where there are several
    shares: dict[str, float] = field(default_factory=dict)
    lead_s: float = 0.0


class MeasuredLimit(Struct, frozen=True, omit_defaults=True):
    """What a limit's figure was at a point, with the interval that holds it with 95 % (order
    statistics, blocks).

    `share_error`: standard error of the share of I/Os behind a percentile (of a mean: of the mean),
    as a share of it; `slope`: by how much the figure's logarithm falls where the logarithm of that
    share grows by 1. `over`: the share of I/Os above the limit, as a multiple of the share that may
    be.
    """

    limit: str  # its text
    direction: str
    value: float | None  # ns, or a count of errors; None: not measured
    low: float | None = None
    high: float | None = None
    verdict: Verdict = "void"
    share_error: float | None = None
    slope: float = 1.0
    over: float | None = None


class Steadiness(Struct, frozen=True, omit_defaults=True):
    """How a held load went. `changed`: most seconds broke a limit from `at_s` on; `stalls`: about
    one each `every_s`.

    `drift`: the mean latency rose throughout. `bad`: seconds that broke a limit alone.
    """

    kind: Literal["steady", "changed", "stalls", "drift"] = "steady"
    at_s: float = 0.0
    every_s: float = 0.0
    bad: int = 0


class SearchPoint(Struct, frozen=True, omit_defaults=True):
    """A point that was measured, as the search sees it.

    `iops`, `bw_bytes_per_s`: achieved over all hosts and directions. `intended`: latency from the
    intended start of each I/O, ns by percentile label ("99.9") and "mean"; empty: cannot be told,
    `intended_why` says so. `cut`: it was ended early because it was clearly over.
    """

    step: int
    offer: Offer
    seconds: float
    iops: float
    bw_bytes_per_s: float
    measured: tuple[MeasuredLimit, ...] = ()
    verdict: Verdict = "void"
    why: str = ""
    hosts: int = 0  # that measured to the end
    lost: tuple[str, ...] = ()  # that did not
    cut: bool = False
    deviation: float | None = None  # of the achieved rate, second by second, as a share of it
    intended: dict[MeanOrPercentile, float] = field(default_factory=dict)
    intended_why: str = ""
    # what each job achieved, I/Os a second, of several
    jobs: dict[str, float] = field(default_factory=dict)
    steadiness: Steadiness | None = None  # of a hold


Change = Literal[
    "twice-in-flight", "twice-workers", "half-workers", "half-block", "half-hosts", "no-rate"
]
Figure = Literal["iops", "bandwidth", "iops_per_host"]
Outcome = Literal["agreed", "disagreed", "could-not-tell"]

SAID: dict[Change, str] = {
    "twice-in-flight": "twice as many I/Os in flight",
    "twice-workers": "twice as many workers",
    "half-workers": "half as many workers",
    "half-block": "half the block size",
    "half-hosts": "half of the hosts",
    "no-rate": "no rate",
}
FIGURES: dict[Figure, str] = {
    "iops": "IOPS",
    "bandwidth": "bandwidth",
    "iops_per_host": "IOPS of each host",
}
OUTCOMES: dict[Outcome, str] = {
    "agreed": "agreed",
    "disagreed": "disagreed",
    "could-not-tell": "could not tell",
}


class Prediction(Struct, frozen=True, omit_defaults=True):
    """What a changed load does when the limit is where it was said to be: a figure as a multiple of
    the unchanged one.

    The experiment agrees from `least` to `most`, and disagrees below `below` or above `above`;
    between it cannot tell.
    """

    figure: Figure
    least: float = 0.0
    most: float | None = None
    below: float = 0.0
    above: float | None = None

    @property
    def text(self) -> str:
        """What it says for people: ``1.3x the IOPS or more``."""
        name = FIGURES[self.figure]
        if self.most is None:
            return f"{self.least:g}x the {name} or more"
        if not self.least:
            return f"{self.most:g}x the {name} at most"
        return f"{self.least:g}x to {self.most:g}x the {name}"


class LoadChange(Struct, frozen=True):
    """One change of a load, and what it is predicted to do."""

    change: Change
    prediction: Prediction


class ProofQuestion(Struct, frozen=True):
    """What a counter-experiment is to confirm: the bottleneck of one step, and the experiments that
    can, best first.
    """

    run_id: str
    step: int
    kind: str
    limiter: str
    experiments: tuple[LoadChange, ...]
    before: dict[str, float]  # IOPS, bandwidth, ... of that step, by the name of a figure


class Proof(Struct, frozen=True):
    """What a run was made for: its first step is the load as it was, its second one the same load
    with the change.
    """

    run_id: str  # of the run whose bottleneck it is
    step: int  # of that run
    kind: str
    limiter: str
    experiment: LoadChange
    before: float | None = None  # the prediction's figure as that run had it


class ProofResult(Struct, frozen=True, omit_defaults=True):
    """What came of a counter-experiment, as the journal of the run it is about keeps it."""

    run_id: str  # of the counter-experiment
    step: int  # whose bottleneck it is
    kind: str
    change: Change
    predicted: str
    outcome: Outcome
    text: str
    figure: Figure = "iops"
    unchanged: float | None = None
    changed: float | None = None
    ratio: float | None = None
    spread: float | None = None  # of the ratio, to each side
