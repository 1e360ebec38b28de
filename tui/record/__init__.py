"""Build the record of a run (run.json) from its plan and journal."""
