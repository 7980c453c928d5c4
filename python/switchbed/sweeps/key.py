"""A run's key: what its results depend on, and nothing else."""

import hashlib
import json
import secrets
from pathlib import Path
from typing import Any

from switchbed._native import SCHEMA_VERSION, Mistake, Plan, __build__
from switchbed.prototype import sources


def of(plan: Plan) -> str:
    """A hash of the resolved scenario, of the content of the files that it names (where they
    are does not matter, nor does the title), and of the build. Where the source of a scheme in
    Python is not known, no two keys are the same."""
    scenario = json.loads(plan.scenario)
    scenario.pop("title", None)
    if not sources.known(scenario):
        return secrets.token_hex(16)
    for scheme in sources.schemes(scenario):
        scheme["params"]["file"] = sources.digest(Path(scheme["params"]["file"]))
    for traffic in scenario["traffic"]:
        if "file" in traffic:
            traffic["file"] = _content(Path(traffic["file"]))
    known = {"scenario": scenario, "build": __build__, "schema_version": SCHEMA_VERSION}
    return hashlib.sha256(_canonical(known).encode()).hexdigest()[:32]


def _canonical(value: dict[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _content(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise Mistake(f"{path}: cannot be read: {error.strerror}") from error
