"""Images of a storage cluster that fio jobs access without the host's file system."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tui.model.plan import HostTask
from tui.workloads.fio.option_table import IN_A_FILE, TARGETS, table
from tui.workloads.fio.options import JobOptions, jobs_of_job_file

NAMED_BY = ("image", "rbdname", "uri")  # vitastor, rbd, nbd: these can be written from begin to end
OF_ANY_ENGINE = ("ioengine", "thread")  # what an engine is reached by beside its own options


@dataclass(frozen=True, slots=True)
class Image:
    """An image, and the options that identify it in a job: engine, pool, cluster, ..., in order."""

    name: str
    options: tuple[tuple[str, str], ...]


def images_used(jobs: Iterable[JobOptions]) -> list[str]:
    """Return the images that jobs read or write, without duplicates."""
    named = (
        image_name(job) for job in jobs if job.fileless and not job.harmless and not job.on_objects
    )
    return list(dict.fromkeys(name for name in named if name))


def image_name(job: JobOptions) -> str | None:
    """Return a job's name of its image, pool or URL; None if it has none."""
    return next(filter(None, map(job.get, TARGETS.get(job.engine, IN_A_FILE))), None)


def has_images(task: HostTask) -> bool:
    """Return whether a task uses images, which can be filled; pools and buckets cannot."""
    return bool(task.images_used) and bool(_of_job_file(task.job_file))


def images_of(tasks: Sequence[HostTask]) -> dict[str, list[Image]]:
    """Return the images that tasks use, by host.

    A shared image belongs to the first host only.
    """
    seen: set[Image] = set()
    found: dict[str, list[Image]] = {}
    for task in tasks:
        for image in _of_job_file(task.job_file) if task.images_used else ():
            if image not in seen:
                seen.add(image)
                found.setdefault(task.host, []).append(image)
    return found


def _of_job_file(text: str) -> list[Image]:
    """Return the images of a job file of ours."""
    of_all: dict[str, object] = table()["options"]
    found: list[Image] = []
    for job in jobs_of_job_file(text):
        name = next(filter(None, map(job.get, NAMED_BY)), None)
        kept = tuple(
            (key, value)
            for key, value in job.own.items()
            if key not in of_all or key in OF_ANY_ENGINE
        )
        found += [Image(name, kept)] if name else []
    return found
