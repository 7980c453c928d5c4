"""Attempts to break the program, and changes that its tests must notice."""
