"""Hosts beside hosts: one flow meets the same losses in this machine's kernel, in ns-3, in ns-2 and
simulated under the profile of each. `python -m evidence.hosts` runs it."""
