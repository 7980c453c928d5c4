"""Sweeps: parameters × seeds, kept in a directory (`archive`), run once each (`key`), until
intervals are narrow (`stopping`), asked with SQL (`query`)."""
