"""Schemes in Python: the same results as the same schemes in Rust, invariants, messages, Ctrl-C."""

import json
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import prototype_schemes
import pytest
from conftest import AT_ONCE_S, SINGLE, Program
from forked import HANGS_S

import switchbed as sb
from switchbed import prototype
from switchbed.prototype import sources
from switchbed.sweeps import key

HERE = Path(__file__).parents[1] / "support"
SCHEMES = str(HERE / "prototype_schemes.py")
TWO_CLASSES = SINGLE.replace('sizes = "30KB"', 'sizes = "30KB"\nservice = "random"')


def python(*classes: str, **params: Any) -> dict[str, Any]:
    """A scheme of `prototype_schemes`."""
    return {
        "name": "python",
        "params": {"file": SCHEMES, "class": list(classes), **params},
    }


@pytest.fixture
def base(tmp_path: Path) -> sb.Scenario:
    """Two services, with losses and marks."""
    path = tmp_path / "two.toml"
    path.write_text(TWO_CLASSES.replace('params = { threshold = "20pkt" }', ""))
    return sb.Scenario.from_file(path).with_(
        {"switch.buffer": "60KB", "load": 0.95, "measure.warmup": "1us"}
    )


K = {"threshold": "20pkt"}
PAIRS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "marker": (
        {"scheme": {"name": "per-queue", "params": K}},
        {"scheme": python("Step", **K)},
    ),
    "marker at departure": (
        {"scheme": {"name": "per-queue-dq", "params": K}},
        {"scheme": python("StepAtDeparture", **K)},
    ),
    "marker by waiting": (
        {"scheme": {"name": "tcn", "params": {"threshold": "15us"}}},
        {"scheme": python("Waiting", threshold="15us")},
    ),
    "scheduler": (
        {"scheme": {"name": "mq-ecn", "params": K}},
        {"scheme": python("Dwrr", base="mq-ecn", **K)},
    ),
    "strict priority": (
        {"scheme": {"name": "per-queue", "params": K}, "switch.strict": 1},
        {"scheme": python("Strict", base="per-queue", **K)},
    ),
    "buffer": (
        {"scheme": {"name": "none"}, "switch.policy": "static"},
        {"scheme": python("Static")},
    ),
    "classifier": (
        {"scheme": {"name": "none"}},
        {"scheme": python("ByClass"), "switch.classify": "single"},
    ),
    "notifier": (
        {
            "scheme": {"name": "qcn", "params": {"q_eq": "4KB", "jitter": 0}},
            "reaction.limiters": "flow",
        },
        {"scheme": python("Qcn", q_eq="4KB"), "reaction.limiters": "flow"},
    ),
    "every seat": (
        {"scheme": {"name": "mq-ecn", "params": K}, "switch.policy": "static"},
        {
            "scheme": python("ByClass", "Static", "MqEcn", "Dwrr", **K),
            "switch.classify": "single",
            "switch.discipline": "fifo",
        },
    ),
}


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS.keys())
def test_python_does_what_rust_does(base: sb.Scenario, pair: Any) -> None:
    rust, ours = (base.with_(sets).run() for sets in pair)
    assert rust.summary()["drops"] + rust.summary()["marks"] > 20
    for name in ("flows", "queues", "counters"):
        assert rust.table({"counters": "ports"}.get(name, name)).equals(
            ours.table({"counters": "ports"}.get(name, name))
        ), name
    assert ours.label == " + ".join(ours.scenario["scheme"]["params"]["class"])


def test_a_notifier_is_heard(base: sb.Scenario) -> None:
    _, ours = PAIRS["notifier"]
    assert base.with_(ours).run().summary()["notifications"] > 20
    without = base.with_(scheme=ours["scheme"])
    with pytest.raises(sb.Mistake, match=r"a notifier needs hosts that listen: write \[reaction\]"):
        without.run()


def test_a_threshold_shows_in_the_series(base: sb.Scenario) -> None:
    pair = PAIRS["marker"]
    rust, ours = (base.with_(sets).run().series for sets in pair)
    assert rust.equals(ours)
    assert set(ours["threshold_bytes"]) == {30_000.0}


def test_whatever_a_class_does_a_port_stays_a_port(base: sb.Scenario) -> None:
    run = base.with_(scheme=python("Dwrr", "RandomPushOut", base="per-queue", **K)).run()
    again = base.with_(scheme=python("Dwrr", "RandomPushOut", base="per-queue", **K)).run()
    assert run.summary() == again.summary()
    drops = run.counters["drops_pushed_out"].sum()
    assert drops > 20
    # Every packet is sent or dropped in the end, and every flow got through.
    assert run.summary()["flows"]["finished"] == run.summary()["flows"]["count"]


def test_a_class_that_does_anything_breaks_nothing(base: sb.Scenario) -> None:
    anything = base.with_(scheme=python("Erratic", "RandomPushOut", "ErraticTurns"), flows=100)
    anything = anything.with_({"switch.buffer": "12KB"})
    run = anything.run()
    flows, ports = run.summary()["flows"], run.counters
    assert flows["finished"] == flows["count"]
    for why in ("early", "pushed_out", "at_departure"):
        assert ports[f"drops_{why}"].sum() > 0, why
    # What the hosts' cards sent, the switch has sent on or dropped, but for
    # those on their way as counting begins and ends.
    cards = ports["port"].str.starts_with("host")
    sent = int(ports.filter(cards)["sent_packets"].sum())
    switch = ports.filter(~cards)
    dropped = sum(int(switch[n].sum()) for n in switch.columns if n.startswith("drops_"))
    assert abs(sent - int(switch["sent_packets"].sum()) - dropped) < 20
    assert run.flows.equals(anything.run().flows)


def test_some_switches_may_have_it() -> None:
    fabric = sb.Scenario(
        {
            "topology": {
                "kind": "leaf-spine",
                "leaves": 2,
                "spines": 2,
                "hosts_per_leaf": 2,
                "host_rate": "10Gbps",
                "host_delay": "5us",
            },
            "switch": {"queues": 2, "buffer": "300KB"},
            "scheme": {"name": "per-queue", "params": K},
            "transport": {"kind": "dctcp"},
            "traffic": [{"kind": "poisson", "load": 0.9, "flows": 200, "sizes": "60KB"}],
        }
    )
    plain = fabric.run()
    (plan,) = fabric.with_({"deploy": [{"switches": "spine", "scheme": python("Step", **K)}]}).plans
    assert plan.python
    deployed = fabric.with_(
        {"deploy": [{"switches": "spine", "scheme": python("Step", **K)}]}
    ).run()
    assert plain.summary()["marks"] > 0
    assert deployed.flows.equals(plain.flows)
    assert sources.files(deployed.scenario) == [Path(SCHEMES)]


def test_no_packet_that_is_not_ecn_capable_gets_a_mark(base: sb.Scenario, tmp_path: Path) -> None:
    scheme = own(tmp_path, "return Intent.Mark if view.queue_bytes(queue) > 3000 else Intent.Pass")
    run = base.with_(scheme=scheme, flows=20).with_({"transport.ecn": False}).run()
    assert run.summary()["marks"] == 0
    assert run.counters["drops_not_ecn_capable"].sum() > 0


def own(
    folder: Path, body: str, kind: str = "Marker", method: str = "intend", **params: Any
) -> Any:
    """A class with one method, in a file of its own."""
    arguments = {
        "intend": "view, queue, packet, rng",
        "classify": "view, packet",
        "admit": "view, queue, packet, rng",
        "select": "view, ends",
        "stored": "view, queue, slot, intent, rng",
    }
    also = method in ("stored", "departs", "_departs")
    rest = "    def intend(self, *_):\n        return Intent.Pass\n" if also else ""
    (folder / "mine.py").write_text(
        "from switchbed.prototype import *\n\n"
        f"class Mine({kind}):\n"
        f"{rest}    def {method}(self, {arguments.get(method, '')}):\n        {body}\n"
    )
    return {
        "name": "python",
        "params": {"file": str(folder / "mine.py"), "class": "Mine", **params},
    }


@pytest.mark.parametrize(
    ("body", "kind", "method", "says"),
    [
        ("return 1 / 0", "Marker", "intend", ":5: Mine.intend: ZeroDivisionError: division by"),
        ("return True", "Marker", "intend", ":4: Mine.intend returned True: a switchbed.prot"),
        (
            "return 2",
            "Classifier",
            "classify",
            ":4: Mine.classify returned 2: a queue is needed, 0",
        ),
        ("return -1", "Classifier", "classify", "Mine.classify returned -1: a queue is needed"),
        ("return 'a' * 99", "Classifier", "classify", "…: a queue is needed, 0 to 1"),
        ("return None", "Buffer", "admit", "returned None: a switchbed.prototype.Admission is"),
        ("return Selection.Queue(7)", "Scheduler", "select", "the queues that may send are "),
        ("return Selection.Empty", "Scheduler", "select", "the queues that may send are "),
        ("return Selection.NotBefore(0)", "Scheduler", "select", "NotBefore is later than "),
        ("return view.queue_bytes(9)", "Scheduler", "select", "IndexError: queue 9: the port has"),
        ("return view.queue_bytes(-1)", "Scheduler", "select", "OverflowError"),
        (
            "ends(ServiceEnd(9, 0, 1)); return Selection.Queue(view.eligible[0])",
            "Scheduler",
            "select",
            "a queue of the port is needed",
        ),
        (
            "return Intent.Mark",
            "Marker",
            "stored",
            ":6: Mine.stored returned Intent.Mark: a switch",
        ),
        (
            "pass",
            "Marker",
            "extra",
            ":3: Mine is a Marker and lacks intend(self, view, queue, pack",
        ),
        ("pass", "object", "extra", ":3: Mine takes no seat: derive it from one of Marker, Buff"),
        ("pass", "Marker, Buffer", "extra", ":3: Mine takes 2 seats"),
        ("pass", "Marker); print(", "intend", "this is no Python"),
        ("raise SystemExit(3)", "Marker", "intend", "Mine.intend: SystemExit: 3"),
        ("raise KeyboardInterrupt", "Marker", "intend", "Mine.intend: KeyboardInterrupt"),
        ("pass", "Marker, metaclass=f", "intend", "mine.py:3: its import: NameError: name 'f'"),
    ],
)
def test_what_a_class_does_wrong_is_one_line(
    base: sb.Scenario, tmp_path: Path, body: str, kind: str, method: str, says: str
) -> None:
    scheme = own(tmp_path, body, kind, method)
    with pytest.raises(sb.Mistake) as mistake:
        base.with_(scheme=scheme).run()
    assert says in str(mistake.value)
    assert "mine.py" in str(mistake.value)
    assert "\n" not in str(mistake.value)


def test_a_hook_that_lacks_an_argument_is_refused(base: sb.Scenario, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from switchbed.prototype import *\n\n"
        "class Mine(Marker):\n"
        "    def intend(self, view, queue, packet):\n        return Intent.Pass\n"
    )
    scheme = {"name": "python", "params": {"file": str(tmp_path / "mine.py"), "class": "Mine"}}
    with pytest.raises(sb.Mistake) as mistake:
        base.with_(scheme=scheme).run()
    assert str(mistake.value).endswith(
        "mine.py:3: Mine: intend does not take what it is called with: "
        "write intend(self, view, queue, packet, rng)"
    )


def test_a_hook_with_another_name_is_refused(base: sb.Scenario, tmp_path: Path) -> None:
    misspelt = own(tmp_path, "return Ends.MARK", "Marker", "departs")
    with pytest.raises(sb.Mistake, match="Mine has a method departs, which nothing calls: depart,"):
        base.with_(scheme=misspelt).run()
    helper = own(tmp_path, "return Ends.MARK", "Marker", "_departs")
    assert base.with_(scheme=helper).run().summary()["marks"] == 0


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("return 3", ":5: Mine.stored returned 3: a switchbed.prototype.Feedback is needed"),
        ("return Feedback(64)", ": quantized feedback from 1 to 63 is needed"),
        ("return 1 / 0", ":6: Mine.stored: ZeroDivisionError: division by"),
    ],
)
def test_what_a_notifier_does_wrong_is_one_line(
    base: sb.Scenario, tmp_path: Path, body: str, says: str
) -> None:
    (tmp_path / "mine.py").write_text(
        "from switchbed.prototype import *\n\n"
        "class Mine(Notifier):\n"
        "    told = 0\n"
        f"    def stored(self, view, queue, packet, rng):\n        {body}\n"
    )
    scheme = {"name": "python", "params": {"file": str(tmp_path / "mine.py"), "class": "Mine"}}
    with pytest.raises(sb.Mistake) as mistake:
        base.with_({"scheme": scheme, "reaction.limiters": "flow"}).run()
    assert says in str(mistake.value)
    assert "\n" not in str(mistake.value)


KEEPS = """
from switchbed.prototype import *

class Mine({seats}):
    kept = None

    def intend(self, view, queue, packet, rng):
        return Intent.Pass

    def admit(self, view, queue, packet, rng):
        {admit}
        return Admission.In

    def stored(self, view, queue, slot, intent, rng):
        self.kept = self.kept or {kept}

    def depart(self, view, queue, slot, note, rng):
        {depart}
        return Departure.Pass
"""


@pytest.mark.parametrize(
    ("seats", "kept", "admit", "depart"),
    [
        ("Marker", "slot", "pass", "view.packet(self.kept)"),
        ("Marker", "view.head(queue)", "pass", "view.arrived_ps(self.kept)"),
        ("Marker", "view.slots(queue)[0]", "pass", "Admission.PushOut(self.kept)"),
    ],
)
def test_a_kept_slot_is_refused(
    base: sb.Scenario, tmp_path: Path, seats: str, kept: str, admit: str, depart: str
) -> None:
    """A packet's place is another's once it has left."""
    body = KEEPS.format(seats=seats, kept=kept, admit=admit, depart=depart)
    (tmp_path / "mine.py").write_text(body)
    scheme = {"name": "python", "params": {"file": str(tmp_path / "mine.py"), "class": "Mine"}}
    with pytest.raises(sb.Mistake) as mistake:
        base.with_(scheme=scheme).run()
    assert "a slot may be used only within the hook that it is given to" in str(mistake.value)
    # Equal slots are of one place: a class may count by them.
    (tmp_path / "mine.py").write_text(body.replace(depart, "assert hash(slot) == hash(slot)"))
    base.with_(scheme=scheme).run()


@pytest.mark.parametrize(
    ("params", "says"),
    [
        (
            {"threshold": "9KB"},
            "scheme.params.threshold: is no parameter of Mine, which takes none",
        ),
        ({"class": "Other"}, "mine.py: there is no class Other: it has Mine"),
        ({"class": ["Mine", "Mine"]}, "Mine takes the marker's seat, as Mine"),
        ({"class": []}, "scheme.params.class is []: at least one class is needed"),
        ({"class": 3}, "scheme.params.class is 3: it must be a text in quotes"),
        ({"file": "none.py"}, 'scheme.params.file is "none.py": there is no file '),
        ({"base": "red"}, "scheme.params.kmax is missing"),
        ({"base": "per-queue", "threshold": "9KB"}, "Mine sits in the marker's seat"),
        ({"base": "qcn"}, 'scheme.params.base is "qcn": a base is a scheme that marks'),
        ({"base": "cqrd"}, 'scheme.params.base is "cqrd": a base is a scheme that marks'),
        ({"base": "python"}, 'scheme.params.base is "python": a base is a scheme that marks'),
        ({"base": "re"}, 'did you mean "red"?'),
        ({"other": {"a": 1}}, "a class takes texts, numbers, true or false, and lists"),
    ],
)
def test_what_a_scenario_says_wrong_is_one_line(
    base: sb.Scenario, tmp_path: Path, params: dict[str, Any], says: str
) -> None:
    scheme = own(tmp_path, "return Intent.Pass")
    scheme["params"] |= params
    with pytest.raises(sb.Mistake) as mistake:
        base.with_(scheme=scheme).run()
    assert says in str(mistake.value)


def test_a_missing_parameter_is_named(base: sb.Scenario) -> None:
    with pytest.raises(
        sb.Mistake, match=r"schemes\.py:\d+: Step: missing a required argument: 'th"
    ):
        base.with_(scheme=python("Step")).run()


def test_parameters_arrive_as_numbers(base: sb.Scenario, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from switchbed.prototype import *\n"
        "class Mine(Marker):\n"
        "    def __init__(self, port, **params):\n"
        "        raise ValueError(repr(params) + str(port.queues))\n"
        "    def intend(self, *_): ...\n"
    )
    params = {"size": "2pkt", "time": "1ns", "rate": "1kbps", "word": "on", "n": 3, "list": [True]}
    named = {"file": str(tmp_path / "mine.py"), "class": "Mine"}
    scheme = {"name": "python", "params": named | params}
    with pytest.raises(sb.Mistake) as mistake:
        base.with_(scheme=scheme).run()
    expected = {"list": [True], "n": 3, "rate": 1000, "size": 3000, "time": 1000, "word": "on"}
    assert f"ValueError: {expected}2" in str(mistake.value)


def test_a_class_is_handed_over_as_it_is(base: sb.Scenario) -> None:
    given = prototype.scheme(prototype_schemes.Step, label="mine", threshold="20pkt")
    first, second = base.with_({"compare.scheme": [given, python("Step", **K)]}).run_all()
    assert first.flows.equals(second.flows)
    assert (first.label, second.label) == ("mine", "Step")
    both = prototype.scheme(prototype_schemes.ByClass, prototype_schemes.Dwrr, base="mq-ecn", **K)
    assert base.with_(scheme=both).plans[0].python


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([], "takes classes of one file, and these are of 0"),
        ([prototype_schemes.Step, prototype.Marker], "these are of 2"),
    ],
)
def test_classes_of_one_file_make_a_scheme(given: list[type], says: str) -> None:
    with pytest.raises(sb.Mistake) as mistake:
        prototype.scheme(*given)
    assert says in str(mistake.value)


def test_a_class_without_a_file_runs_here_and_is_not_kept(
    base: sb.Scenario, tmp_path: Path
) -> None:
    class Local(prototype_schemes.Step):
        """No other process can import it."""

    ours = base.with_(scheme=prototype.scheme(Local, **K))
    assert ours.run().flows.equals(base.with_(scheme=python("Step", **K)).run().flows)
    found = [sb.sweep(ours, tmp_path / "store") for _ in range(2)]
    assert [(each.ran, each.kept) for each in found] == [(1, 0), (1, 0)]
    (run,) = (tmp_path / "store/runs" / entry.key for entry in found[1].entries)
    ((file, digest),) = json.loads((run / "manifest.json").read_bytes())["sources"].items()
    assert file.startswith("memory:")
    assert digest is None


def test_a_mistake_of_a_class_without_a_file_is_a_line_too(base: sb.Scenario) -> None:
    names: dict[str, Any] = {}
    source = "class Typed(Marker):\n    def intend(self, *_):\n        return 1 / 0\n"
    exec(compile(source, "<prompt>", "exec"), vars(prototype) | names, names)
    with pytest.raises(sb.Mistake, match=r"^<prompt>:3: Typed.intend: ZeroDivisionError"):
        base.with_(scheme=prototype.scheme(names["Typed"])).run()
    params = {"file": "memory:99", "class": "Typed"}
    with pytest.raises(sb.Mistake, match="memory:99: holds no class Typed in this process"):
        base.with_(scheme={"name": "python", "params": params}).run()


def test_ctrl_c_ends_a_class_without_a_file() -> None:
    code = (
        "import switchbed\nfrom switchbed.prototype import *\n"
        "class Typed(Marker):\n    def intend(self, *_):\n        return Intent.Pass\n"
        f"s = switchbed.Scenario({tomllib.loads(SINGLE)!r})\n"
        "s = s.with_({'scheme.params': {}}, flows=1_000_000)\n"
        "s = s.with_({'scheme.name': 'python', 'scheme.params': scheme(Typed)['params']})\n"
        "print('begun', flush=True)\n"
        "try:\n    s.run()\nexcept KeyboardInterrupt:\n    print('interrupted')\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "begun\n"
        time.sleep(1)
        child.send_signal(signal.SIGINT)
        rest, _ = child.communicate(timeout=AT_ONCE_S)
    assert rest == "interrupted\n"


def test_a_file_that_runs_a_simulation_as_it_is_imported_is_refused(
    base: sb.Scenario, tmp_path: Path
) -> None:
    scheme = own(tmp_path, "return Intent.Pass")
    with (tmp_path / "mine.py").open("a") as file:
        file.write(
            f"import switchbed\nswitchbed.Scenario.from_file({base.name!r}).with_(scheme={scheme})"
            f".run()\n"
        )
    with pytest.raises(sb.Mistake, match="put that under if __name__ =="):
        base.with_(scheme=scheme).run()


def test_a_view_is_over_when_its_hook_is(base: sb.Scenario, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from switchbed.prototype import *\n"
        "class Mine(Marker):\n"
        "    def intend(self, view, *_): Mine.view = view; return Intent.Pass\n"
        "    def round_time(self): return Mine.view.now_ps\n"
    )
    scheme = {"name": "python", "params": {"file": str(tmp_path / "mine.py"), "class": "Mine"}}
    with pytest.raises(
        sb.Mistake, match="a view may be used only within the hook that it is given"
    ):
        base.with_(scheme=scheme).run()


def test_the_command_line_says_so_too(switchbed: Program, tmp_path: Path) -> None:
    scheme = own(tmp_path, "return None")
    (tmp_path / "s.toml").write_text(SINGLE.replace('name = "per-queue"', 'name = "python"'))
    sets = [f"scheme.params.{k}={v!r}" for k, v in scheme["params"].items()]
    sets = [word for text in sets for word in ("--set", text)]
    # The threshold of the file is no parameter of the class.
    done = switchbed("run", "s.toml", *sets, "--out", "out", code=2)
    assert done.stderr.startswith("switchbed: scheme.params.threshold: is no parameter of Mine")
    assert not list(tmp_path.glob("*out*"))


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("return Intent.Pass", "scheme.params.threshold: is no parameter of Mine, which takes"),
        ("return Intent.Pass\n    def __init__(self, port): 1 / 0", "is no parameter of Mine"),
        ("return Intent.Pass\n    def __init__(self, port, threshold): 1 / 0", "ZeroDivisionError"),
        ("return Intent.Pass\n    def __init__(self, port, threshold, scale): ...", "'scale'"),
        ("return 1 / 0\n    def __init__(self, port, threshold): ...", None),
    ],
)
def test_a_check_makes_the_classes_and_runs_nothing(
    switchbed: Program, tmp_path: Path, body: str, says: str | None
) -> None:
    params = json.dumps(own(tmp_path, body)["params"]).replace(":", " =").replace('"file"', "file")
    params = params.replace('"class"', "class").replace("}", ', threshold = "20pkt" }')
    text = SINGLE.replace('name = "per-queue"', 'name = "python"')
    line = next(line for line in text.splitlines() if "threshold" in line)
    given = line.replace('{ threshold = "20pkt" }', params)
    assert given != line
    (tmp_path / "s.toml").write_text(text.replace(line, given))
    done = switchbed("scenario", "check", "s.toml", "--allow-python", code=0 if says is None else 2)
    assert (says or "") in done.stderr
    assert done.stdout == ("s.toml: ok, 1 run\n" if says is None else "")


COMPARED = (
    TWO_CLASSES.replace('"20pkt" }', f'"20pkt", file = {SCHEMES!r} }}')
    + """
[compare]
scheme = ["per-queue", { name = "python", label = "mine", params = { class = "Step" } }]
seed = [1, 2]
"""
)


def test_side_by_side_on_the_command_line(switchbed: Program, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(COMPARED)
    switchbed("run", "s.toml", "--out", "out", "--tables", "csv")
    places = sorted((tmp_path / "out").glob("0*"))
    assert len(places) == 4
    for rust, ours in zip(places[:2], places[2:], strict=True):
        for table in ("flows", "queues", "ports", "series"):
            assert (rust / f"{table}.csv").read_bytes() == (ours / f"{table}.csv").read_bytes()
    kept = json.loads((places[2] / "manifest.json").read_bytes())["sources"]
    ((copy, digest),) = kept.items()
    assert (places[2] / copy).read_bytes() == Path(SCHEMES).read_bytes()
    assert digest == sources.digest(places[2] / copy) == sources.digest(Path(SCHEMES))
    assert "sources" not in json.loads((places[0] / "manifest.json").read_bytes())


def test_a_sweep_knows_when_a_class_has_changed(switchbed: Program, tmp_path: Path) -> None:
    for name, text in (("mine.py", "from helper import *\n"), ("helper.py", "import json\n")):
        (tmp_path / name).write_text(text)
    (tmp_path / "mine.py").write_text("from helper import Step\n")
    (tmp_path / "helper.py").write_bytes(Path(SCHEMES).read_bytes())
    (tmp_path / "s.toml").write_text(COMPARED.replace(SCHEMES, "mine.py"))

    def sweep() -> str:
        return switchbed("sweep", "s.toml").stdout

    assert "4 ran, 0 kept from before" in sweep()
    assert "0 ran, 4 kept from before" in sweep()
    with (tmp_path / "helper.py").open("a") as helper:
        helper.write("# changed\n")
    assert "2 ran, 2 kept from before" in sweep()


def test_the_key_is_of_the_content_and_not_of_the_place(tmp_path: Path) -> None:
    def of(folder: str, source: str) -> str:
        place = tmp_path / folder
        place.mkdir(exist_ok=True)
        (place / "m.py").write_text(source)
        scheme = {"name": "python", "params": {"file": str(place / "m.py"), "class": "M"}}
        (plan,) = sb.Scenario.from_file(path).with_(scheme=scheme).plans
        return key.of(plan)

    path = tmp_path / "s.toml"
    path.write_text(SINGLE)
    assert of("a", "x = 1") == of("b", "x = 1") != of("a", "x = 2")


def test_files_beside_are_found(tmp_path: Path) -> None:
    for name in ("m", "n", "unused", "pack/__init__", "pack/o", "pack/deep/__init__", "pack/p"):
        (tmp_path / f"{name}.py").parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{name}.py").write_text("")
    (tmp_path / "m.py").write_text("import json, n, numpy\ndef f():\n    from pack import o\n")
    (tmp_path / "pack/o.py").write_text("from . import deep\nfrom .p import q\nimport m\n")
    found = {"m.py", "n.py", "pack/__init__.py", "pack/o.py", "pack/deep/__init__.py", "pack/p.py"}
    assert set(sources.of(tmp_path / "m.py")) == found


def long_run(folder: Path, body: str) -> str:
    """A scenario that takes minutes, of a class that says when it has begun."""
    own(folder, f"print('begun', flush=True)\n        {body}")
    text = SINGLE.replace('name = "per-queue"', 'name = "python"').replace(
        "flows = 300", "flows = 1_000_000"
    )
    text = text.replace('threshold = "20pkt"', 'file = "mine.py", class = "Mine"')
    (folder / "s.toml").write_text(text)
    return "s.toml"


@pytest.mark.parametrize("body", ["return Intent.Pass", "while True: pass"])
def test_ctrl_c_ends_a_run_and_leaves_nothing(
    command: list[str], tmp_path: Path, body: str
) -> None:
    scheme = own(tmp_path, f"print('begun', flush=True)\n        {body}")
    (tmp_path / "s.toml").write_text(SINGLE.replace('name = "per-queue"', 'name = "python"'))
    text = (tmp_path / "s.toml").read_text().replace("20pkt", "20pkt")
    text = text.replace(
        'threshold = "20pkt"', f'file = "{scheme["params"]["file"]}", class = "Mine"'
    )
    (tmp_path / "s.toml").write_text(text)
    arguments = [*command, "run", "s.toml", "--set", "flows=1_000_000", "--out", "out"]
    with subprocess.Popen(
        arguments, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "begun\n"
        children = children_of(process.pid)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=AT_ONCE_S)
    assert process.returncode == 130
    assert "interrupted; nothing kept" in errors
    assert "Traceback" not in errors
    assert not list(tmp_path.glob("*out*"))
    assert len(children) == 1
    assert not Path(f"/proc/{children[0]}").exists()


@pytest.mark.parametrize("body", ["return Intent.Pass", "while True: pass"])
def test_a_run_ends_when_nobody_waits_for_it(command: list[str], tmp_path: Path, body: str) -> None:
    arguments = [*command, "run", long_run(tmp_path, body)]
    with subprocess.Popen(
        arguments, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "begun\n"
        (child,) = children_of(process.pid)
        process.kill()
    end = time.monotonic() + HANGS_S
    while Path(f"/proc/{child}").exists():
        assert time.monotonic() < end
        time.sleep(0.02)


def children_of(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += (task / "children").read_text().split()
    return [int(child) for child in found]
