"""Searches (goal, offered load, measured points) and counter-experiments. Pure data."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from tui.model.operands import Clause
from tui.model.plain_data import MeanOrPercentile

SearchKind = Literal["capacity", "curve", "scaling"]
Objective = Literal["iops", "bandwidth"]
Verdict = Literal["meets", "breaks", "unclear", "void"]
RATE, HOSTS = "rate", "hosts"  # knobs that are not parameters of the profile
# of a point's seconds, if the profile has no ramp
RAMP_SHARE, LEAST_RAMP_S, MOST_RAMP_S = 0.1, 1, 5


class Limit(Struct, frozen=True, omit_defaults=True):
    """A limit on the load: maximum of a latency percentile, of the mean latency, or of errors.

    If `direction` is empty, the limit applies to every measured direction. `most` is in ns, or a
    count.
    """

    text: str
    direction: str
    metric: Literal["latency", "errors"]
    percentile: float | None
    most: float


class Knob(Struct, frozen=True, omit_defaults=True):
    """A variable of a search: offered rate, number of hosts, or a parameter.

    `values` are ascending; the rate has none.
    """

    name: str
    values: tuple[int, ...] = ()


class Search(Struct, frozen=True, omit_defaults=True):
    """Goal and budget of a search.

    `lead_s`: seconds of unmeasured load before each point, from the profile (startdelay,
    ramp_time). `heavier`: knobs to try if full load meets the limits, each in Review's syntax:
    ``rate numjobs``.
    """

    kind: SearchKind
    objective: Objective = "iops"
    limits: tuple[Limit, ...] = ()
    over: tuple[Knob, ...] = (Knob(RATE),)  # the slowest-changing first
    points: int = 15  # maximum number of measurements
    within_s: float | None = None  # maximum seconds of load and pauses, from the first point on
    point_s: float = 10.0  # minimum seconds of a point
    most_point_s: float = 120.0  # maximum, if its percentile needs more I/Os
    # seconds to hold the answer of a capacity search; 0: no hold
    hold_s: float = 0.0
    # relative precision, ±, at which a capacity needs no further point
    tolerance: float = 0.03
    # of the maximum, for a curve
    shares: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    order: Literal["random", "up-down"] = "random"
    seed: int = 1
    lead_s: float = 0.0
    # the profile has a ramp, included in `lead_s`; else points get a default ramp
    own_ramp: bool = False
    heavier: tuple[str, ...] = ()

    @property
    def offers_rates(self) -> bool:
        """Whether some points have an offered rate; the others run at full load."""
        return self.kind == "curve" or (
            self.kind == "capacity" and any(knob.name == RATE for knob in self.over)
        )


def usual_ramp_s(seconds: float) -> float:
    """Return the default ramp in seconds for a point of this length, if the profile has none."""
    return float(min(MOST_RAMP_S, max(LEAST_RAMP_S, round(RAMP_SHARE * seconds))))


class Offer(Struct, frozen=True, omit_defaults=True):
    """Load of one point: `rate_iops` over all hosts and directions; None means full load (closed
    loop).

    `settle_s`: idle seconds before it, for the system to recover from the previous point. `lead_s`:
    seconds of load before measuring.
    """

    rate_iops: float | None
    seconds: float
    knobs: dict[str, int] = field(default_factory=dict)
    role: Literal["maximum", "search", "confirm", "curve", "recover", "hold"] = "search"
    settle_s: float = 0.0
    why: Clause | str = ""  # text in older journals
    # of the rate, by job, if there are several
    shares: dict[str, float] = field(default_factory=dict)
    lead_s: float = 0.0


class MeasuredLimit(Struct, frozen=True, omit_defaults=True):
    """Measured figure of a limit at a point, with its 95 % interval (order statistics, blocks).

    `share_error`: relative standard error of the share of I/Os beyond a percentile (for a mean: of
    the mean). `slope`: decrease of the figure's logarithm per increase of that share's logarithm.
    `over`: share of I/Os above the limit, in multiples of the allowed share.
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
    """Steadiness of a held load.

    `changed`: after `at_s`, most seconds exceeded a limit. `stalls`: single seconds did, about
    every `every_s`. `drift`: the mean latency rose throughout. `bad`: number of seconds that
    exceeded a limit.
    """

    kind: Literal["steady", "changed", "stalls", "drift"] = "steady"
    at_s: float = 0.0
    every_s: float = 0.0
    bad: int = 0


class SearchPoint(Struct, frozen=True, omit_defaults=True):
    """A measured point, as the search evaluates it.

    `iops`, `bw_bytes_per_s`: achieved over all hosts and directions. `intended`: latency from
    intended start in ns, by percentile label ("99.9") and "mean"; empty if unknown, with the code
    of the reason in `intended_why`. `cut`: ended early, because a limit was clearly exceeded.
    """

    step: int
    offer: Offer
    seconds: float
    iops: float
    bw_bytes_per_s: float
    measured: tuple[MeasuredLimit, ...] = ()
    verdict: Verdict = "void"
    why: Clause | str = ""  # text in older journals
    hosts: int = 0  # that measured to the end
    lost: tuple[str, ...] = ()  # that did not
    cut: bool = False
    deviation: float | None = None  # of the achieved rate, per second, relative
    intended: dict[MeanOrPercentile, float] = field(default_factory=dict)
    intended_why: str = ""
    # achieved rate of each of several jobs, in IOPS
    jobs: dict[str, float] = field(default_factory=dict)
    steadiness: Steadiness | None = None  # of a hold


Caveat = Literal["contradictions", "unfinished", "not-held"]


def caveats_of(
    state: str, step: int | None, held_s: float | None, *, contradicted: bool
) -> list[Caveat]:
    """Return why the answer of a search is weak."""
    found: list[Caveat] = ["contradictions"] if contradicted else []
    if state == "unfinished":
        return [*found, "unfinished"]
    return [*found, "not-held"] if step is not None and held_s is None else found


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
    "half-hosts": "half the hosts",
    "no-rate": "no rate",
}
FIGURES: dict[Figure, str] = {
    "iops": "IOPS",
    "bandwidth": "bandwidth",
    "iops_per_host": "IOPS per host",
}
OUTCOMES: dict[Outcome, str] = {
    "agreed": "agreed",
    "disagreed": "disagreed",
    "could-not-tell": "could not tell",
}


class Prediction(Struct, frozen=True, omit_defaults=True):
    """Effect of a load change that the assumed bottleneck predicts: a figure in multiples of the
    unchanged one.

    The experiment confirms it from `least` to `most`, and refutes it below `below` or above
    `above`; in between it is undecided.
    """

    figure: Figure
    least: float = 0.0
    most: float | None = None
    below: float = 0.0
    above: float | None = None

    @property
    def text(self) -> str:
        """The prediction as text: ``1.3x the IOPS or more``."""
        name = FIGURES[self.figure]
        if self.most is None:
            return f"{self.least:g}x the {name} or more"
        if not self.least:
            return f"{self.most:g}x the {name} at most"
        return f"{self.least:g}x to {self.most:g}x the {name}"


class LoadChange(Struct, frozen=True):
    """A change of a load, and its predicted effect."""

    change: Change
    prediction: Prediction


class ProofQuestion(Struct, frozen=True):
    """Subject of a counter-experiment: the bottleneck of one step, and possible experiments, best
    first.
    """

    run_id: str
    step: int
    kind: str
    bottleneck: Clause | str  # a code with operands; a text in older plans
    experiments: tuple[LoadChange, ...]
    before: dict[str, float]  # IOPS, bandwidth, ... of that step, by the name of a figure


class Proof(Struct, frozen=True):
    """Plan data of a counter-experiment: its first step is the unchanged load, its second the
    changed load.
    """

    run_id: str  # the run with the bottleneck
    step: int  # of that run
    kind: str
    bottleneck: Clause | str = field(name="limiter")
    experiment: LoadChange
    before: float | None = None  # the predicted figure, as measured by that run


class ProofResult(Struct, frozen=True, omit_defaults=True):
    """Result of a counter-experiment, stored in the journal of the run that it examines."""

    run_id: str  # of the counter-experiment
    step: int  # step with the bottleneck
    kind: str
    change: Change
    predicted: Clause | str  # a code with operands; a text in older journals
    outcome: Outcome
    text: str | None = None  # in older journals
    why: Clause | None = None  # the outcome is open: a code with operands
    figure: Figure = "iops"
    unchanged: float | None = None
    changed: float | None = None
    ratio: float | None = None
    spread: float | None = None  # of the ratio, ±
