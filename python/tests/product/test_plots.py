"""`switchbed plot`: every kind draws what was measured, the same bytes twice, and says what it
lacks."""

import contextlib
import inspect
import math
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import SINGLE, SWEEP, Program

import switchbed as sb
from switchbed import stats
from switchbed.cli import cli
from switchbed.plots import cdf, fct, heatmap, output, queue, shares, sizes, style, utilisation
from switchbed.plots.command import plot as plotted
from switchbed.plots.methods import Plots
from switchbed.run import Request, execute
from switchbed.series import links, looks, maps, queues, runs
from switchbed.series.comparison import Curve, Point, unit_of


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[sb.Result]:
    """Two schemes, two loads, two seeds, with series and goodput over time."""
    path = tmp_path_factory.mktemp("plots") / "scenario.toml"
    path.write_text(SWEEP.replace('series_every = "100us"', SAMPLED))
    return sb.Scenario.from_file(path).run_all()


SAMPLED = 'series_every = "10us"\ngoodput_every = "100us"'
KINDS = [
    ("fct", "--value", "relative"),
    ("fct", "--value", "slowdown"),
    ("fct", "--value", "us"),
    ("cdf", "--value", "fct"),
    ("cdf", "--value", "slowdown"),
    ("sizes",),
    ("queue", "--only", "load=0.8"),
    ("shares", "--only", "load=0.8"),
    ("heatmap", "--x", "load", "--y", "scheme"),
    ("utilisation",),
]


def plot(*arguments: str | Path) -> None:
    """`switchbed plot`, in this process: importing Matplotlib takes longer than a figure."""
    cli.main(["plot", *map(str, arguments)], standalone_mode=False)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as `results`, as a comparison's directory and as a sweep, and one run."""
    folder = tmp_path_factory.mktemp("kept")
    path = folder / "s.toml"
    path.write_text(SWEEP.replace('series_every = "100us"', SAMPLED))
    single = folder / "single.toml"
    single.write_text(SINGLE)
    with contextlib.chdir(folder):
        execute(Request(path, out=Path("compared"), jobs=2))
        execute(Request(single, out=Path("one")))
        sb.sweep(path)
    return folder


@pytest.mark.long
def test_every_kind_draws_a_comparison_and_a_sweep_alike(kept: Path, tmp_path: Path) -> None:
    for kind, *options in KINDS:
        plot(kind, kept / "compared", *options, "--out", tmp_path / "a.png")
        assert (tmp_path / "a.png").stat().st_size > 8_000, kind
        sweep = kept / "switchbed-store/sweeps/s.parquet"
        plot(kind, sweep, *options, "--out", tmp_path / "b.png")
        assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes(), kind


@pytest.mark.parametrize("suffix", [pytest.param("pdf", marks=pytest.mark.long), "svg", "png"])
def test_the_same_figure_has_the_same_bytes(kept: Path, tmp_path: Path, suffix: str) -> None:
    for name in ("a", "b"):
        plot("cdf", kept / "one", "--out", tmp_path / f"{name}.{suffix}")
    assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()


def test_the_program_draws(switchbed: Program, kept: Path, tmp_path: Path) -> None:
    done = switchbed("plot", "cdf", kept / "one", "--out", "figure.pdf")
    assert "written to figure.pdf" in done.stdout
    assert (tmp_path / "figure.pdf").read_bytes().startswith(b"%PDF")


def line_of(axes: Any, label: str) -> tuple[list[float], list[float]]:
    """The points of the line or error bars with this label."""
    handles, labels = axes.get_legend_handles_labels()
    found = dict(zip(labels, handles, strict=True))[label]
    line = found[0] if hasattr(found, "lines") else found
    return list(line.get_xdata()), list(line.get_ydata())


def test_fct_shows_the_mean_over_seeds(results: list[sb.Result]) -> None:
    drawn = runs.lines(results, over="load")
    assert [line.label for line in drawn] == ["per-queue", "MQ-ECN"]
    figure = fct.figure(drawn, "us", "")
    xs, ys = line_of(figure.axes[0], "per-queue")
    assert xs == pytest.approx([40, 80])
    seeds = [r for r in results if r.label == "per-queue" and r.settings["load"] == 0.8]
    means = [run.summary()["fct"]["all"]["mean_us"] for run in seeds]
    assert figure.axes[0].get_ylabel() == "FCT (ms)"
    assert ys[1] == pytest.approx(sum(means) / 2 / 1e3)
    relative = fct.figure(drawn, "relative", "")
    _, ones = line_of(relative.axes[0], "per-queue")
    assert ones == [1, 1]


def test_one_scheme_alone_is_drawn_as_it_is(results: list[sb.Result]) -> None:
    alone = [run for run in results if run.label == "per-queue"]
    assert Plots(alone).fct().axes[0].get_ylabel() == "FCT (ms)"
    apart = [run for run in results if (run.label == "MQ-ECN") == (run.settings["load"] == 0.8)]
    with pytest.raises(sb.Mistake, match="nothing to divide by"):
        Plots(apart).fct()


def test_a_distribution_ends_at_the_slowest_flow(results: list[sb.Result]) -> None:
    drawn = runs.lines([run for run in results if run.settings["load"] == 0.8])
    figure = cdf.figure(drawn, "fct", "")
    xs, shares_of = line_of(figure.axes[0], "MQ-ECN")
    slowest = pl.concat([run.flows["fct_s"] for run in drawn[1].runs]).max()
    assert isinstance(slowest, float)
    assert xs[-1] == pytest.approx(1e3 * slowest)
    assert shares_of[-1] == 1
    assert len(xs) == 600
    # 30 KB are small: no other class has a panel.
    assert [axes.get_title() for axes in figure.axes if axes.get_visible()] == [
        "all flows",
        "small flows (up to 100 KB)",
    ]


def test_slowdowns_by_size_are_percentiles_of_bins_of_equal_count() -> None:
    frame = pl.DataFrame({"size_bytes": range(1, 81), "slowdown": [float(n) for n in range(80)]})
    edges = sizes.edges_of([frame], 20)
    assert edges == [20, 40, 60, 80], "twenty flows a bin at least"
    # Of 0 to 19 the 10th is the 50th percentile, the 18th the 95th.
    assert sizes.percentiles(frame, edges, 50) == [10, 30, 50, 70]
    assert sizes.percentiles(frame, edges, 95) == [18, 38, 58, 78]
    assert sizes.edges_of([frame, frame], 2) == [40, 80]


def test_flows_of_the_warm_up_are_not_in_the_distribution() -> None:
    run = _single(**{"measure.warmup": "1ms"})
    figure = cdf.figure(runs.lines([run]), "fct", "")
    xs, _ = line_of(figure.axes[0], "per-queue")
    assert len(xs) == run.summary()["flows"]["finished"] < 300


def test_a_queue_has_its_length_threshold_and_marks() -> None:
    run = _single(**{"scheme.params.threshold": "5pkt", "measure.series_every": "2us"})
    port = "switch:3"
    figure = queue.figure(runs.lines([run]), port, None, "")
    (axes,) = figure.axes
    series = run.series.filter(pl.col("port") == port, pl.col("queue") == 0)
    xs, ys = line_of(axes, "queue 0")
    assert ys == (series["bytes"] / 1e3).to_list()
    assert xs == (series["time_s"] * 1e3).to_list()
    marks, _ = line_of(axes, "marks")
    steps = series["port_marked_packets"].diff().drop_nulls()
    assert 0 < len(marks) == (steps > 0).sum()
    # All that is marked in the run is marked by the last sample, and never less than before.
    marked = run.counters.filter(pl.col("port") == port)["marked_packets"].item()
    assert series["port_marked_packets"][-1] == marked
    assert steps.min() == 0
    windowed = queue.figure(runs.lines([run]), port, (0.1, 0.2), "")
    xs, _ = line_of(windowed.axes[0], "queue 0")
    assert 0.1 <= min(xs) < max(xs) <= 0.2


def test_equal_queues_are_one_line_with_both_names() -> None:
    times, marked = (0.0, 1.0, 2.0), (0, 0, 0)
    lengths = {
        number: queues.Length(f"queue {number}", kb, (threshold,) * 3)
        for number, kb, threshold in (
            (0, (0.0, 3.0, 1.0), 5.0),
            (1, (0.0, 1.0, 1.0), 5.0),
            (2, (0.0, 3.0, 1.0), 7.0),
        )
    }
    port = queues.Port("switch:0", times, lengths, lengths[0], marked, "queue")
    axes = style.figure(4, 3, "").subplots()
    queue._panel(axes, port)
    assert line_of(axes, "queue 0, queue 2")[1] == [0.0, 3.0, 1.0]
    assert line_of(axes, "queue 1")[1] == [0.0, 1.0, 1.0]
    dotted = [line for line in axes.get_lines() if line.get_linestyle() == ":"]
    heights = {y for line in dotted for _, y in output._points(line)}
    assert heights == {5.0, 7.0}


@pytest.mark.parametrize(
    ("scheme", "params", "names"),
    [
        ("red", {"kmin": "5pkt", "kmax": "20pkt"}, {"kmin": 7.5, "kmax": 30.0}),
        ("red", {"kmin": "5pkt", "kmax": "5pkt"}, {"kmin": 7.5}),
        ("cedm", {"k1": "5pkt", "k2": "10pkt"}, {"k1": 7.5, "k2": 15.0}),
        ("per-port", {"threshold": "6KB"}, {"threshold for all queues of the port": 6.0}),
    ],
)
def test_a_threshold_has_the_schemes_name_for_it(
    scheme: str, params: dict[str, str], names: dict[str, float]
) -> None:
    run = _single(scheme={"name": scheme, "params": params}, **{"measure.series_every": "20us"})
    port = queues.busiest(run)
    (axes,) = queue.figure(runs.lines([run]), port, None, "").axes
    shown = {line.get_label() for line in axes.get_lines() if line.get_color() == "black"}
    assert shown == {*names}
    dashed = [line for line in axes.get_lines() if line.get_linestyle() in (":", "-.")]
    assert {y for line in dashed for _, y in output._points(line)} == {*names.values()}
    dotted = [line for line in axes.get_lines() if line.get_linestyle() == ":"]
    assert {y for line in dotted for _, y in output._points(line)} == {min(names.values())}


def test_queues_and_switches_with_schemes_of_their_own_have_their_names() -> None:
    red = {"name": "red", "params": {"kmin": "6KB", "kmax": "12KB"}}
    own = {"switch.queues": 2, "switch.queue": [{"queue": 0, "scheme": red}]}
    run = _single(**{"measure.series_every": "20us", **own})
    (line,) = runs.lines([run])
    found = queues.of_port(line, run, queues.busiest(run))
    assert [found.queues[n].parameter for n in (0, 1)] == ["kmin", "threshold"]
    assert found.queues[0].upper == "kmax"
    run = _single(
        **{"measure.series_every": "20us", "deploy": [{"switches": "switch", "scheme": red}]}
    )
    (line,) = runs.lines([run])
    found = queues.of_port(line, run, queues.busiest(run))
    assert (found.queues[0].parameter, found.queues[0].ratio) == ("kmin", 2.0)
    cqrd = {"name": "cqrd", "params": {"ecn_threshold": 0.5}}
    run = _single(scheme=cqrd, **{"measure.series_every": "20us"})
    (line,) = runs.lines([run])
    found = queues.of_port(line, run, queues.busiest(run))
    assert found.queues[0].parameter == "ecn_threshold"


def test_options_of_the_command_and_arguments_of_the_method_have_the_same_names() -> None:
    # Of all kinds alike: the runs, the file and how it looks.
    common = {"paths", "out", "force", "only", "width", "height", "style", "log", "data"}
    for kind, command in plotted.commands.items():
        found = [p for p in command.params if p.name not in common]
        options = {name.removeprefix("--"): p for p in found for name in p.opts}
        over = options.pop("over", None)
        assert (over is None) == (kind not in ("fct", "cdf", "sizes", "curve", "heatmap")), kind
        arguments = set(inspect.signature(getattr(Plots, kind)).parameters) - {"self"}
        assert arguments <= options.keys(), kind
        unnamed = [p.name for p in options.values() if not {o[2:] for o in p.opts} & arguments]
        assert unnamed == [], kind


def test_shares_sum_to_all(results: list[sb.Result]) -> None:
    figure = shares.figure(runs.lines(results[:1]), "")
    _, ys = line_of(figure.axes[0], "class 0")
    total = results[0].goodput["goodput_bps"].to_list()
    # Where nothing was received there are no shares.
    assert [math.isnan(y) for y in ys] == [bps == 0 for bps in total]
    assert {y for y in ys if not math.isnan(y)} == {100.0}


def test_a_heat_map_has_a_cell_a_point(results: list[sb.Result]) -> None:
    figure = heatmap.figure(results, "fct.all.mean_us", "load", "scheme", "")
    (image,) = figure.axes[0].get_images()
    data = image.get_array()
    assert data is not None
    assert data.shape == (2, 2)
    assert not any(math.isnan(v) for v in data.ravel())


def test_utilisation_has_a_square_a_port(results: list[sb.Result]) -> None:
    (line, *_) = runs.lines(results[:1])
    figure = utilisation.figure([line], "")
    (image,) = figure.axes[0].get_images()
    data = image.get_array()
    assert data is not None
    used = results[0].counters.filter(pl.col("port").str.starts_with("switch"))["utilisation"]
    assert list(data.ravel()) == pytest.approx([100 * u for u in used])


def test_lines_are_named_by_what_differs(results: list[sb.Result]) -> None:
    labels = [line.label for line in runs.lines(results)]
    assert labels == [
        "per-queue, load 0.4",
        "per-queue, load 0.8",
        "MQ-ECN, load 0.4",
        "MQ-ECN, load 0.8",
    ]
    assert [line.label for line in runs.lines(results[:1])] == ["per-queue"]


@pytest.mark.parametrize(("us", "label", "drawn"), [(9_000, "µs", 9_000), (20_000, "ms", 20)])
def test_long_times_are_in_milliseconds(us: float, label: str, drawn: float) -> None:
    points = (Point(30.0, stats.Interval(us, us / 2, us * 2, 3)),)
    one = Curve("mq-ecn", style.STYLES["mq-ecn"], points)
    figure = fct._draw([[one]] * 4, "FCT (µs)", "")
    axes = figure.axes[0]
    assert axes.get_ylabel() == f"FCT ({label})"
    bars: Any = axes.containers[0]
    assert list(bars.lines[0].get_ydata()) == [drawn]
    assert bars.lines[2][0].get_segments()[0][:, 1].tolist() == [drawn / 2, drawn * 2]
    note = figure.legends[0].get_title().get_text()
    assert note == "mean of 3 seeds; bars: 95\xa0% interval; triangles at the edge: it goes on"


def test_notes_say_how_many_seeds_there_are_and_what_bars_are() -> None:
    assert style.means([1, 1]) == "one seed, so no intervals"
    assert style.means([3], hollow=True).endswith("; hollow: not enough seeds for one")
    assert style.means([3, 5], drawn="shaded") == "mean of 3 to 5 seeds; shaded: 95\xa0% interval"
    assert style.averaged([2, 2]) == "mean of 2 seeds"


@pytest.mark.parametrize(
    ("title", "most", "shown"),
    [
        ("mean (bytes)", 80_000, ("mean (KB)", 1e3)),
        ("mean (bytes)", 8_000, ("mean (bytes)", 1)),
        ("marks", 80_000, ("marks", 1)),
        ("rate (Gbps)", 0.06, ("rate (Mbps)", 1e-3)),
    ],
)
def test_large_values_have_the_next_unit(title: str, most: float, shown: tuple[str, float]) -> None:
    assert unit_of(title, most) == shown


def test_a_kind_is_called_by_its_section() -> None:
    assert runs.name("routing.kind", "ecmp") == "routing ecmp"
    assert runs.words("traffic.0.kind") == "traffic"
    assert runs.words("transport.initial_window") == "initial window"
    assert runs.words("seed") == "seed"


def test_lines_of_one_scheme_differ_in_colour(results: list[sb.Result]) -> None:
    one = [run for run in results if run.label == "MQ-ECN"]
    assert len({line.look.colour for line in runs.lines(one)}) == 2
    (alone,) = runs.lines(one, over="load")
    assert alone.look == style.STYLES["mq-ecn"]


def test_any_setting_is_an_axis_a_colour_or_a_panel(results: list[sb.Result]) -> None:
    drawn = Plots(results)
    over = drawn.fct(value="us", x="scheme", colour="load")
    assert [text.get_text() for text in over.axes[0].get_xticklabels()] == ["per-queue", "MQ-ECN"]
    assert set(over.axes[0].get_legend_handles_labels()[1]) == {"load 0.4", "load 0.8"}
    relative = drawn.fct(colour="load", x="scheme")
    assert relative.axes[0].get_ylabel() == "FCT over load 0.4"
    apart = drawn.cdf(colour="load", panel="scheme")
    titles = [axes.get_title() for axes in apart.axes]
    assert titles[::2] == ["per-queue, all flows", "MQ-ECN, all flows"]
    together = drawn.queue(colour="scheme", panel="load")
    assert [axes.get_title("left").split(":")[0] for axes in together.axes] == [
        "load 0.4",
        "load 0.8",
    ]
    shared = drawn.shares(colour="scheme", panel="load")
    titles = [axes.get_title("left") for axes in shared.axes]
    assert titles == ["load 0.4, class 0", "load 0.8, class 0"]
    assert len(shared.axes[0].lines) == 2
    busy = drawn.utilisation(colour="scheme", panel="load")
    assert [axes.get_title("left") for axes in busy.axes] == [
        "load 0.4, switch",
        "load 0.8, switch",
    ]
    _, used = line_of(busy.axes[1], "MQ-ECN")
    seeds = [run for run in results if (run.label, run.settings["load"]) == ("MQ-ECN", 0.8)]
    counters = pl.concat([run.counters for run in seeds])
    ports = counters.filter(pl.col("port").str.starts_with("switch")).group_by("port")
    means = ports.agg(pl.col("utilisation").mean())["utilisation"].sort(descending=True)
    assert used == pytest.approx([100 * mean for mean in means])
    over = drawn.utilisation(x="load", colour="scheme")
    xs, ys = line_of(over.axes[0], "MQ-ECN")
    assert (xs[1], ys[1]) == pytest.approx((80, sum(used) / len(used)))
    everything = drawn.shares(x="load", panel="scheme").axes
    assert [axes.get_ylabel() for axes in everything if axes.get_visible()] == [
        "share of goodput (%)"
    ] * 2
    for draw in (drawn.fct, drawn.cdf, drawn.queue, drawn.shares, drawn.utilisation):
        with pytest.raises(sb.Mistake, match="--colour speed: was not swept in these runs; there"):
            draw(colour="speed")


def test_a_setting_that_is_a_list_chooses_a_panel(results: list[sb.Result]) -> None:
    given = {"switch.quantum": ["1500B", "3000B"]}
    first = results[0]
    run = sb.Result(replace(first.outcome, settings=given), first.scenario, first._read)
    (line,) = runs.lines([run], panel="switch.quantum")
    assert {line.panel: line.label} == {("switch.quantum", ("1500B", "3000B")): "per-queue"}
    assert line.panel is not None
    assert runs.named(*line.panel) == 'quantum ["1500B", "3000B"]'


def test_a_logarithmic_axis_shows_the_estimates_whatever_intervals_reach() -> None:
    from matplotlib.figure import Figure

    made = Figure()
    axes = made.subplots()
    axes.errorbar([1, 2], [3, 40], yerr=[[9, 1], [9, 1]])
    axes.set_ylim(0, 50)
    output.logarithmic(made, "y")
    assert axes.get_ylim() == pytest.approx((2.1, 50))


def test_an_interval_that_leaves_the_axis_ends_in_a_triangle() -> None:
    def cuts() -> list[tuple[float, float, str]]:
        lines = [line for line in axes.get_lines() if line.get_gid() == style.CUT]
        return [(*output._points(line)[0], str(line.get_marker())) for line in lines]

    made = style.figure(4, 3, "")
    axes = made.subplots()
    axes.errorbar([1, 2], [3, 4], yerr=[[1.0, 3.5], [9.0, 1.0]])
    axes.set_ylim(1, 8)
    assert style.cut(axes)
    assert cuts() == [(1, 8, "^"), (2, 1, "v")]
    axes.set_ylim(0, 20)
    assert not style.cut(axes)
    assert cuts() == []
    # A logarithmic axis begins at 0.7 of the least estimate, 2.1.
    axes.set_ylim(0, 8)
    output.logarithmic(made, "y")
    assert cuts() == [(1, pytest.approx(2.1), "v"), (1, 8, "^"), (2, pytest.approx(2.1), "v")]
    assert style.means([3], cut=True).endswith("; triangles at the edge: it goes on")


def test_a_port_is_called_by_what_is_at_its_other_end() -> None:
    leaves = [["host0", "host1", "spine0"], ["host2", "host3", "spine0"]]
    assert maps._names(leaves) == ["host #0", "host #1", "spine0"]
    assert maps._names([["host0", "host1"]]) == ["host0", "host1"]


def test_a_scheme_keeps_its_colour_in_all_its_variants() -> None:
    looks = style.of([("a", "mq-ecn"), ("b", "mq-ecn"), ("c", "per-queue"), ("d", "mq-ecn")])
    assert {looks[label].colour for label in "abd"} == {style.STYLES["mq-ecn"].colour}
    assert len({(look.marker, look.dashes) for look in looks.values()}) == 4
    assert looks["a"] == style.STYLES["mq-ecn"]
    assert looks["c"] == style.STYLES["per-queue"]


def test_labels_of_a_scheme_without_looks_of_its_own_differ_in_colour() -> None:
    pairs = [
        ("a", "python"),
        ("b", "python"),
        ("c", "per-queue"),
        ("d", "my-rule"),
        ("e", "my-rule"),
    ]
    looks = style.of([*pairs, *pairs])
    assert len({look.colour for look in looks.values()}) == 5
    assert len({(look.marker, look.dashes) for look in looks.values()}) > 3
    assert looks["a"] == style.of([("a", "python"), ("c", "per-queue")])["a"]


def test_schemes_of_one_colour_differ_beside_each_other() -> None:
    assert style.STYLES["mq-ecn"].colour == style.STYLES["codel"].colour
    names = ["mq-ecn", "codel", "per-queue", "tcn", "red"]
    looks = style.of([(name, name) for name in names])
    assert len({look.colour for look in looks.values()}) == len(names)
    assert looks["mq-ecn"] == style.STYLES["mq-ecn"]
    assert style.of([("codel", "codel")]) == {"codel": style.STYLES["codel"]}
    # With more schemes than colours, each has one all the same.
    assert len(style.of([(name, name) for name in style.STYLES])) == len(style.STYLES)


def test_no_two_schemes_look_alike() -> None:
    looks = [(s.colour, s.marker, s.dashes) for s in style.STYLES.values()]
    assert len(set(looks)) == len(looks)
    # Nor in grey, by marker or dashes.
    assert len({look[1:] for look in looks}) >= len(looks) - 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("fct", "one", "--out", "x.doc"), ".pdf, .png or .svg"),
        (("fct", "one", "--out", "no/such/x.pdf"), "no directory"),
        (("fct", "none", "--out", "x.pdf"), "neither a result directory"),
        (("queue", "one", "--out", "x.pdf", "--port", "switch:9"), "which has switch:0, switch:1"),
        (("queue", "one", "--out", "x.pdf", "--window", "5"), "two times in ms"),
        (("queue", "one", "--out", "x.pdf", "--window", "500,600"), "no sample"),
        (("shares", "one", "--out", "x.pdf"), "measure.goodput_every"),
        (("heatmap", "one", "--out", "x.pdf"), "needs two settings"),
        (("heatmap", "one", "--out", "x.pdf", "--x", "load"), "is no setting"),
        (("cdf", "one", "--out", "x.pdf", "--only", "load=3"), "no run has this setting"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_one_line(
    kept: Path, arguments: tuple[str, ...], says: str
) -> None:
    with contextlib.chdir(kept), pytest.raises(sb.Mistake) as mistake:
        plot(*arguments)
    assert says in str(mistake.value)
    assert "\n" not in str(mistake.value)


def _single(**changed: Any) -> sb.Result:
    return sb.Scenario(tomllib.loads(SINGLE)).with_(changed).run()


def test_a_run_that_lacks_something_is_told_by_its_directory(
    switchbed: Program, single: Path, tmp_path: Path
) -> None:
    single.write_text(single.read_text().replace('series_every = "100us"', ""))
    switchbed("run", single, "--set", "flows=20", "--out", "out")
    said = switchbed("plot", "queue", tmp_path / "out", "--out", "q.svg", code=2).stderr
    assert f"{tmp_path / 'out'}): has no series; run it with measure.series_every" in said


def test_colours_have_one_place() -> None:
    known = {
        value for name, value in vars(looks).items() if name.isupper() and isinstance(value, str)
    }
    for file in Path(sb.__file__).parent.rglob("*.py"):
        if file != Path(looks.__file__):
            text = file.read_text().upper()
            assert not [colour for colour in known if colour.upper() in text], file


@pytest.mark.parametrize("letters", [3, 13, 20, 28])
def test_a_legend_is_no_wider_than_its_figure(letters: int) -> None:
    figure = style.figure(6.4, 3, "")
    axes = figure.subplots()
    for nth in range(9):
        axes.plot([0, 1], [nth, nth], label=f"{nth}".ljust(letters, "m" if letters < 5 else "e"))
    style.legend_below(figure, 6)
    figure.canvas.draw()
    box = figure.legends[0].get_window_extent()
    assert 0 <= box.x0 < box.x1 <= figure.bbox.width


def test_a_long_legend_leaves_the_panel_its_height() -> None:
    heights = []
    for lines in (2, 12):
        figure = style.figure(4.5, 3.4, "")
        axes = figure.subplots()
        for nth in range(lines):
            axes.plot([0, 1], [nth, nth], label=f"algorithm halving-doubling, placement {nth}")
        style.legend_below(figure)
        figure.canvas.draw()
        heights.append(axes.get_window_extent().height)
    assert heights[1] > 0.9 * heights[0]


LINKS = """
topology = { kind = "leaf-spine", leaves = 2, spines = 2, hosts_per_leaf = 2,
  host_rate = "10Gbps", host_delay = "1us" }
switch.buffer = "1MB"
scheme.name = "none"
transport.kind = "udp"
traffic = [{ kind = "long-lived", from = 0, to = 2 }]
measure.link_series.every = "100us"
run.until = "1ms"
compare.routing.kind = ["ecmp", "spray"]
"""


def test_links_are_drawn_by_tier_and_by_how_evenly_they_were_used(tmp_path: Path) -> None:
    path = tmp_path / "links.toml"
    path.write_text(LINKS)
    found = sb.Scenario.from_file(path).run_all()
    # One sender fills its line. One flow has one spine, whose links are full too; sprayed packets
    # have both.
    tiers = {tier.name: tier for tier in links.over_time(found[0])}
    assert sorted(tiers) == ["host-leaf", "leaf-host", "leaf-spine", "spine-leaf"]
    assert len(tiers["host-leaf"].times_ms) == 10
    assert tiers["host-leaf"].mean[5] == pytest.approx(25)
    for name in ("leaf-spine", "spine-leaf"):
        tier = tiers[name]
        assert (tier.links, tier.fabric, tier.least[5], tier.most[5]) == (4, True, 0, 100)
        assert tier.mean[5] == pytest.approx(25)
    assert [len(tier.times_ms) for tier in links.over_time(found[0], (0.35, 0.75))] == [4] * 4
    one, both = (links.uses([run])["leaf-spine"] for run in found)
    assert one.jain == pytest.approx(0.25)
    assert one.busiest_over_mean == pytest.approx(4)
    assert one.used[1:] == (0, 0, 0)
    assert both.jain == pytest.approx(0.5, 0.01)
    assert both.busiest_over_mean == pytest.approx(2, 0.1)
    assert one.described == "Jain 0.25, busiest 4 times the mean"
    plots = Plots(found)
    titles = [axes.get_title(loc="left") for axes in plots.links().axes]
    assert titles == ["routing ecmp", "routing spray"]
    by_tier = [axes.get_title(loc="left") for axes in plots.links(colour="routing.kind").axes]
    assert by_tier == ["host-leaf", "leaf-host", "leaf-spine", "spine-leaf"]
    (_, spine) = plots.paths(colour="routing.kind").axes
    assert spine.get_title(loc="left") == "spine-leaf"
    legend = spine.get_legend()
    assert legend is not None
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels[0].endswith("ecmp: Jain 0.25, busiest 4 times the mean")
    with pytest.raises(sb.Mistake, match=r"--window 5,6: holds no sample"):
        plots.links(window=(5, 6))
    star = 'topology = { kind = "star", hosts = 3, rate = "10Gbps", delay = "1us" }'
    path.write_text(star + LINKS[LINKS.index("\nswitch") : LINKS.index("compare")])
    with pytest.raises(sb.Mistake, match="has no tiers of switches with more than one link"):
        Plots([sb.Scenario.from_file(path).run()]).paths()


def test_fct_without_a_load_is_over_what_was_compared() -> None:
    incast = sb.Scenario.from_file("@incast").with_({"traffic.rounds": 2})
    two = sb.Plots(incast.run_all()).fct().axes
    assert {each.get_xlabel() for each in two} == {"initial window"}
    assert "over none" in two[0].get_ylabel()
    one = sb.Plots(incast.with_({"compare.scheme": ["per-queue"]}).run_all()).fct().axes
    assert "over" not in one[0].get_ylabel()
