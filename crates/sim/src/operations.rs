//! Operations of programs as they were done: the table `operations`.

use crate::course::NONE;
use crate::node::host::{Did, Programs};
use crate::table::{Names, Table, Values};
use switchbed_scenario::traffic::program::{Schedule, Work};
use switchbed_units::Time;

/// Operations that are written down.
#[derive(Debug, Default)]
pub(crate) struct Operations {
    /// Most of them; 0: nobody asks.
    most: u64,
    done: Vec<Did>,
    /// When the first came that there was no space for.
    full: Option<Time>,
}

impl Operations {
    /// Keeps so many.
    pub(crate) fn new(most: u64) -> Operations {
        Operations { most, ..Operations::default() }
    }

    /// Takes in what ranks have done.
    pub(crate) fn take(&mut self, done: impl Iterator<Item = Did>) {
        let mut done: Vec<Did> = done.collect();
        // In an order that shards do not change.
        done.sort_unstable_by_key(|of| (of.ended, of.entry, of.nth, of.number));
        for of in done {
            match (self.done.len() as u64) < self.most {
                true => self.done.push(of),
                false => self.full = self.full.or(Some(of.ended)),
            }
        }
    }

    /// When the table was full, if it was.
    pub(crate) fn full(&self) -> Option<Time> {
        self.full
    }

    /// The table; `None`: nobody asked for it.
    pub(crate) fn table(&mut self, programs: &Programs) -> Option<Table> {
        if self.most == 0 {
            return None;
        }
        let mut done = std::mem::take(&mut self.done);
        done.sort_unstable_by_key(|of| (of.entry, of.nth, of.number));
        let rows: Vec<Row> =
            done.iter().filter_map(|of| Some(Row::new(of, programs.schedule(of.entry)?))).collect();
        let u32s = |of: fn(&Row) -> u32| Values::U32(rows.iter().map(of).collect());
        let f64s = |of: fn(&Row) -> f64| Values::F64(rows.iter().map(of).collect());
        Some(Table::new([
            ("traffic", "", "its place among `[[traffic]]`, from 0", u32s(|of| of.entry)),
            ("repetition", "", "the repetition, from 0, warm-up included", u32s(|of| of.nth)),
            ("rank", "", "the rank that did it", u32s(|of| of.rank)),
            ("host", "", "the rank's host", u32s(|of| of.host)),
            ("operation", "", "its number at the rank, from 0", u32s(|of| of.number)),
            (
                "kind",
                "",
                "send, receive or calculate",
                Values::Names(rows.iter().map(|of| of.kind).collect::<Names>()),
            ),
            ("peer", "", "the other rank of its message; null: it has none", f64s(|of| of.peer)),
            (
                "row",
                "",
                "its message's row in the table flows; null: it has none",
                f64s(|of| of.row),
            ),
            (
                "start_s",
                "s",
                "when it had all that it waited for; a receive: also its message",
                f64s(|of| of.start_s),
            ),
            (
                "end_s",
                "s",
                "when it was done; a send: when all was acknowledged",
                f64s(|of| of.end_s),
            ),
            (
                "after",
                "",
                "the operation of its rank that it waited for last; null: it began with the repetition, or with \
                 its message",
                f64s(|of| of.after),
            ),
        ]))
    }
}

/// A row of the table.
struct Row {
    entry: u32,
    nth: u32,
    rank: u32,
    host: u32,
    number: u32,
    kind: &'static str,
    peer: f64,
    row: f64,
    start_s: f64,
    end_s: f64,
    after: f64,
}

impl Row {
    fn new(of: &Did, program: &Schedule) -> Row {
        let rank = program.rank_of(of.number);
        let first = program.of_rank(rank).start;
        let (kind, message) = match program.operation(of.number).work {
            Work::Send(message, _) => ("send", Some(message)),
            Work::Receive(_) => ("receive", Some(of.origin.message).filter(|&of| of != NONE)),
            Work::Calculate(..) => ("calculate", None),
        };
        let message = message.map(|nth| program.message(nth));
        let before = u64::from(of.nth) * u64::from(program.message_count());
        let number = |known: Option<f64>| known.unwrap_or(f64::NAN);
        let other = |of: u32, to: u32| f64::from(if of == rank { to } else { of });
        let after = Some(of.origin.after).filter(|&after| after != NONE);
        Row {
            entry: of.entry,
            nth: of.nth,
            rank,
            host: program.hosts[rank as usize].0,
            number: of.number - first,
            kind,
            peer: number(message.map(|message| other(message.from, message.to))),
            row: number(message.map(|message| (before + u64::from(message.row)) as f64)),
            start_s: of.origin.began.as_secs_f64(),
            end_s: of.ended.as_secs_f64(),
            after: number(after.map(|after| f64::from(after - first))),
        }
    }
}
