"""Formulas of the papers as functions: each cites its equation and names its units.

`standard`: the threshold C·RTT·λ. `mqecn`: thresholds of given backlogged queues. `cedm`: queue
oscillations and thresholds with batching senders. `eecn`: how far ahead to look. `cqrd`: loss
condition and memory of crosspoint queues. `switchbed theory` prints the same; docs/theory.md
has the derivations.
"""

from switchbed.theory import cedm, cqrd, eecn, mqecn, standard

__all__ = ["cedm", "cqrd", "eecn", "mqecn", "standard"]
