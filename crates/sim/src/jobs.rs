//! Jobs: what programs took as a whole.

use crate::empty_network::Paths;
use crate::ideal::ideal;
use crate::node::host::{Programs, Round};
use crate::nullable::nullable;
use crate::table::{Names, Table, Values};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use switchbed_scenario::Traffic;
use switchbed_scenario::traffic::Entry;
use switchbed_units::{Bytes, Time};

/// A repetition through all ranks.
#[derive(Clone, Copy, Debug)]
struct Repetition {
    /// When the first rank began it.
    began: Time,
    /// When the last of those that have done it had.
    ended: Time,
    /// How many have.
    ranks: u32,
}

/// Progress of each program, by traffic entry and repetition.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    done: BTreeMap<(u32, u32), Repetition>,
}

/// A program and what it took.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Index among the scenario's traffic, from 0.
    pub traffic: u32,
    /// Collective operation and its algorithm.
    pub operation: &'static str,
    /// See `operation`.
    pub algorithm: &'static str,
    /// How many ranks take part.
    pub ranks: u32,
    /// Data size as nccl-tests counts it.
    pub bytes: Bytes,
    /// Repetitions that all ranks have done, those that are not measured left out.
    pub repetitions: u32,
    /// When the first rank began the first of these, and when the last rank had done the last.
    pub start: Option<Time>,
    /// See `start`; `None`: none was done by all.
    pub end: Option<Time>,
    /// Seconds that a repetition took, and would have taken in an empty network.
    pub time_s: f64,
    /// See `time_s`.
    pub ideal_s: f64,
    /// Bus bandwidth over algorithm bandwidth; NaN: neither is defined.
    pub bus_factor: f64,
    /// Repetitions that began in the warm-up of the run.
    pub early: u32,
    /// Whether all repetitions were done.
    pub done: bool,
}

impl Job {
    /// Algorithm bandwidth in bit/s; NaN without one.
    pub fn algorithm_bps(&self) -> f64 {
        if self.bus_factor.is_nan() { f64::NAN } else { 8.0 * self.bytes.as_f64() / self.time_s }
    }
    /// Bus bandwidth in bit/s.
    pub fn bus_bps(&self) -> f64 {
        self.algorithm_bps() * self.bus_factor
    }
}

/// Duration of a program in the form of a summary.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct JobTimes {
    /// Index among the scenario's traffic, from 0.
    pub traffic: u32,
    /// The collective, and the schedule of its messages.
    pub operation: Cow<'static, str>,
    /// See `operation`.
    pub algorithm: Cow<'static, str>,
    /// How many ranks take part.
    pub ranks: u32,
    /// Data size in bytes as nccl-tests counts it.
    pub bytes: u64,
    /// Measured repetitions that all ranks completed.
    pub repetitions: u32,
    /// Time of one of these; null without any.
    #[serde(deserialize_with = "nullable")]
    pub time_us: Option<f64>,
    /// Duration in an empty network, in microseconds.
    pub ideal_us: f64,
    /// Time over the ideal one.
    #[serde(deserialize_with = "nullable")]
    pub slowdown: Option<f64>,
    /// Algorithm bandwidth: bytes over time.
    #[serde(deserialize_with = "nullable")]
    pub algbw_bps: Option<f64>,
    /// Bus bandwidth: the same times nccl-tests' factor of the operation.
    #[serde(deserialize_with = "nullable")]
    pub busbw_bps: Option<f64>,
}

impl From<&Job> for JobTimes {
    fn from(job: &Job) -> JobTimes {
        let known = |value: f64| Some(value).filter(|value| value.is_finite());
        JobTimes {
            traffic: job.traffic,
            operation: job.operation.into(),
            algorithm: job.algorithm.into(),
            ranks: job.ranks,
            bytes: job.bytes.get(),
            repetitions: job.repetitions,
            time_us: known(job.time_s * 1e6),
            ideal_us: job.ideal_s * 1e6,
            slowdown: known(job.time_s / job.ideal_s),
            algbw_bps: known(job.algorithm_bps()),
            busbw_bps: known(job.bus_bps()),
        }
    }
}

/// Warns of jobs that were not completed, or only in the warm-up.
pub(crate) fn warnings(jobs: &[Job]) -> impl Iterator<Item = String> {
    jobs.iter().filter_map(|job| {
        let Job { traffic, repetitions, operation, early, .. } = job;
        match (job.done, repetitions) {
            (true, 0) => Some(format!(
                "traffic.{traffic}: all {early} repetitions of its {operation} began before \
                 measure.warmup: none is measured"
            )),
            (true, _) => None,
            (false, _) => Some(format!(
                "traffic.{traffic}: only {repetitions} repetitions of its {operation} were completed \
                 by all ranks: its time is of these alone"
            )),
        }
    })
}

impl Jobs {
    /// Takes in what ranks have done.
    pub(crate) fn take(&mut self, rounds: impl Iterator<Item = Round>) {
        for Round { entry, nth, began, ended } in rounds {
            let repetition = Repetition { began, ended, ranks: 0 };
            let of = self.done.entry((entry, nth)).or_insert(repetition);
            (of.began, of.ended) = (of.began.min(began), of.ended.max(ended));
            of.ranks += 1;
        }
    }

    /// The jobs by entry; `since`: what begins before the warm-up's end is not measured.
    pub(crate) fn all(
        &self,
        traffic: &[Entry],
        programs: &Programs,
        paths: &Paths,
        since: Time,
    ) -> Vec<Job> {
        let job = |(entry, program): (u32, &switchbed_scenario::traffic::program::Schedule)| {
            let ranks = program.hosts.len() as u32;
            let (operation, algorithm, bytes, bus_factor) = match &traffic[entry as usize].source {
                Traffic::Collective(of) => {
                    (of.operation.word(), of.schedule().word(), of.data(), of.bus_factor())
                }
                source => {
                    let bytes = program.messages().map(|message| message.bytes.get()).sum();
                    (source.word(), "", Bytes::new(bytes), f64::NAN)
                }
            };
            // Keys are (entry, repetition): the range ends before the next entry's first.
            let measured = self.done.range((entry, program.warmup)..(entry + 1, 0));
            let measured: Vec<_> = measured.map(|(_, of)| of).collect();
            let early = measured.iter().take_while(|of| of.began < since).count();
            let done: Vec<_> =
                // Ranks run ahead of each other: from the first repetition that some have not
                // ended, none counts.
                measured[early..].iter().take_while(|of| of.ranks == ranks).collect();
            let (start, end) = (done.first().map(|of| of.began), done.last().map(|of| of.ended));
            let repetitions = program.repeats - program.warmup;
            let each = |took: f64| took / f64::from(done.len() as u32);
            let time_s = match (start, end) {
                (Some(start), Some(end)) => each(end.since(start).as_secs_f64()),
                _ => f64::NAN,
            };
            let ideal_s = ideal(program, entry, paths).as_secs_f64() / f64::from(repetitions);
            Job {
                traffic: entry,
                operation,
                algorithm,
                ranks,
                bytes,
                repetitions: done.len() as u32,
                start,
                end,
                time_s,
                ideal_s,
                bus_factor,
                early: early as u32,
                done: (early + done.len()) as u32 == repetitions,
            }
        };
        programs.each().map(job).collect()
    }
}

/// The table `jobs`: a row a job.
pub(crate) fn table(jobs: &[Job]) -> Table {
    let f64s = |of: &dyn Fn(&Job) -> f64| Values::F64(jobs.iter().map(of).collect());
    let u32s = |of: &dyn Fn(&Job) -> u32| Values::U32(jobs.iter().map(of).collect());
    let names =
        |of: fn(&Job) -> &'static str| Values::Names(jobs.iter().map(of).collect::<Names>());
    let seconds = |at: Option<Time>| at.map_or(f64::NAN, Time::as_secs_f64);
    Table::new([
        ("traffic", "", "its place among `[[traffic]]`, from 0", u32s(&|job| job.traffic)),
        ("operation", "", "the collective; else the kind of traffic", names(|job| job.operation)),
        ("algorithm", "", "the schedule of its messages", names(|job| job.algorithm)),
        ("ranks", "", "how many ranks take part", u32s(&|job| job.ranks)),
        (
            "bytes",
            "bytes",
            "its data as nccl-tests counts them; without a collective all messages together",
            Values::U64(jobs.iter().map(|job| job.bytes.get()).collect()),
        ),
        (
            "repetitions",
            "",
            "measured repetitions that all ranks completed",
            u32s(&|job| job.repetitions),
        ),
        (
            "start_s",
            "s",
            "when the first rank began the first of these; null: there is none",
            f64s(&|job| seconds(job.start)),
        ),
        (
            "end_s",
            "s",
            "when the last rank completed the last of these",
            f64s(&|job| seconds(job.end)),
        ),
        (
            "time_s",
            "s",
            "time of a repetition: end less start, over repetitions",
            f64s(&|job| job.time_s),
        ),
        (
            "algbw_bps",
            "bit/s",
            "algorithm bandwidth of a collective: bytes over time",
            f64s(&|job| job.algorithm_bps()),
        ),
        (
            "busbw_bps",
            "bit/s",
            "bus bandwidth: algorithm bandwidth times nccl-tests' factor of the operation",
            f64s(&|job| job.bus_bps()),
        ),
        (
            "ideal_s",
            "s",
            "time of a repetition in an empty network: each message takes what a flow takes there, and the \
             messages that a host sends, or receives, follow each other on its line",
            f64s(&|job| job.ideal_s),
        ),
        ("slowdown", "", "time over the ideal one", f64s(&|job| job.time_s / job.ideal_s)),
        (
            "done",
            "",
            "whether all repetitions were completed",
            Values::Bool(jobs.iter().map(|job| job.done).collect()),
        ),
    ])
}
