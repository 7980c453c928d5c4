"""`switchbed calibrate`: a switch's counters beside the simulated switch of its configuration."""
