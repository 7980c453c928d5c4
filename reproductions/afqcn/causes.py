"""What explains the claims of the AF-QCN paper that do not hold; see README.md."""

from pathlib import Path
from typing import Any

from switchbed.reproduce.causes import COLOURS, main, panels, runs, table

SCENARIOS = Path(__file__).parents[2] / "scenarios"


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
        (run,) = runs(SCENARIOS / "afqcn-fig13.toml", {"compare.scheme": [scheme]} | others)
        goodput = run.goodput.filter(run.goodput["time_s"] > 2)
        means = [
            float(goodput.filter(goodput["class"] == weight)["goodput_bps"].mean() or 0) / 1e6
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


def shares(picture: Path) -> str:
    """Figure 8: samples of 40 flows over their fair share."""
    figure, axes = panels("Figure 8: samples of 10 ms over the fair share", 2)
    settings: dict[str, dict[str, Any]] = {
        "as it is": {},
        "Q_eq = 33 KB": {"q_eq": "33KB"},
        "α = 0.25": {"alpha": 0.25},
        "not signed": {"signed": False},
        "rounded up": {"rounding": "up"},
        "active from 2 KB": {"active_threshold": "2KB"},
        "hyper-active increase 5 Mbps": {"reaction.hyper_increase": "5Mbps"},
    }
    rows = []
    for name, sets in settings.items():
        params, others = _split(sets)
        scheme = {"name": "af-qcn", "params": params}
        (run,) = runs(SCENARIOS / "afqcn-fig8.toml", {"compare.scheme": [scheme]} | others)
        line = []
        for since in (0.5, 2.0):
            found = run.goodput.filter(run.goodput["time_s"] > since)
            share = (found["goodput_bps"] / found["fair_bps"]).drop_nulls().sort()
            line.append(100 * float((share - 1).abs().le(0.25).mean() or 0))
        low = 100 * float((share < 0.75).mean() or 0)
        rows.append([name, *line, low, 100 - line[-1] - low])
        if name in ("as it is", "α = 0.25"):
            index = ("as it is", "α = 0.25").index(name)
            parts = [(i + 1) / len(share) for i in range(len(share))]
            axes[0].plot(share, parts, color=COLOURS[index], label=name)
            farthest = min(range(40), key=lambda flow: _mean(run, flow))
            one = run.goodput.filter(run.goodput["class"] == farthest)
            axes[1].plot(one["time_s"], one["goodput_bps"] / 1e6, color=COLOURS[index])
    for edge in (0.75, 1.25):
        axes[0].axvline(edge, color="grey", linewidth=0.8)
    axes[0].set_xlim(0, 2)
    axes[0].set_xlabel("rate over the fair share")
    axes[0].legend(frameon=False, fontsize="small")
    axes[1].axhline(250, color="grey", linewidth=0.8)
    axes[1].set_ylim(0, 500)
    axes[1].set_xlabel("time (s)")
    axes[1].set_ylabel("slowest flow (Mbps)")
    figure.savefig(picture, metadata={"Software": None})
    head = ["within 25 %, from 0.5 s", "from 2 s", "below, from 2 s", "above"]
    return table(["setting (% of samples)", *head], rows)


def _split(sets: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A scheme's parameters, and keys of the scenario."""
    keys = {key: value for key, value in sets.items() if "." in key}
    return {key: value for key, value in sets.items() if key not in keys}, keys


def _mean(run: Any, flow: int) -> float:
    return float(run.goodput.filter(run.goodput["class"] == flow)["goodput_bps"].mean() or 0)


if __name__ == "__main__":
    main(__file__, [weights, shares])
