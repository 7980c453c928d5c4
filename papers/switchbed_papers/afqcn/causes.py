"""What explains the claims of the AF-QCN paper that do not hold; see README.md."""

import tomllib
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from switchbed import library
from switchbed_papers.reproduce.causes import (
    COLOURS,
    claims_by,
    claims_read,
    main,
    panels,
    runs,
    table,
)
from switchbed_papers.reproduce.rows import number


def declared(_: Path) -> str:
    """Figures 6, 8 and 13 as they are judged, by what the paper leaves open."""

    def with_params(text: str) -> str:
        af_qcn = f'{{ name = "af-qcn", label = "af-qcn", params = {{ {text} }} }}'
        return f'compare.scheme=["qcn", {af_qcn}]'

    def weighted(text: str) -> str:
        one_to_four = "weights = [1, 2, 3, 4], "
        given = {
            "1:1:1:1": text,
            "1:2:3:4": one_to_four + text,
            "1:2:3:4, 2 KB": one_to_four + 'active_threshold = "2KB"',
        }
        schemes = [
            f'{{ name = "af-qcn", label = "{label}", params = {{ {params} }} }}'
            for label, params in given.items()
        ]
        return f"compare.scheme=[{', '.join(schemes)}]"

    figure_6 = {
        "as it is": (),
        "active from 2 KB": (with_params('active_threshold = "2KB"'),),
        "25 µs on each host's link, not 6.25": ("topology.delay=25us",),
        "α = 0.25": (with_params("alpha = 0.25"),),
    }
    figure_8 = {
        "as it is": (),
        "α = 0.25": (with_params("alpha = 0.25"),),
        "not signed": (with_params("signed = false"),),
        "a timer of 30 ms": ("reaction.timer_cycle=30ms",),
    }
    figure_13 = {
        "active from 20 KB": (weighted("alpha = 0.125"),),
        "active from 2 KB": (weighted('active_threshold = "2KB"'),),
        "… and α = 0.25": (weighted('active_threshold = "2KB", alpha = 0.25'),),
        "… and a hyper-active increase of 5 Mbps": (
            weighted('active_threshold = "2KB"'),
            "reaction.hyper_increase=5Mbps",
        ),
    }
    tables = [
        claims_by("afqcn", "fig6", figure_6, seeds=12),
        claims_by("afqcn", "fig8", figure_8, seeds=6),
        claims_by("afqcn", "fig13", figure_13, seeds=12),
    ]
    return "\n".join(tables)


def steadier(_: Path) -> str:
    """Figure 6 with half of the paper's α."""
    half = '{ name = "af-qcn", label = "af-qcn", params = { alpha = 0.0625 } }'
    settings = {"α = 0.0625": (f'compare.scheme=["qcn", {half}]',)}
    return claims_by("afqcn", "fig6", settings, seeds=12)


def bins(_: Path) -> str:
    """Table 1 as it is judged, and each size's flows alone, from the committed rows."""

    def alone(low: int) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
        of = {"kind": "below", "of": "af-qcn", "base": "qcn", "at": "every"}
        return lambda _: {**of, "metric": f"from_{low}_kb.mean_us"}

    names = {1: "1 to 10", 10: "10 to 100", 100: "100 to 1000", 1000: "over 1000"}
    readings = {f"flows of {name} KB alone": alone(low) for low, name in names.items()}
    return claims_read("afqcn", ["afqcn.table1"], {"all four": dict, **readings})


def weights(picture: Path) -> str:
    """Figure 13: rates of four flows of weights 1 to 4 through 950 Mbps."""
    figure, axes = panels("Figure 13: weights 1 : 2 : 3 : 4", 2)
    settings: dict[str, dict[str, Any]] = {
        "as it is": {},
        "active from 2 KB": {"active_threshold": "2KB"},
        "… α = 0.25": {"active_threshold": "2KB", "alpha": 0.25},
        "… Q_eq = 33 KB": {"active_threshold": "2KB", "q_eq": "33KB"},
        "… measured over 5 ms": {"active_threshold": "2KB", "t_s": "5ms"},
        "… β = 1": {"active_threshold": "2KB", "beta": 1.0},
        "… rounded up": {"active_threshold": "2KB", "rounding": "up"},
        "… hyper-active increase 5 Mbps": {
            "active_threshold": "2KB",
            "reaction.hyper_increase": "5Mbps",
        },
        "… that and α = 0.25": {
            "active_threshold": "2KB",
            "alpha": 0.25,
            "reaction.hyper_increase": "5Mbps",
        },
        "measured over 5 ms": {"t_s": "5ms"},
    }
    rows = []
    for name, sets in settings.items():
        params, others = _split(sets)
        scheme = {"name": "af-qcn", "params": {"weights": [1, 2, 3, 4]} | params}
        (run,) = runs("@afqcn-fig13", {"compare.scheme": [scheme]} | others)
        goodput = run.goodput.filter(run.goodput["time_s"] > 2)
        means = [
            number(goodput.filter(goodput["class"] == weight)["goodput_bps"].mean() or 0) / 1e6
            for weight in range(4)
        ]
        fair = [sum(means) * weight / 10 for weight in (1, 2, 3, 4)]
        off = [100 * (mean / due - 1) for mean, due in zip(means, fair, strict=True)]
        rows.append(
            [name, *(f"{value:.0f}" for value in means), *(f"{value:+.0f}" for value in off)]
        )
        index = {"as it is": 0, "active from 2 KB": 1}.get(name)
        if index is not None:
            for weight in range(4):
                one = goodput.filter(goodput["class"] == weight)
                axes[index].plot(one["time_s"], one["goodput_bps"] / 1e6, color=COLOURS[weight])
                axes[index].axhline(fair[weight], color=COLOURS[weight], linestyle=":")
            axes[index].set_title(name, fontsize="small")
            axes[index].set_xlabel("time (s)")
            axes[index].set_ylim(0, 500)
    axes[0].set_ylabel("goodput (Mbps)")
    figure.savefig(picture, metadata={"Software": None})
    head = [f"weight {weight}" for weight in (1, 2, 3, 4)]
    return table(["setting (Mbps, then % off)", *head, *(f"{name}, %" for name in head)], rows)


def short(picture: Path) -> str:
    """Table 1: short flows' mean FCT under QCN and AF-QCN, by size, three seeds."""
    figure, axes = panels("Table 1: short flows beside long ones", 2)
    settings: dict[str, dict[str, Any]] = {
        "as it is": {},
        "a limiter a connection": {"reaction.limiters": "flow"},
        "α = 0.25": {"alpha": 0.25},
        "not signed": {"signed": False},
        "rounded up": {"rounding": "up"},
        "active from 2 KB": {"active_threshold": "2KB"},
        "Q_eq = 33 KB": {"q_eq": "33KB"},
        "hyper-active increase 5 Mbps": {"reaction.hyper_increase": "5Mbps"},
        "messages 50 µs later": {"reaction.notification_delay": "50us"},
        "sizes cut at 10 MB": {"traffic.4.sizes": _sizes_up_to(10e6)},
    }
    edges = (1e3, 1e4, 1e5, 1e6, 1e12)
    rows: list[list[Any]] = []
    for name, sets in settings.items():
        params, others = _split(sets)
        common = {key: value for key, value in params.items() if key == "q_eq"}
        schemes = [{"name": "qcn", "params": common}, {"name": "af-qcn", "params": params}]
        ways = {
            "compare.scheme": schemes,
            "compare.seed": [1, 2, 3],
            "measure.goodput_every": "10ms",
        }
        means: dict[str, list[list[float]]] = {"qcn": [], "af-qcn": []}
        for run in runs("@afqcn-table1", ways | others):
            scheme = run.scenario["scheme"]["name"]
            flows = run.flows.drop_nulls("fct_s")
            parts = [
                flows.filter((flows["size_bytes"] >= low) & (flows["size_bytes"] < high))
                for low, high in pairwise(edges)
            ]
            means[scheme].append([1e3 * number(part["fct_s"].mean() or 0) for part in parts])
            if name == "as it is" and run.scenario["run"]["seed"] == 1:
                index = ("qcn", "af-qcn").index(scheme)
                for flow in range(4):
                    one = run.goodput.filter(run.goodput["class"] == flow)
                    axes[index].plot(
                        one["time_s"], one["goodput_bps"] / 1e9, color=COLOURS[flow], linewidth=0.7
                    )
                axes[index].set_title(scheme, fontsize="small")
                axes[index].set_xlabel("time (s)")
                axes[index].set_ylim(0, 6)
        mean = {s: [sum(v) / 3 for v in zip(*of, strict=True)] for s, of in means.items()}
        below = [
            [100 * (1 - b / a) for a, b in zip(x, y, strict=True)]
            for x, y in zip(means["qcn"], means["af-qcn"], strict=True)
        ]
        rows.append([name, *mean["qcn"]])
        rows[-1] += [
            f"{sum(v) / 3:.0f} ({min(v):.0f} to {max(v):.0f})" for v in zip(*below, strict=True)
        ]
    axes[0].set_ylabel("long flows (Gbps)")
    figure.savefig(picture, metadata={"Software": None})
    sizes = ("1 to 10 KB", "10 to 100", "100 to 1,000", "over 1 MB")
    head = [f"QCN, {size}, ms" for size in sizes]
    return table(["setting", *head, *(f"AF-QCN below, {size}, %" for size in sizes)], rows)


def _sizes_up_to(most_bytes: float) -> dict[str, Any]:
    """Table 1's sizes, cut there."""
    scenario = tomllib.loads((library.SCENARIOS / "afqcn-table1.toml").read_text())
    points = scenario["traffic"][4]["sizes"]["points"]
    kept = [size for size, _ in points if float(size.removesuffix("B")) <= most_bytes]
    return {"name": "pareto-cut", "points": [*points[: len(kept) - 1], [kept[-1], 1.0]]}


def _split(sets: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A scheme's parameters, and keys of the scenario."""
    keys = {key: value for key, value in sets.items() if "." in key}
    return {key: value for key, value in sets.items() if key not in keys}, keys


if __name__ == "__main__":
    main(__file__, [declared, steadier, bins, weights, short])
