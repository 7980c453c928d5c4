//! Golden traces of schemes: packets worked out by hand from a paper, as a table with the arithmetic
//! beside it. `tests/golden/` has those of the markers here; [`check`] plays one of any scheme.
//!
//! A table opens with its setting, a word and its values a line:
//!
//! | word | values |
//! | --- | --- |
//! | `params` | the scheme's parameters, `threshold=3us` |
//! | `quanta` | bytes a queue, served by DWRR; a byte takes a nanosecond on the line (8 Gbps) |
//! | `buffer` | bytes that the queues share; unlimited if left out |
//!
//! Then rows of `time in ns | operation | outcome`:
//!
//! | operation | outcome |
//! | --- | --- |
//! | `arrive QUEUE BYTES [not-ect]`, `[ce]` marked upstream | `in`, `mark` (stored with a note), or `drop REASON`; before it `out BYTES,` for each packet that it pushed out |
//! | `send` | `QUEUE BYTES [CE] until NS` (`ce`: an upstream mark alone), or `empty` |
//!
//! A blank line or `#` is a comment.

use crate::memory::SwitchMemory;
use crate::port::arena::{Arena, Note};
use crate::port::packet::{Ecn, Packet};
use crate::port::{Cx, Dequeued, Enqueued, Outcome, Qdisc};
use crate::schemes::definition::{Choice, SchemeInfo};
use crate::schemes::site::Site;
use crate::switch::{BufferPolicy, Classify, Discipline, Sharing, StrictOrder, Switch, Unmarkable};
use switchbed_config::param::Values;
use switchbed_units::random::NoRandom;
use switchbed_units::{Bytes, Rate, Time};

/// Plays a table with a scheme.
///
/// # Errors
/// The rows that come out otherwise, a line each, or what is wrong with the table.
pub fn check(scheme: &'static SchemeInfo, table: &str) -> Result<(), String> {
    let mut setting = Setting::default();
    let mut wrong = Vec::new();
    let mut played = None;
    for (number, line) in (1..).zip(table.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        let at = |why: String| format!("line {number}: {why}");
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        match cells[..] {
            [""] => {}
            [line] => setting.read(scheme, line).map_err(at)?,
            [time, operation, expected] => {
                let port = match &mut played {
                    Some(port) => port,
                    None => played.insert(Played::new(scheme, &setting)?),
                };
                let got = port.row(time, operation).map_err(at)?;
                if got != expected {
                    wrong.push(at(format!("{operation}: {got} instead of {expected}")));
                }
            }
            _ => return Err(at(format!("{} columns: there are three", cells.len()))),
        }
    }
    match wrong.is_empty() {
        true if played.is_none() => Err("the table has no rows".to_owned()),
        true => Ok(()),
        false => Err(wrong.join("\n")),
    }
}

#[derive(Default)]
struct Setting {
    params: Values,
    quanta: Vec<Bytes>,
    buffer: Option<Bytes>,
}

impl Setting {
    fn read(&mut self, scheme: &SchemeInfo, line: &str) -> Result<(), String> {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("params") => {
                for word in words {
                    let (key, text) = word.split_once('=').ok_or(format!("{word} has no ="))?;
                    let param = scheme.params.iter().find(|param| param.name == key);
                    let param = param.ok_or(format!("{} has no parameter {key}", scheme.name))?;
                    self.params.insert(key.to_owned(), param.kind.parse(text)?);
                }
            }
            Some("quanta") => self.quanta = words.map(bytes).collect::<Result<_, _>>()?,
            Some("buffer") => self.buffer = words.next().map(bytes).transpose()?,
            word => return Err(format!("{word:?}: must be params, quanta or buffer")),
        }
        Ok(())
    }

    fn switch(&self) -> Switch {
        Switch {
            queues: self.quanta.len() as u16,
            classify: Classify::Class,
            discipline: Discipline::Dwrr,
            strict: 0,
            strict_order: StrictOrder::Lowest,
            quantum: self.quanta.clone(),
            buffer: self.buffer.unwrap_or(Bytes::MAX),
            memory: None,
            policy: BufferPolicy::Shared,
            pool: None,
            alpha: None,
            sharing: Sharing::default(),
            unmarkable: Unmarkable::Drop,
            pfc: None,
            trimming: None,
            queue: Vec::new(),
        }
    }
}

fn bytes(text: &str) -> Result<Bytes, String> {
    text.parse().map(Bytes::new).map_err(|_| format!("{text}: must be a number of bytes"))
}

/// A port whose table is played.
struct Played {
    port: Box<dyn Qdisc>,
    arena: Arena,
    memory: SwitchMemory,
    out: Outcome,
}

impl Played {
    fn new(scheme: &'static SchemeInfo, setting: &Setting) -> Result<Played, String> {
        if setting.quanta.is_empty() {
            return Err("quanta are missing: write `quanta 1000`".to_owned());
        }
        let choice: Choice = scheme
            .with(setting.params.clone())
            .map_err(|unfit| format!("params: {}: {}", unfit.param, unfit.why))?;
        let switch = setting.switch();
        let (rate, mtu) = (Rate::from_gbps(8), setting.quanta[0]);
        let port = choice.build(Site::new(&switch, choice.layout(1), 1, rate, mtu)).port();
        let (arena, memory) = (Arena::new(), SwitchMemory::new(Bytes::MAX));
        Ok(Played { port, arena, memory, out: Outcome::default() })
    }

    fn row(&mut self, time: &str, operation: &str) -> Result<String, String> {
        let ns: u64 = time.parse().map_err(|_| format!("{time}: must be a time in ns"))?;
        let Played { port, arena, memory, out } = self;
        let now = Time::from_ps(ns * 1_000);
        operate(port.as_mut(), &mut Cx { now, arena, memory, rng: &mut NoRandom, out }, operation)
    }
}

/// Carries an operation out, and returns its outcome in the table's words.
///
/// # Errors
/// The operation is none.
pub fn operate(port: &mut dyn Qdisc, cx: &mut Cx, operation: &str) -> Result<String, String> {
    let words: Vec<&str> = operation.split_whitespace().collect();
    let none = || format!("{operation}: must be `arrive QUEUE BYTES [not-ect]` or `send`");
    match words.as_slice() {
        ["arrive", queue, bytes, rest @ ..] => {
            let ecn = match rest {
                [] => Ecn::Ect0,
                ["not-ect"] => Ecn::NotEct,
                ["ce"] => Ecn::Ce,
                _ => return Err(none()),
            };
            let class = queue.parse().map_err(|_| none())?;
            let len_bytes = bytes.parse().map_err(|_| none())?;
            let slot = cx.arena.alloc(Packet { class, len_bytes, ecn, ..Packet::default() });
            let answer = port.enqueue(slot, cx);
            let out = cx.out.dropped.drain(..);
            let mut words: Vec<String> = out
                .map(|dropped| format!("out {},", cx.arena.packet(dropped.slot).len_bytes))
                .collect();
            words.push(match answer {
                Enqueued::In(_) if cx.arena.note(slot) == Note::Mark => "mark".into(),
                Enqueued::In(_) => "in".into(),
                Enqueued::Dropped(_, why) => format!("drop {}", why.name()),
            });
            Ok(words.join(" "))
        }
        ["send"] => Ok(match port.dequeue(cx) {
            Dequeued::Sent { slot, queue, until, marked } => {
                let packet = cx.arena.packet(slot);
                let ce = match (marked, packet.ecn) {
                    (true, Ecn::Ce) => " CE",
                    (false, Ecn::Ce) => " ce",
                    (marked, _) => ["", " without its CE"][marked as usize],
                };
                format!("{queue} {}{ce} until {}", packet.len_bytes, until.as_ps() / 1_000)
            }
            Dequeued::Empty => "empty".into(),
            Dequeued::NotBefore(time) => format!("not before {}", time.as_ps() / 1_000),
        }),
        _ => Err(none()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schemes::find;

    const TABLE: &str = "# TCN
        params threshold=3us
        quanta 1000
        0 | arrive 0 1000 | in # the line takes 1000 ns
        0 | arrive 0 1000 not-ect | in
        0 | send | 0 1000 until 1000
        4000 | send | 0 1000 until 5000
        5000 | send | empty";

    #[test]
    fn a_table_that_comes_out_as_written_passes() {
        assert_eq!(check(find("tcn").unwrap(), TABLE), Ok(()));
    }

    #[test]
    fn what_comes_out_otherwise_is_named_by_its_line() {
        let of = |table: &str| check(find("tcn").unwrap(), table);
        let marked = of(&TABLE.replace(" not-ect", ""));
        let said = "line 7: send: 0 1000 CE until 5000 instead of 0 1000 until 5000";
        assert_eq!(marked, Err(said.to_owned()));
        for (table, says) in [
            ("", "the table has no rows"),
            ("0 | send | empty", "quanta are missing"),
            ("quanta 1000\n0 | send | empty", "params: threshold: "),
            ("params treshold=3us", "line 1: tcn has no parameter treshold"),
            ("params threshold=3KB", "line 1: "),
            ("quanta 1KB", "line 1: 1KB: must be a number of bytes"),
            ("quanta 1000\nparams threshold=3us\n0 | leave | in", "line 3: leave: must be "),
            ("quanta 1000\n0 | send", "line 2: 2 columns: there are three"),
        ] {
            let why = of(table).expect_err(table);
            assert!(why.starts_with(says), "{why}");
        }
    }
}
