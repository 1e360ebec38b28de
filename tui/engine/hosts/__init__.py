"""Hosts that can be chosen: inventory, host keys, leftovers on them."""
