"""Refusals that the theory's functions share."""

import math

from switchbed._native import Mistake


def positive(**values: float) -> None:
    """Each must be a finite number over 0."""
    for name, value in values.items():
        if not (value > 0 and math.isfinite(value)):
            raise Mistake(f"{name} is {value:g}: it must be more than 0")


def senders(n: int, least: int) -> None:
    if n < least:
        why = ": the analysis divides by N - 1" if least > 1 else ""
        raise Mistake(f"n is {n}: there must be at least {least} flows{why}")
