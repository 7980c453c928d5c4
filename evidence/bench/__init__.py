"""Costs of runs in time, instructions and memory."""
