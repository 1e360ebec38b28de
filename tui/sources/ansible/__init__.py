"""Inventories of Ansible: through ansible-inventory, or read here where that is not installed."""
