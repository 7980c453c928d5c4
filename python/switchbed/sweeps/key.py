"""A run's key: what its results depend on, and nothing else."""

import hashlib
import json
import secrets
from pathlib import Path
from typing import Any

from switchbed import inputs as files
from switchbed._native import SCHEMA_VERSION, Plan, __build__
from switchbed.prototype import sources


def of(plan: Plan) -> str:
    """Return the key of a run in the store: `inputs`, or a key of its own each time where the
    source of a Python scheme is unknown."""
    known = sources.known(json.loads(plan.scenario))
    return inputs(plan) if known else secrets.token_hex(16)


def inputs(plan: Plan) -> str:
    """A hash of the resolved scenario, of the content of the files that it names (where they
    are does not matter, nor does the title), and of the build."""
    scenario = json.loads(plan.scenario)
    # Results do not depend on the title.
    scenario.pop("title", None)
    for scheme in sources.schemes(scenario):
        if not sources.holds(file := scheme["params"]["file"]):
            # A file counts by content, wherever it lies.
            scheme["params"]["file"] = sources.digest(Path(file))
    for section, name in files.named(scenario):
        section[name] = files.digest(Path(section[name]))
    known = {"scenario": scenario, "build": __build__, "schema_version": SCHEMA_VERSION}
    # Half of SHA-256, 128 bits: collisions stay out of reach.
    return hashlib.sha256(_canonical(known).encode()).hexdigest()[:32]


def _canonical(value: dict[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
