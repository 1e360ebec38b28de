"""What screens have done outside of themselves: hosts, engines, editors."""
