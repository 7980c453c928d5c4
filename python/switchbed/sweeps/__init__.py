"""Sweeps: parameters × seeds, kept in a directory (`store`), run once each (`key`) by threads,
Ray or Slurm (`engine`), until intervals are narrow (`stopping`), asked with SQL (`query`)."""
