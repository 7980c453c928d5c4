"""Runs from which a profile-guided build learns."""

import json

from switchbed.bench import train


def test_every_run_of_the_training_is_one_that_the_check_takes() -> None:
    plans = list(train.chosen())
    assert len(plans) >= len(train.CASES)
    seeds = {json.loads(plan.scenario)["run"]["seed"] for plan in plans}
    assert seeds == {train.SEED}, "a profile of the benchmarks themselves would be no test of it"
