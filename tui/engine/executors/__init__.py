"""Executors run a step on its hosts: one command per host, or one MPI program."""

from __future__ import annotations
