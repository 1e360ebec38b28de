"""Ansible inventories: through ansible-inventory, or a built-in reader if that is not installed."""
