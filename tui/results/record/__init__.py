"""Building run.json from plan and journal."""
