"""One run of one scenario, measured from inside: `python -m switchbed.bench FILE
[KEY=VALUE…]`."""

import json
import resource
import sys

from switchbed._native import Progress, plans

KIB = 1024
"""Linux gives the peak of resident memory in KiB."""


def cpu_s() -> float:
    """Processor time of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Prints the measurements as JSON. Processor time covers building the network and
    running it; peak memory is the whole process's, the interpreter's 10 MB included."""
    (plan,) = plans(sys.argv[1], sys.argv[2:])
    begin = cpu_s()
    results = plan.run(Progress())
    assert results is not None, "nobody cancels it"
    spent = cpu_s() - begin
    summary = json.loads(results.summary)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB
    hops = summary["packet_hops"]
    found = {
        "ns_per_packet_hop": spent * 1e9 / hops if hops else None,
        "packet_hops": hops,
        "events": summary["events"],
        "cpu_s": spent,
        "peak_rss_bytes": peak,
        "threads": 1,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)  # who started it has had the signal, too
