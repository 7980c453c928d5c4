"""A run of a scheme in Python: in a process of its own, so that many runs use many cores, and
one that hangs, or a Ctrl-C, ends at once. Only classes that no file holds run in this one."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection

from switchbed import signals
from switchbed._native import Mistake, Panic, Plan, Progress, Results
from switchbed.prototype import load, sources

TICK_S = 0.1
"""How often a run looks whether it is cancelled."""
INSIDE = "SWITCHBED_PROTOTYPE"
"""Set in the environment of such a process."""


def run(plan: Plan, track: Progress) -> Results:
    """Runs it and keeps `track` up to date. Raises `CancelledError` once that is cancelled."""
    if not sources.known(json.loads(plan.scenario)):
        return _here(plan, track)
    found = _ask(plan, track, checking=False)
    assert found is not None, "a run has results"
    return found


def read(plans: Sequence[Plan]) -> bool:
    """Whether any has a scheme in Python: its file is parsed, and nothing of it is executed. Raises
    what is wrong as far as its text tells."""
    found = False
    for plan in plans:
        for scheme in sources.schemes(json.loads(plan.scenario)):
            found = True
            sources.parsed(scheme["params"])
    return found


def check(plans: Sequence[Plan]) -> None:
    """Makes the ports of each as a run would, of plans that share their schemes in Python one, and
    no more. Raises what a run would."""
    of_each = {json.dumps(sources.schemes(json.loads(plan.scenario))): plan for plan in plans}
    for schemes, plan in of_each.items():
        if schemes != "[]":
            _ask(plan, Progress(), checking=True)


def _ask(plan: Plan, track: Progress, *, checking: bool) -> Results | None:
    """Run or check the plan in a process of its own, and return its results."""
    if INSIDE in os.environ:
        raise Mistake(
            "the file of a scheme runs a simulation as it is imported: "
            'put that under if __name__ == "__main__":'
        )
    ours, theirs = Pipe()
    with ours:
        with theirs:
            child = _start(theirs)
        try:
            ours.send((plan, plan.scenario, checking))
            return _follow(ours, track)
        except (EOFError, ConnectionError):
            raise Panic(f"the process of the run ended early: {_ending(child)}") from None
        finally:
            child.kill()
            child.wait()


def _here(plan: Plan, track: Progress) -> Results:
    """In this process: another one does not have the class. The thread holds the interpreter, and
    lets the others have it as Python does, between two instructions of the class."""
    try:
        results = plan.run(track, load.make)
    except (Mistake, Panic):
        raise
    except Exception as error:
        raise load.explain(error, []) from error
    if results is None:
        raise signals.CancelledError
    return results


def _start(pipe: Connection) -> subprocess.Popen[bytes]:
    """The process at the other end of the pipe. A group of its own keeps a terminal's Ctrl-C
    from it: we end it. What a class prints goes to standard error, since results go to standard
    output; sets of texts iterate in the same order each time."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "switchbed.prototype.worker", str(pipe.fileno())],
        pass_fds=[pipe.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=2,
        process_group=0,
        env=os.environ | {"PYTHONHASHSEED": "0", INSIDE: "1"},
    )


def _follow(pipe: Connection, track: Progress) -> Results | None:
    while not track.cancelled:
        if not pipe.poll(TICK_S):
            continue
        match pipe.recv():
            case "counts", value:
                track.tell(value)
            case "results", Results() as results:
                return results
            case "checked", _:
                return None
            case "mistake", text:
                raise Mistake(text)
            case _, text:
                raise Panic(text)
    raise signals.CancelledError


def _ending(child: subprocess.Popen[bytes]) -> str:
    try:
        code = child.wait(1)
    except subprocess.TimeoutExpired:
        return "it closed its pipe"
    return f"killed by signal {-code}" if code < 0 else f"exit code {code}"
