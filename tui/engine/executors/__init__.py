"""Executors: how a step runs over its hosts, per host or as one MPI program."""

from __future__ import annotations
