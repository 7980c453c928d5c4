"""What submitit calls of Slurm, for tests: jobs are processes of this machine. Named sbatch, srun,
sacct, scancel and scontrol on PATH, it keeps in $FAKE_SLURM what was asked, a script, pids and
exit codes of jobs."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

HOME = Path(os.environ["FAKE_SLURM"])
ID = "77"


def sbatch(script: str) -> None:
    """Starts every job of an array, or the only one."""
    text = Path(script).read_text()
    number = str(int(ID) + len(list(HOME.glob("*.sh"))))
    (HOME / f"{number}.sh").write_text(text)
    array = re.search(r"--array=0-(\d+)", text)
    for task in range(int(array[1]) + 1) if array else [None]:
        begin(number, None if task is None else str(task))
    print(f"Submitted batch job {number}")


def begin(number: str, task: str | None) -> None:
    """A job as a process group of its own, which leaves its exit code."""
    name = number if task is None else f"{number}_{task}"
    slurm = {"SLURM_JOB_ID": number, "SLURM_JOB_NAME": name}
    if task is not None:
        slurm |= {"SLURM_ARRAY_JOB_ID": number, "SLURM_ARRAY_TASK_ID": task}
    # Of this process: one that has asked to begin again still has to end.
    command = f"bash {HOME / number}.sh; echo $? > {HOME / name}.$$.code"
    with (HOME / f"{name}.log").open("ab") as log:
        job = subprocess.Popen(
            ["sh", "-c", command],
            env={**os.environ, **slurm},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    (HOME / f"{name}.pid").write_text(str(job.pid))


def srun(*arguments: str) -> None:
    """Becomes the command."""
    command = list(arguments)
    while command[0].startswith("--"):
        del command[: 2 if command[0] in ("--output", "--error") else 1]
    os.execvp(command[0], command)


def sacct(*_: str) -> None:
    """Every job's state."""
    print("JobID|State|NodeList")
    for pid in HOME.glob("*.pid"):
        number = pid.read_text()
        code = HOME / f"{pid.stem}.{number}.code"
        if code.exists() and (ended := code.read_text().strip()):
            state = "COMPLETED" if ended == "0" else "FAILED"
        else:
            state = "RUNNING" if Path(f"/proc/{number}").exists() else "NODE_FAIL"
        print(f"{pid.stem}|{state}|here")


def scancel(*jobs: str) -> None:
    """Kills them, arrays whole."""
    (HOME / "cancelled").write_text(" ".join(jobs))
    for job in jobs:
        for pid in [*HOME.glob(f"{job}.pid"), *HOME.glob(f"{job}_*.pid")]:
            try:
                os.killpg(int(pid.read_text()), signal.SIGKILL)
            except ProcessLookupError:
                continue


def scontrol(verb: str, job: str) -> None:
    """Starts a job again."""
    assert verb == "requeue"
    with (HOME / "requeued").open("a") as requeued:
        print(job, file=requeued)
    number, _, task = job.partition("_")
    begin(number, task or None)


if __name__ == "__main__":
    globals()[Path(sys.argv[0]).name](*sys.argv[1:])
