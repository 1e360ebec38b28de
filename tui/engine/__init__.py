"""Plan building, preflight, phases, barrier, journal, the run process and its control socket."""
