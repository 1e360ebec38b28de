"""The Result page as lines: headline, figures, chart, what is doubtful, what is left behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tui.app.screens.live.operations_text import result_lines
from tui.app.screens.result.matrix import Matrix, matrix_lines
from tui.app.screens.result.published_text import hint_lines, published_lines
from tui.app.widgets.graph_panels import KEYS
from tui.metrics import registry, units
from tui.metrics.figures import latency_of, shown_percentile
from tui.metrics.registry import METRICS, meaning
from tui.model.plan import Headline
from tui.results.matrix.cells import invalid_steps, step_figure
from tui.results.text.conditions import attest_texts, precondition_texts, step_label
from tui.text.facts import common_lines, differing_lines
from tui.text.line import LABEL, TEXT, VALUE, Line, Run, clip, fit, labelled, rule, spread

if TYPE_CHECKING:
    from tui.model.record import HeadlineRecord, RunRecord
    from tui.model.step_record import AggregateRecord, DirectionRecord, ProofRecord, StepRecord
    from tui.results.baselines.text import View
    from tui.results.text.chart import ChartMetric

NARROW = 100
LATENCIES = (("50", "p50"), ("95", "p95"), ("99", "p99"), ("99.5", "p99.5"), ("99.9", "p99.9"))
STATES = {"complete": "badge-good", "partial": "badge-warn", "aborted": "badge-warn", "failed": "badge-bad"}
METRIC_KEYS = (("iops", "i", "IOPS"), ("bandwidth", "b", "bandwidth"), ("latency", "l", "latency"))


@dataclass(frozen=True, slots=True)
class Page:
    """What is shown: the record, where it is, which step and which chart."""

    record: RunRecord
    path: Path
    step: int = 0
    metric: ChartMetric = "iops"
    big: bool = True  # the terminal can show box characters
    published: View | None = None  # the run beside published figures, when its profile has some
    compares: bool = False  # show that instead of the run's own figures
    matrix: Matrix | None = None  # of sweeps, suites, repetitions
    inside: bool = True  # show one step; else the matrix
    job: str | None = None  # that was chosen; steps that have no such job show all
    colors: bool = True  # the terminal tells curves apart by colour

    @property
    def shown_step(self) -> StepRecord | None:
        """The step whose figures are shown."""
        steps = self.record.steps
        return steps[min(self.step, len(steps) - 1)] if steps else None

    @property
    def jobs(self) -> list[str]:
        """The jobs of the shown step, where there are several."""
        step = self.shown_step
        return list(step.results.jobs or ()) if step is not None and self.shown_matrix is None else []

    @property
    def shown_job(self) -> str | None:
        """The job that is shown alone; None: all together."""
        return self.job if self.job in self.jobs else None

    @property
    def all_hosts(self) -> Mapping[str, AggregateRecord]:
        """What is shown over all hosts, by direction: of all jobs or one."""
        if self.shown_step is None:
            return {}
        results = self.shown_step.results
        return results.aggregate if self.shown_job is None else (results.jobs or {})[self.shown_job]

    @property
    def by_host(self) -> Mapping[str, Mapping[str, DirectionRecord]]:
        """What is shown of each host, by direction: of all jobs or one."""
        if self.shown_step is None:
            return {}
        results = self.shown_step.results
        if self.shown_job is None:
            return results.per_host
        return {host: dirs for host, jobs in (results.per_job or {}).items() if (dirs := jobs.get(self.shown_job))}

    @property
    def shown_matrix(self) -> Matrix | None:
        """The matrix, when that is what the page shows."""
        return None if self.inside or self.compares else self.matrix

    @property
    def shown_headline(self) -> HeadlineRecord | None:
        """The run's headline; of a step of a matrix, its cell's; none of a suite."""
        matrix, step = self.record.matrix, self.shown_step
        if matrix is None or self.matrix is None or not self.inside or step is None:
            return self.record.headline
        return next((cell.headline for cell in matrix.cells if step.index in cell.steps), self.record.headline)


def page_lines(page: Page, width: int, chart_height: int) -> list[Line]:
    """Return the whole page."""
    if page.compares:
        return [*head(page, width), Line(), *published_lines(page.published, page.record.profile.tag, width)]
    lines = [*head(page, width), *headline(page, width), *proved(page.record.proves, width), Line()]
    lines += hint_lines(page.published, width)
    if page.shown_matrix is not None:
        lines += [*matrix_lines(page.shown_matrix, width, chart_height), Line(), *problems(page, width)]
        return [*lines, *facts(page, width)]
    lines += [*problems(page, width), *steps(page, width), *figures(page, width), Line()]
    if page.shown_step is None or page.shown_step.metadata is None:  # it has no samples to draw
        lines += chart_lines(page, width, chart_height)
    return [*lines, *hosts(page, width), *load(page, width), *facts(page, width)]


def head(page: Page, width: int) -> list[Line]:
    """Return state, profile and time; hosts and target."""
    record = page.record
    badge = (f" {record.state.upper()} ", STATES.get(record.state, "badge"))
    when = (record.created_utc or "start unknown").replace("T", " ")[:19]
    left: list[Run] = [badge, (" ", TEXT), (record.profile.tag, "title")]
    room = width - Line(tuple(left)).width - len(when) - 7
    title = f"  {record.profile.title}" if record.profile.title else ""
    first = spread([*left, (title if len(title) <= room else "", TEXT)], [(f"{when} UTC", LABEL)], width)
    count = len(record.hosts)
    parts = [f"{count} host{'s' if count != 1 else ''}", record.target or "", units.duration(record.duration_s)]
    parts += [f"{name}={value}" for name, value in record.profile.changed.items()]
    return [Line.of(*first), Line.of(*clip([(" · ".join(part for part in parts if part), LABEL)], width))]


def headline(page: Page, width: int) -> list[Line]:
    """Return the headline figure in large digits, with what it is and how the run is judged beside it."""
    record, found = page.record, page.shown_headline
    if found is None and page.shown_matrix is not None:
        return [Line.of(*judgement(record))]  # a suite: each row has its own
    number, unit, what = headline_parts(page)
    key = KEYS.get(found.direction if found else "", "read")
    if page.shown_matrix is not None and found is not None and found.step is not None:
        what += f"  best of {len(page.shown_matrix.cells)}: {best_name(page)}"
    limiter = page.shown_step.limiter if page.shown_step is not None and page.shown_matrix is None else None
    limited: list[Run] = [("   limited by ", LABEL), (limiter.text, TEXT)] if limiter is not None else []
    if not page.big:
        first = Line.of((number, VALUE), (" ", TEXT), (unit, VALUE), ("  ", TEXT), (what, TEXT))
        return [first, *labelled([], judgement(record), width)]
    digits = big_digits(number)
    judged, rest = judged_beside(record, width - len(digits[0]) - 3)
    beside: list[list[Run]] = [[(what, TEXT)], judged, [(unit, VALUE), *limited]]
    rows = zip(digits, beside, strict=True)
    lines = [Line.of(*clip([(" " + text, key), ("  ", TEXT), *said], width)) for text, said in rows]
    return [*lines, *(labelled([(" ", TEXT)], rest, width) if rest else [])]


def is_limiter_whole(page: Page, width: int) -> bool:
    """Tell whether the limiter stands beside the large digits without a cut."""
    step = page.shown_step
    if not page.big or page.shown_matrix is not None or step is None or step.limiter is None:
        return False
    number, unit, _ = headline_parts(page)
    beside = f"{unit}   limited by {step.limiter.text}"
    return len(big_digits(number)[0]) + 3 + len(beside) <= width


def judged_beside(record: RunRecord, room: int) -> tuple[list[Run], list[Run]]:
    """Return as many whole parts of the judgement as there is room for, and the others."""
    (mark, key), (text, _) = judgement(record)
    parts = text.split("; ")
    kept = next((n for n in range(len(parts), 1, -1) if len(mark) + len("; ".join(parts[:n])) <= room), 1)
    rest = "; ".join(parts[kept:])
    return [(mark, key), ("; ".join(parts[:kept]), key)], [(rest, LABEL)] if rest else []


def best_name(page: Page) -> str:
    """Return the point of a matrix that the headline comes from."""
    step, matrix = page.record.headline.step if page.record.headline else None, page.shown_matrix
    return next((cell.name for cell in matrix.cells if step in cell.steps), "") if matrix is not None else ""


def headline_parts(page: Page) -> tuple[str, str, str]:
    """Return number, unit and meaning of the figure the profile is about: ``390``, ``k IOPS``, ``read``."""
    found = page.shown_headline
    if found is None:
        return "–", "", "no headline"
    few = found.behind is not None and found.behind < units.TAIL_SAMPLES and found.value is not None
    number, unit = METRICS[found.metric].split(units.Few(found.value or 0) if few else found.value)
    what = meaning(found)
    return number, unit, what if found.value is not None else f"{what} was not measured"


def judgement(record: RunRecord) -> list[Run]:
    """Return how the run ended, what was checked and what was found."""
    from tui.results.text.judged import checks_text

    words = {"complete": ("every host has a final result", "good" if record.verdict in ("valid", None) else "warn")}
    text, key = words.get(record.state, (record.reason or f"the run is {record.state}", "warn"))
    if record.state == "failed" or record.verdict == "invalid":
        key = "bad"
    text = "; ".join(part for part in (checks_text(record), text) if part)
    return [("✓ " if key == "good" else "! " if key == "warn" else "✗ ", key), (text, key)]


def big_digits(text: str) -> list[str]:
    """Return a number as three rows of box characters."""
    from textual.renderables.digits import DIGITS, DIGITS3X3_BOLD

    rows = ["", "", ""]
    for character in text:
        place = DIGITS.find(character)
        for row in range(3):
            glyph = DIGITS3X3_BOLD[place * 3 + row].ljust(3) if place > 0 else (character if row == 2 else " ")
            rows[row] += "." if character == "." and row == 2 else " " if character == "." else glyph
    return rows


# -- figures


def columns(width: int) -> tuple[int, str]:
    """Return the width of a latency column, and the titles of all columns."""
    cell = 9 if width >= NARROW else 7
    titles = "".join(f"{title:>{cell}}" for title in ("mean", *(title for _, title in LATENCIES), "max"))
    return cell, f"{'IOPS':>6}{'BW':>{12 if width >= NARROW else 11}}{titles}"


def row(result: DirectionRecord, direction: str, kind: str, width: int) -> str:
    """Return the figures of one direction in fixed columns."""
    cell, _ = columns(width)
    latency = latency_of(result, direction, kind)
    values: list[float | None] = [None] * (len(LATENCIES) + 2)
    if latency is not None:
        values = [latency.mean_ns, *(shown_percentile(latency, float(key)) for key, _ in LATENCIES), latency.max_ns]
    joint = " " if cell == 9 else ""
    cells = "".join(f"{joint.join(units.latency_parts(value)).rstrip():>{cell}}" for value in values)
    rate = units.bandwidth(result.bw_bytes_per_s) if registry.direction(direction).moves_data else ""
    return f"{units.iops(result.iops):>6}{rate:>{12 if cell == 9 else 11}}{cells}"


def figures(page: Page, width: int) -> list[Line]:
    """Return one line a direction over all hosts, and what must be known to read it right."""
    step = page.shown_step
    if step is not None and step.metadata is not None:
        return result_lines(step.metadata, width)
    _, titles = columns(width)
    kind = page.record.latency_kind if step is None else page.record.latency_kind_of(step)
    short = "Job" if page.shown_job else "All"
    title = f"{page.shown_job or 'All hosts'}, {kind}" if width >= NARROW else f"{short} {kind}"
    room = width - len(titles)
    lines = [*job_lines(page, width), rule(fit(title, max(room - 2, 4)).rstrip(), titles, width)]
    if step is None or not page.all_hosts:
        return [*lines, Line.of(("nothing was measured", LABEL))]
    for direction in registry.in_order(page.all_hosts):
        text = row(page.all_hosts[direction], direction, kind, width)
        lines.append(Line.of((fit(direction, room), KEYS.get(direction, TEXT)), (text, VALUE)))
    return [*lines, *remarks(page, step, kind, width)]


def job_lines(page: Page, width: int) -> list[Line]:
    """Return which of several jobs is shown."""
    jobs, shown = page.jobs, page.shown_job
    if len(jobs) < 2:
        return []
    text = f"all {len(jobs)} jobs: " if shown is None else f"job {jobs.index(shown) + 1} of {len(jobs)}: "
    return [Line.of(*clip([("J", "accent"), (f" {text}", LABEL), (shown or ", ".join(jobs), VALUE)], width))]


def remarks(page: Page, step: StepRecord, kind: str, width: int) -> list[Line]:
    """Return what the aggregate hides: hosts that did not measure all the time, figures made from samples."""
    from tui.results.record.step import measured_s
    from tui.results.text.judged import is_short, length_text, submission_text

    mark: Run = ("! ", "warn") if is_short(step) else ("  ", LABEL)
    length = length_text(measured_s(page.all_hosts), step.runtime_s)
    lines = [Line.of(mark, (length, LABEL))] if length else []
    if step.limiter is not None:
        if step.limiter.proof is not None or not is_limiter_whole(page, width):
            lines += labelled([("  ", LABEL)], [(f"limited by {step.limiter.text}", LABEL)], width)
        lines += proved(step.limiter.proof, width)
    if wait := submission_text(step, kind):
        lines.append(Line.of(("! " if kind == "clat" else "  ", "warn"), (wait, LABEL)))
    for direction, result in page.all_hosts.items():
        if result.iops and result.iops_window is not None and abs(result.iops_window / result.iops - 1) > 0.01:
            seconds = result.interval.end_s - result.interval.start_s if result.interval else 0.0
            rate = units.iops(result.iops_window)
            text = f"{direction}: {rate} IOPS in the {seconds:.0f} s in which all hosts measured"
            lines.append(Line.of(("! ", "warn"), (text, LABEL)))
    if any(result.from_samples for dirs in page.by_host.values() for result in dirs.values()):
        lines.append(Line.of(("! ", "warn"), ("~ rebuilt from samples: the tool gave no result there", LABEL)))
    return lines


def proved(proof: ProofRecord | None, width: int) -> list[Line]:
    """Return what a counter-experiment said; nothing when there was none."""
    if proof is None:
        return []
    mark, key = {"agreed": ("✓ ", "good"), "disagreed": ("! ", "warn")}.get(proof.outcome, ("· ", LABEL))
    return labelled([(mark, key)], [(f"counter-experiment {proof.text}", LABEL)], width)


def steps(page: Page, width: int) -> list[Line]:
    """Return one line a step when there are several, the shown one marked."""
    found = page.record.steps
    if len(found) < 2:
        return []
    metric, wrong = page.shown_headline, invalid_steps(page.record)
    back = "   Esc matrix" if page.matrix is not None else ""
    lines = [rule("Steps", f"{page.step + 1} of {len(found)}   [ ] choose{back}", width)]
    here_cell = page.shown_step.cell if page.shown_step is not None and page.matrix is not None else None
    for step in found:
        if here_cell is not None and step.cell != here_cell:
            continue
        here = step.index == page.step
        about = Headline(metric.metric, metric.direction, metric.percentile) if metric is not None else None
        figure = METRICS[metric.metric if metric else "iops"].with_unit(step_figure(page.record, step, about))
        said: Run = (f"✗ {figure}", "bad") if step.index in wrong else (figure, TEXT)
        if step.warmup and step.state == "skipped":
            continue  # a round that was not needed
        name = "  ".join(part for part in (step.name, step_label(page.record, step)) if part)
        runs = spread([("› " if here else "  ", "accent"), (name, VALUE if here else TEXT)], [said], width)
        lines.append(Line.of(*runs, fill="cursor" if here else ""))
    return [*lines, Line()]


def hosts(page: Page, width: int) -> list[Line]:
    """Return a line a host and direction, the direction named where there are two."""
    step, found = page.shown_step, page.by_host
    if step is None or not found:
        return []
    _, titles = columns(width)
    room = width - len(titles)
    several = len(page.all_hosts) > 1
    lines = [Line(), rule("Hosts" if room < 20 else "By host", titles, width)]
    longest = max(len(name) for name in found)
    for name, dirs in found.items():
        shown = [direction for direction in registry.in_order(dirs) if direction != "mixed" or len(dirs) == 1]
        split = {direction: dirs[direction] for direction in shown}
        for place, (direction, result) in enumerate(split.items()):
            tag = f" {direction[0]}" if several else ""
            mark = "~" if result.from_samples else ""
            label = fit((name if not place or not several else "") + mark, min(longest + 1, room - len(tag)))
            text = row(result, direction, page.record.latency_kind_of(step), width)
            runs: list[Run] = [(label, TEXT), (fit(tag, room - len(label)), KEYS.get(direction, TEXT)), (text, TEXT)]
            lines.append(Line.of(*runs))
    return lines


def load(page: Page, width: int) -> list[Line]:
    """Return what the hosts of a step did meanwhile; what is too long for a line goes on below."""
    from tui.results.text.host_load import load_table

    found = load_table(page.shown_step, "clients") if page.shown_step is not None else []
    lines = [Line(), rule("Load", "mean/largest, while it was measured", width)] if found else []
    for line in found:
        short = line.width <= width
        lines += [line] if short else labelled(line.runs[:-1], [line.runs[-1]], width, None if line.runs[1:] else 2)
    return lines


# -- the chart


def chart_lines(page: Page, width: int, height: int) -> list[Line]:
    """Return the chart of the shown step with its heading."""
    from tui.results.text.chart import chart

    keys: list[Run] = []
    for metric, key, name in METRIC_KEYS:
        here = metric == page.metric
        keys += [("  " if keys else "", TEXT), (key, "accent"), (f" {name}", VALUE if here else LABEL)]
    title = "Over time" if page.shown_job is None else "Over time, all jobs"
    first = spread([(title, "title"), (" ", TEXT)], [(" ", TEXT), *keys], width, "─", "faint")
    step = page.shown_step
    index = step.index if step else None
    found = chart(page.record, page.metric, width, height, step=index, coloured=page.colors)
    return [Line.of(*first), *found]


# -- problems and facts


def problems(page: Page, width: int) -> list[Line]:
    """Return problems of hosts and findings; nothing when there is none."""
    from tui.results.text.findings import MARKS, brief_lines

    lines: list[Line] = []
    count = sum(len(host.problems) for host in page.record.hosts) + len(page.record.findings)
    for host in page.record.hosts:
        for problem in host.problems:
            mark, key = MARKS["error" if problem.fatal else "warning"]
            lines += labelled([(f"{mark} ", key)], [(f"{host.name}  {problem.message} ({problem.code})", TEXT)], width)
    lines += brief_lines(page.record.findings, width)
    keys: list[Run] = [(f" {count}  ", LABEL), ("f", "accent"), (" explains", LABEL)]
    head = spread([("Findings", "title"), (" ", TEXT)], keys, width, "─", "faint")
    return [Line.of(*head), *lines, Line()] if lines else []


def facts(page: Page, width: int) -> list[Line]:
    """Return notes, tags, changed parameters, what the hosts are, files left behind, and where the record is."""
    from tui.results.record.facts import facts_together

    record = page.record
    lines: list[Line] = []
    changed = ", ".join(f"{name}={value}" for name, value in record.profile.changed.items())
    tags = ", ".join(f"{name}={value}" for name, value in record.tags.items())
    versions = ", ".join(sorted(set(record.provenance.tool_versions.values())))
    sections = [("Changed", changed), ("Tags", tags), ("Tool", versions)]
    sections += [("Note", note.text) for note in record.notes]
    sections += [("Prepared", text) for text in precondition_texts(record)]
    sections += [("Attested", text) for text in attest_texts(record)]
    lines += [line for name, text in sections if text for line in fact(name, text, width)]
    found = facts_together(record)
    for label, runs in (*common_lines(found), *differing_lines(found)):
        lines += labelled([(f"{label.capitalize():<9}", LABEL)], runs, width)
    for host in record.hosts:
        if host.files_left is not None:
            size = f" ({units.size(host.files_left.bytes)})" if host.files_left.bytes else ""
            lines += fact("Left", f"{host.name}{size}  {', '.join(host.files_left.paths)}", width)
    lines += fact("Record", str(page.path), width)
    return [Line(), rule("About this run", "y copies the path", width), *lines]


def fact(name: str, text: str, width: int) -> list[Line]:
    """Return a labelled text, wrapped under itself."""
    return labelled([(f"{name:<9}", LABEL)], [(text, TEXT)], width)
