"""From profile, hosts and choices to a plan. Pure."""
