//! Schedules of operations from a file in GOAL, as text or in LogGOPSim's binary form.

mod binary;
mod text;

use super::flow::{Begun, Wrong};
use super::keys::check_class;
use super::program::{Name, Program, Schedule};
use super::{Around, Expected, HostSet, Hosts, ListError, Placement, Site, Source};
use crate::file::FILE;
use std::io::BufReader;
use switchbed_config::param::Unfit;
use switchbed_config::params;
use switchbed_units::ids::HostId;
use switchbed_units::{Span, Time};

params! {
    /// Operations of ranks that wait for each other, from a file.
    pub struct Goal {
        /// The file, found from the scenario's folder, in GOAL as LogGOPSim reads it, text or binary: send, recv
        /// and calc (in ns), requires and irequires.
        file: String as FILE;
        /// The ranks' hosts, rank 0 first. all: as many as the file has ranks, from host 0.
        ranks: HostSet = "all";
        /// How ranks are dealt to these hosts: as listed, or drawn by the seed.
        placement: Placement = "listed";
        /// Time that each message takes of its rank's processor, before it is sent and after it has come (LogGOPSim's
        /// o). Its gaps and latency are the network's.
        overhead: Span = "0us";
        /// The class of its packets.
        class: u8 = "0";
        /// When it starts.
        start: Span = "0us";
        /// Place of an entry above among the traffic, from 0: a collective or a schedule. A host that has a part in
        /// it begins when that is done.
        after: Option<u32>;
    }
}

impl Goal {
    fn wrong(&self, line: Option<u64>, what: String) -> ListError {
        ListError { file: self.file.clone(), line, column: None, what }
    }

    /// Label of an operation, found by reading the text again: labels are not kept, since only a mistake needs them.
    fn label(&self, rank: u32, nth: u32) -> Option<String> {
        let file = std::fs::File::open(&self.file).ok()?;
        let mut found = None;
        let mut labelled = |of: u32, number: u32, label: &str| {
            if (of, number) == (rank, nth) {
                found = Some(label.to_owned());
            }
        };
        text::read(&mut BufReader::new(file), self.class, &mut labelled).ok()?;
        found
    }

    /// Reads the program of the ranks, on the hosts that a seed deals them to.
    ///
    /// # Errors
    /// A file that cannot be read or is no schedule; more ranks than hosts; a message that only one side has, or
    /// operations that wait for each other.
    pub fn read(&self, seed: u64, place: usize) -> Result<Schedule, ListError> {
        let unreadable =
            |error: std::io::Error| self.wrong(None, format!("cannot read the schedule: {error}"));
        let is_binary = binary::is_one(&self.file).map_err(unreadable)?;
        let (ranks, draft) = match is_binary {
            true => binary::read(&self.file, self.class).map_err(|what| self.wrong(None, what))?,
            false => {
                let file = std::fs::File::open(&self.file).map_err(unreadable)?;
                let read = text::read(&mut BufReader::new(file), self.class, &mut |_, _, _| {});
                read.map_err(|(line, what)| self.wrong(Some(line), what))?
            }
        };
        let there = self.ranks.len();
        if ranks as usize > there {
            let what = format!("{ranks} ranks, and traffic.ranks are {there} hosts");
            return Err(self.wrong(None, what));
        }
        let hosts = self.placement.deal(&self.ranks, (seed, place));
        let hosts: Vec<HostId> = hosts.into_iter().take(ranks as usize).collect();
        let name: Name<'_> =
            if is_binary { &binary::name } else { &|rank, nth| self.label(rank, nth) };
        let program = draft.finish_named(hosts, Time::ZERO + self.start, name);
        let mut program = program.map_err(|fault| self.wrong(None, fault.to_string()))?;
        (program.after, program.overhead) = (self.after, self.overhead);
        Ok(program)
    }
}

impl Source for Goal {
    fn complete(&mut self, site: &Site<'_>) -> Result<(), Unfit> {
        self.ranks.name(site);
        if let Some(until) = site.run.until.filter(|&until| self.start >= until) {
            return Err(Unfit::new(key!(start), format!("it would start after the end, {until}")));
        }
        check_class(self.class, site)
    }

    fn flows(&self, _: Hosts, _: u64, _: usize) -> Result<Begun, Wrong> {
        Ok(Begun::new(Vec::new().into_iter(), 0))
    }

    fn program(&self, _: &Hosts, seed: u64, place: usize) -> Result<Program, Wrong> {
        self.read(seed, place).map(Program::from).map_err(Wrong::List)
    }

    fn expected(&self, around: &Around<'_>) -> Expected {
        let flows = around.listed.flows as f64;
        let ranks = self.ranks.len() as f64;
        // Messages of a connection follow each other.
        let connections = around.listed.connections as f64;
        let open = flows.min(super::keys::OPEN_A_HOST * ranks).min(connections);
        Expected {
            flows,
            open,
            receivers: ranks,
            together: connections.min(around.listed.at_once as f64),
            under_way: around.listed.at_once as f64,
            mean_bytes: Some(around.listed.bytes as f64 / flows.max(1.0)),
            connections,
            tables: (around.listed.held as f64, around.listed.longest as f64),
            scheduled: (around.listed.messages as f64, around.listed.operations as f64),
            lasts_s: around.listed.last_s.min(around.until_s),
            ..Expected::default()
        }
    }

    fn classes(&self) -> u16 {
        self.class.into()
    }

    fn has_class(&self, class: u16) -> bool {
        class == self.classes()
    }

    fn persists(&self) -> bool {
        true
    }

    fn after(&self) -> Option<u32> {
        self.after
    }

    fn waits(&self) -> bool {
        true
    }

    fn asks(&self) -> bool {
        true
    }
}
