"""The standard threshold K = C·RTT·λ (Bai, Chen, Chen, Wu, NSDI 2016, equation 1)."""

from switchbed.theory.checks import positive

LAMBDAS = {"dctcp": 0.17, "ecn*": 1.0}
"""λ by transport: DCTCP's in theory (Alizadeh, Javanmard, Prabhakar: Analysis of DCTCP, SIGMETRICS
2011), and that of a sender that halves its window (Wu et al.: Tuning ECN for Data Center
Networks, CoNEXT 2012)."""


def bdp(rate_bps: float, rtt_s: float) -> float:
    """The bandwidth-delay product C·RTT in bytes."""
    positive(rate_bps=rate_bps, rtt_s=rtt_s)
    return rate_bps * rtt_s / 8


def threshold(rate_bps: float, rtt_s: float, lam: float) -> float:
    """C·RTT·λ in bytes (equation 1). Fields use more with DCTCP (65 packets at 10 Gbps) because
    hosts send bursts, which the theory behind λ = 0.17 leaves out."""
    positive(lam=lam)
    return bdp(rate_bps, rtt_s) * lam
