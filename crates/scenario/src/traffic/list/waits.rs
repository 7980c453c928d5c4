//! Flow lists whose flows wait for others: such a list is a program of its hosts.

use super::List;
use super::reader::Reader;
use crate::traffic::program::{Draft, Envelope, Schedule, Step};
use crate::traffic::{ConnectionUse, FlowStart, Hosts, ListError};
use std::collections::HashMap;
use std::path::Path;
use switchbed_config::text::shown;
use switchbed_units::ids::HostId;
use switchbed_units::{Span, Time};

/// Channels of a list's connections.
pub(super) struct Channels {
    rows: u32,
    shared: HashMap<(ConnectionUse, u8), u32>,
}

impl Channels {
    /// Channels of so many rows.
    pub(super) fn new(rows: usize) -> Channels {
        Channels { rows: rows as u32, shared: HashMap::new() }
    }

    /// The channel of a row.
    pub(super) fn of(&mut self, row: u32, connection: ConnectionUse, class: u8) -> u32 {
        match connection {
            ConnectionUse::Fresh | ConnectionUse::FreshNoHandshake => row,
            kind => {
                // Behind those that rows have of their own, and one for signals.
                let next = self.rows + 1 + self.shared.len() as u32;
                // A key's flows share one whatever their class.
                let of = if let ConnectionUse::Keyed(_) = kind { 0 } else { class };
                *self.shared.entry((kind, of)).or_insert(next)
            }
        }
    }
}

/// A row of such a list.
struct Row {
    flow: FlowStart,
    line: Option<u64>,
    id: String,
    after: Vec<String>,
    delay: Span,
}

impl List {
    /// Schedule of the hosts that a table names; `None`: it lacks the column `after`.
    ///
    /// # Errors
    /// A row that is wrong, an id that is there twice, one that is not there or not of the row's source, and
    /// flows that wait for each other.
    pub(super) fn table_schedule(&self, hosts: &Hosts) -> Result<Option<Schedule>, ListError> {
        let connection = self.carried.connections.into();
        let mut reader = Reader::open(Path::new(&self.file), hosts.clone(), connection)?;
        if !reader.waits() {
            return Ok(None);
        }
        let mut rows = Vec::new();
        while let Some(flow) = reader.next()? {
            let (id, after) = (reader.id().to_owned(), reader.after());
            rows.push(Row { flow, line: reader.line(), id, after, delay: reader.delay()? });
        }
        let mut ids: HashMap<&str, usize> = HashMap::new();
        for (nth, row) in rows.iter().enumerate().filter(|(_, row)| !row.id.is_empty()) {
            if ids.insert(&row.id, nth).is_some() {
                let what = format!("`{}` is there twice; give each flow its own", shown(&row.id));
                return Err(reader.wrong(row.line, reader.place("id"), what));
            }
        }
        let mut ends: Vec<HostId> =
            rows.iter().flat_map(|row| [row.flow.src, row.flow.dst]).collect();
        ends.sort_unstable();
        ends.dedup();
        let rank = |host: HostId| ends.partition_point(|&other| other < host) as u32;
        let mut draft = Draft::new(ends.len() as u32);
        let mut channels = Channels::new(rows.len());
        let mut steps: Vec<(Step, Step, Step)> = Vec::with_capacity(rows.len());
        for (nth, row) in (0..).zip(&rows) {
            let FlowStart { src, dst, class, path, .. } = row.flow;
            let channel = channels.of(nth, row.flow.connection, class);
            let bytes = row.flow.size.unwrap_or_default();
            let envelope = Envelope { to: rank(dst), tag: nth, bytes, channel, class, path };
            let start = row.flow.start.since(Time::ZERO);
            // On a processor of its own, so that no flow waits for another's delay.
            let begins = draft.calculate((rank(src), 2 * nth), start, &[]);
            let waits = draft.calculate((rank(src), 2 * nth + 1), row.delay, &[begins]);
            let sent = draft.send(rank(src), envelope, &[waits]);
            let received = draft.receive((rank(dst), rank(src)), nth, &[]);
            let label = match row.id.is_empty() {
                true => format!("flow {nth}"),
                false => row.id.clone(),
            };
            for step in [begins, waits, sent, received] {
                draft.label(step, &label);
            }
            steps.push((waits, sent, received));
        }
        for (row, &(waits, ..)) in rows.iter().zip(&steps) {
            for id in &row.after {
                let wrong = |what: String| reader.wrong(row.line, reader.place("after"), what);
                let Some(&other) = ids.get(&**id) else {
                    return Err(wrong(format!("no flow has the id `{}`", shown(id))));
                };
                let (src, flow, (_, sent, received)) =
                    (row.flow.src, &rows[other].flow, steps[other]);
                if flow.src == src {
                    draft.order(sent, waits);
                } else if flow.dst == src {
                    draft.order(received, waits);
                } else {
                    let (id, from, to) = (shown(id), flow.src, flow.dst);
                    return Err(wrong(format!(
                        "`{id}` goes from host {from} to host {to}: a flow of host {src} waits for what that host \
                         sends or receives"
                    )));
                }
            }
        }
        let program = draft.finish(ends.clone(), Time::ZERO);
        let program = program.map_err(|fault| {
            let fault = fault.renamed(|rank| ends[rank as usize].0);
            reader.wrong(None, reader.place("after"), fault.of("host"))
        });
        program.map(Some)
    }
}
