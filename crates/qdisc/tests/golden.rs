//! Golden traces: packet sequences worked out by hand from the papers, as tables in
//! `golden/*.txt` with the arithmetic beside them, a file a family. Each row is one operation; its
//! outcome and the state after it must come out as written. A new table is a new test case.
//!
//! A table opens with its name and its setting, a word and its values a line:
//!
//! | word | values |
//! | --- | --- |
//! | `table` | its name, which begins the next table |
//! | `scheduler` | `fifo`, `rr`, `wrr`, `dwrr`, `wfq`; with `strict N` in front, N priority queues above |
//! | `quanta` | bytes a queue |
//! | `marker` | `none`, `per-queue`, `per-queue-min`, `per-port`, `mq-ecn`, `red`; `K=` bytes, `at=enqueue` or `dequeue` |
//! | … `mq-ecn` | `beta=`, `t_idle=` ns or `clock=` ns; `share=weights`; what `red` takes |
//! | … `red` | `kmax=` bytes (K is Kmin; equal if left out), `pmax=`, `weight=`, `packet_time=` ns |
//! | … `cedm` | `K2=`, `w_s=`, `header=` bytes |
//! | … `e-ecn`, `s-ecn` | `t_i=` ns; `t_a=` ns, `slope=` bit/s |
//! | … `random-mark` | `K=` |
//! | … `pmsb` | `K=` of the port |
//! | … `tcn` | `T=` ns |
//! | `draws` | the number that every random draw gives; none is drawn if left out |
//! | `picks` | what draws below an n give, in order |
//! | `buffer` | bytes that the queues share; unlimited if left out; or `tail` or `random`, bytes of each queue, bytes of a cell |
//!
//! The line runs at 8 Gbps, so that a byte takes a nanosecond. Then rows of
//! `time in ns | operation | outcome | deficits | T_round in ns | thresholds in bytes`:
//!
//! Operations and outcomes are those of [`switchbed_qdisc::golden`].
//!
//! A column that the scheme does not have holds `-`; a blank line or `#` is a comment.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use switchbed_qdisc::classifier::ByClass;
use switchbed_qdisc::golden::operate;
use switchbed_qdisc::hooks::{Buffer, Marker, Nobody, Scheduler};
use switchbed_qdisc::memory::{Crosspoint, Overflow, Shared};
use switchbed_qdisc::port::{Cx, Outcome};
use switchbed_qdisc::schedulers::{Dwrr, Fifo, RoundRobin, Strict, Wfq, Wrr};
use switchbed_qdisc::schemes::{
    Cedm, CedmSettings, EEcn, MarkAt, MqEcn, Pmsb, RandomMark, Red, RedSettings, Rounds, SEcn,
    Share, Slope, Spacing, Step, Tcn, Timed, Weights,
};
use switchbed_qdisc::{Arena, Port, PortState, Qdisc, QueueId, QueueSet, Seats, SwitchMemory};
use switchbed_units::random::{NoRandom, Random};
use switchbed_units::{Bytes, Rate, Span, Time};

/// A table's setting.
#[derive(Default)]
struct Setting {
    scheduler: String,
    strict: QueueId,
    quanta: Vec<Bytes>,
    marker: Vec<String>,
    buffer: Vec<String>,
    draws: Option<f64>,
    picks: Picks,
}

/// Draws below an n give what is written.
#[derive(Clone, Default)]
struct Picks(VecDeque<u64>);

impl Random for Picks {
    fn next_u64(&mut self) -> u64 {
        NoRandom.next_u64()
    }
    fn below(&mut self, n: u64) -> u64 {
        let pick = self.0.pop_front().expect("one more draw than is written");
        assert!(pick < n, "{pick} is written where a number below {n} is drawn");
        pick
    }
}

/// The same number at every draw.
struct Fixed(f64);

impl Random for Fixed {
    fn next_u64(&mut self) -> u64 {
        (self.0 * (1u64 << 53) as f64) as u64 * (1 << 11)
    }
}

#[test]
fn every_table_comes_out_as_written() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut tables: Vec<PathBuf> =
        fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    tables.retain(|path| path.extension().is_some_and(|ext| ext == "txt"));
    tables.sort();
    assert!(!tables.is_empty());
    let texts: Vec<String> = tables.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let parted: Vec<(&str, &str)> = texts.iter().flat_map(|text| parted(text)).collect();
    assert!(parted.len() >= 37, "{} tables, of 37 that were written", parted.len());
    let wrong: Vec<String> =
        parted.iter().flat_map(|(name, text)| play_table(name, text)).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The tables of a file: each name, and the text behind it.
fn parted(text: &str) -> Vec<(&str, &str)> {
    let tables = text.strip_prefix("table ").expect("a file begins with the name of a table");
    tables.split("\ntable ").map(|table| table.split_once('\n').unwrap()).collect()
}

/// Plays a table; the rows that come out differently, numbered from the line behind its name.
fn play_table(name: &str, text: &str) -> Vec<String> {
    let mut setting = Setting::default();
    let mut rows = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap().trim();
        if line.contains('|') {
            let cells: Vec<String> = line.split('|').map(|cell| cell.trim().to_owned()).collect();
            assert_eq!(cells.len(), 6, "{name}:{number}: six columns");
            rows.push((format!("{name}:{number}"), cells));
        } else if let Some((word, values)) = line.split_once(char::is_whitespace) {
            setting.read(word, values);
        }
    }
    assert!(!rows.is_empty(), "{name}: no rows");
    setting.markers().into_iter().flat_map(|m| play_with(&setting, &rows, m)).collect()
}

type Rows = [(String, Vec<String>)];
type AnyMarker = Box<dyn Marker + Send>;

fn play_with(setting: &Setting, rows: &Rows, m: AnyMarker) -> Vec<String> {
    let queues = setting.quanta.len();
    match (setting.scheduler.as_str(), setting.strict) {
        ("fifo", 0) => play(setting, rows, m, Fifo, |_, _| None),
        ("rr", 0) => play(setting, rows, m, RoundRobin::default(), |_, _| None),
        ("wfq", 0) => play(setting, rows, m, Wfq::new(queues), |_, _| None),
        ("wrr", 0) => play(setting, rows, m, Wrr::new(queues), |s, q| Some(s.deficit_bytes(q))),
        ("dwrr", 0) => play(setting, rows, m, Dwrr::new(queues), |s, q| Some(s.deficit_bytes(q))),
        ("dwrr", n) => play(setting, rows, m, Strict::new(n, Dwrr::new(queues)), |_, _| None),
        ("wfq", n) => play(setting, rows, m, Strict::new(n, Wfq::new(queues)), |_, _| None),
        ("rr", n) => play(setting, rows, m, Strict::new(n, RoundRobin::default()), |_, _| None),
        other => panic!("no such scheduler: {other:?}"),
    }
}

impl Setting {
    fn read(&mut self, word: &str, values: &str) {
        let values: Vec<&str> = values.split_whitespace().collect();
        let bytes = |text: &str| Bytes::new(text.parse().unwrap());
        match (word, values.as_slice()) {
            ("scheduler", [name]) => self.scheduler = (*name).to_owned(),
            ("scheduler", ["strict", n, name]) => {
                self.strict = n.parse().unwrap();
                self.scheduler = (*name).to_owned();
            }
            ("quanta", quanta) => self.quanta = quanta.iter().map(|q| bytes(q)).collect(),
            ("marker", words) => self.marker = words.iter().map(|&w| w.to_owned()).collect(),
            ("buffer", words) => self.buffer = words.iter().map(|&w| w.to_owned()).collect(),
            ("picks", picks) => {
                self.picks = Picks(picks.iter().map(|pick| pick.parse().unwrap()).collect());
            }
            ("draws", [number]) => self.draws = number.parse().ok(),
            other => panic!("no such setting: {other:?}"),
        }
    }

    fn maybe(&self, key: &str) -> Option<&str> {
        self.marker.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }

    fn value<T: FromStr>(&self, key: &str) -> T {
        let value = self.maybe(key).unwrap_or_else(|| panic!("the marker has no {key}"));
        value.parse().ok().unwrap_or_else(|| panic!("{key} = {value}"))
    }

    fn buffer(&self) -> Box<dyn Buffer + Send> {
        let bytes = |text: &str| Bytes::new(text.parse().unwrap());
        let words: Vec<&str> = self.buffer.iter().map(String::as_str).collect();
        let overflow = match words.as_slice() {
            [] => return Box::new(Shared { limit: Bytes::MAX }),
            [limit] => return Box::new(Shared { limit: bytes(limit) }),
            ["tail", ..] => Overflow::Tail,
            ["random", ..] => Overflow::Random,
            other => panic!("no such buffer: {other:?}"),
        };
        Box::new(Crosspoint::new(bytes(words[1]), bytes(words[2]), overflow, self.quanta.len()))
    }

    fn k(&self) -> Bytes {
        Bytes::new(self.value("K"))
    }

    fn ns(&self, key: &str) -> Span {
        Span::from_ns(self.value(key))
    }

    fn at(&self) -> MarkAt {
        match self.value::<String>("at").as_str() {
            "enqueue" => MarkAt::Enqueue,
            "dequeue" => MarkAt::Dequeue,
            other => panic!("marks at {other}?"),
        }
    }

    /// The markers that must all do what the table says.
    fn markers(&self) -> Vec<AnyMarker> {
        let queues = self.quanta.len();
        let marker: AnyMarker = match self.marker[0].as_str() {
            "none" => Box::new(Nobody),
            "per-queue" => Box::new(Step::per_queue(self.k(), queues, self.at())),
            "per-queue-min" => Box::new(Step::per_queue_min(self.k(), &self.quanta, self.at())),
            "per-port" => Box::new(Step::per_port(self.k(), queues, self.at())),
            "mq-ecn" => return self.mq_ecn(),
            "red" => Box::new(Red::new(self.red(self.ns("packet_time")), queues)),
            "cedm" => {
                let (k2, header) = (Bytes::new(self.value("K2")), Bytes::new(self.value("header")));
                let weight = self.value("w_s");
                Box::new(Cedm::new(CedmSettings { k1: self.k(), k2, weight, header }, queues))
            }
            "pmsb" => Box::new(Pmsb::new(self.k(), &self.quanta)),
            "tcn" => Box::new(Tcn { threshold: self.ns("T") }),
            "random-mark" => Box::new(RandomMark { threshold: self.k() }),
            "e-ecn" => Box::new(EEcn::new(self.k(), self.ns("t_i"), self.ns("t_a"), queues)),
            "s-ecn" => {
                let slope = Rate::from_bps(self.value("slope"));
                Box::new(SEcn::new(self.ns("t_i"), Slope::Rate(slope), queues))
            }
            other => panic!("no such marker: {other}"),
        };
        vec![marker]
    }

    /// The general form, and before it the common one where that is the same.
    fn mq_ecn(&self) -> Vec<AnyMarker> {
        let (beta, strict) = (self.value("beta"), QueueSet::first_of(self.strict.into()));
        let general = |packet_time, share: Box<dyn Share + Send>| -> AnyMarker {
            Box::new(Red::scaled(self.red(packet_time), share, self.quanta.len()))
        };
        let by_weights = self.maybe("share") == Some("weights");
        if self.maybe("clock").is_some() {
            let clock = self.ns("clock");
            let share = if by_weights { Timed::weights } else { Timed::rounds };
            return vec![general(clock, Box::new(share(beta, clock, strict)))];
        }
        let t_idle = self.ns("t_idle");
        if by_weights {
            return vec![general(t_idle, Box::new(Weights::new(beta, t_idle, strict)))];
        }
        let rounds = Rounds::new(beta, t_idle, strict);
        let mut markers = vec![general(t_idle, Box::new(rounds))];
        if self.maybe("kmax").is_none() && self.maybe("weight").is_none() {
            markers.insert(0, Box::new(MqEcn::new(self.k(), rounds, self.at())));
        }
        markers
    }

    fn red(&self, packet_time: Span) -> RedSettings {
        let kmax = self.maybe("kmax").map_or(self.k(), |_| Bytes::new(self.value("kmax")));
        RedSettings {
            kmin: self.k(),
            kmax,
            pmax: self.maybe("pmax").map_or(1.0, |_| self.value("pmax")),
            weight: self.maybe("weight").map_or(1.0, |_| self.value("weight")),
            gentle: false,
            spacing: Spacing::Geometric,
            packet_time,
            at: self.at(),
        }
    }
}

fn play<S: Scheduler + Send>(
    setting: &Setting,
    rows: &Rows,
    marker: AnyMarker,
    scheduler: S,
    deficit: fn(&S, QueueId) -> Option<u64>,
) -> Vec<String> {
    let seats = Seats::new(ByClass, setting.buffer(), marker, scheduler, Nobody);
    let mut picks = setting.picks.clone();
    let state = PortState::new(Rate::from_gbps(8), &setting.quanta);
    let mut port = Port::new(state, seats);
    let (mut arena, mut memory) = (Arena::new(), SwitchMemory::new(Bytes::MAX));
    let mut out = Outcome::default();
    let queues = || 0..setting.quanta.len() as QueueId;
    let mut wrong = Vec::new();
    for (place, cells) in rows {
        let now = Time::from_ps(cells[0].parse::<u64>().expect(place) * 1_000);
        let mut fixed = setting.draws.map(Fixed);
        let rng: &mut dyn Random = match &mut fixed {
            Some(fixed) => fixed,
            None => &mut picks,
        };
        let mut cx = Cx { now, arena: &mut arena, memory: &mut memory, rng, out: &mut out };
        let outcome = operate(&mut port, &mut cx, &cells[1]).expect(place);
        let deficits: Vec<String> = queues()
            .filter_map(|q| deficit(port.scheme().scheduler(), q))
            .map(|bytes| bytes.to_string())
            .collect();
        let round: Vec<f64> =
            port.round_time().iter().map(|span| span.as_ps() as f64 / 1e3).collect();
        let thresholds: Vec<f64> =
            queues().filter_map(|q| port.threshold_bytes(now, &arena, &memory, q)).collect();
        let mut check = |what: &str, expected: &str, same: bool, got: String| {
            if !same {
                wrong.push(format!("{place}: {what} {got} instead of {expected}"));
            }
        };
        check("outcome", &cells[2], cells[2] == outcome, outcome.clone());
        let deficits = if deficits.is_empty() { "-".to_owned() } else { deficits.join(" ") };
        check("deficits", &cells[3], cells[3] == deficits, deficits.clone());
        // T_round is shown in whole picoseconds; thresholds as written to six decimals.
        check("T_round", &cells[4], close(&cells[4], &round, 0.002), format!("{round:?}"));
        check(
            "thresholds",
            &cells[5],
            close(&cells[5], &thresholds, 1e-6),
            format!("{thresholds:?}"),
        );
    }
    if !picks.0.is_empty() {
        wrong.push(format!("{}: picks are left: {:?}", rows[0].0, picks.0));
    }
    wrong
}

/// Whether the numbers are those that are written, `-` for none.
fn close(written: &str, got: &[f64], tolerance: f64) -> bool {
    let numbers: Vec<f64> =
        written.split_whitespace().filter(|w| *w != "-").map(|w| w.parse().unwrap()).collect();
    numbers.len() == got.len() && numbers.iter().zip(got).all(|(a, b)| (a - b).abs() <= tolerance)
}
