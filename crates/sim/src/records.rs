//! Records of a run's flows in 64 bytes each: a schedule has millions of messages, and each is a flow.

use crate::flow::FlowRecord;
use crate::ids::HostId;
use crate::transport::{Wait, Waits};
use switchbed_units::{Bytes, Time};

/// A field without a value, a flow without [`Extra`], and one that waited for no timer.
const NONE: u64 = u64::MAX;
const PLAIN: u32 = u32::MAX;
const NO_WAIT: u8 = u8::MAX;

const HANDSHAKE: u8 = 1;
const WITHOUT_ECN: u8 = 2;

/// A record as it is kept.
#[derive(Clone, Copy, Debug)]
struct Packed {
    row: u64,
    /// In picoseconds; [`NONE`] of an end that did not come.
    start: u64,
    end: u64,
    /// In bytes; [`NONE`]: endless.
    size: u64,
    src: u32,
    dst: u32,
    key: u32,
    traffic: u32,
    /// Place among the extras, or [`PLAIN`].
    extra: u32,
    common: Common,
    class: u8,
    flags: u8,
}

/// Counts of most flows: they waited for one timer at most, and each count is small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Common {
    /// Little-endian: a word would align all, and take a record beyond 64 bytes.
    waited_us: [u8; 4],
    retransmissions: u16,
    ecn_cuts: u16,
    /// The timer's place among all of them, or [`NO_WAIT`].
    wait: u8,
    waits: u8,
}

impl Common {
    const NOTHING: Common =
        Common { waited_us: [0; 4], retransmissions: 0, ecn_cuts: 0, wait: NO_WAIT, waits: 0 };

    /// Counts of a flow, if they fit and nothing else happened to it.
    fn of(extra: &Extra, size: Option<Bytes>) -> Option<Common> {
        let (wait, waits, waited_us) = match extra.waits.as_one() {
            Some((wait, count, us)) => (wait as u8, count.try_into().ok()?, us.to_le_bytes()),
            None => (NO_WAIT, 0, [0; 4]),
        };
        let retransmissions = extra.retransmissions.try_into().ok()?;
        let ecn_cuts = extra.ecn_cuts.try_into().ok()?;
        let common = Common { waited_us, retransmissions, ecn_cuts, wait, waits };
        (common.unpack(size) == *extra).then_some(common)
    }

    fn unpack(self, size: Option<Bytes>) -> Extra {
        let wait = Wait::ALL.get(usize::from(self.wait));
        let us = u32::from_le_bytes(self.waited_us);
        let waits = wait.map(|&wait| Waits::of_one(wait, self.waits.into(), us));
        let waits = waits.unwrap_or_default();
        Extra {
            request: None,
            received: size.unwrap_or(Bytes::ZERO),
            timeouts: waits.timeouts(),
            waits,
            failed: None,
            retransmissions: self.retransmissions.into(),
            ecn_cuts: self.ecn_cuts.into(),
        }
    }
}

/// Fields that most flows have as [`Common`] says.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Extra {
    request: Option<Bytes>,
    received: Bytes,
    timeouts: u32,
    waits: Waits,
    failed: Option<Time>,
    retransmissions: u32,
    ecn_cuts: u32,
}

impl Extra {
    fn of(flow: &FlowRecord) -> Extra {
        let FlowRecord { request, received, timeouts, waits, failed, .. } = *flow;
        let FlowRecord { retransmissions, ecn_cuts, .. } = *flow;
        Extra { request, received, timeouts, waits, failed, retransmissions, ecn_cuts }
    }
}

/// Records of flows, in the order in which they were put in, or by row.
#[derive(Debug, Default)]
pub(crate) struct Records {
    rows: Vec<Packed>,
    extras: Vec<Extra>,
    /// The FCT in seconds and the slowdown of each, once these are known; NaN where there is none.
    times: (Vec<f64>, Vec<f64>),
}

/// A flow with its FCT in seconds and its slowdown, both NaN of one that has not ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timed {
    pub(crate) flow: FlowRecord,
    pub(crate) fct_s: f64,
    pub(crate) slowdown: f64,
}

impl Records {
    /// Makes space for as many as are expected: a table that grows leaves holes, and space without records is no memory.
    pub(crate) fn expecting(flows: u64) -> Records {
        /// As many as a run has messages at most.
        const MOST: u64 = 1 << 24;
        let mut rows = Vec::new();
        // Without so much address space it grows.
        let _ = rows.try_reserve_exact(flows.min(MOST) as usize);
        Records { rows, ..Records::default() }
    }

    pub(crate) fn push(&mut self, flow: &FlowRecord) {
        let packed = self.pack(flow, PLAIN);
        self.rows.push(packed);
    }

    /// Packs a record, which has had an extra here or [`PLAIN`].
    fn pack(&mut self, flow: &FlowRecord, had: u32) -> Packed {
        let extra = Extra::of(flow);
        let common = Common::of(&extra, flow.size);
        let place = match (self.extras.get_mut(had as usize), common) {
            (Some(place), _) => {
                *place = extra;
                had
            }
            (None, Some(_)) => PLAIN,
            (None, None) => {
                self.extras.push(extra);
                self.extras.len() as u32 - 1
            }
        };
        let flag = |is: bool, flag: u8| if is { flag } else { 0 };
        Packed {
            row: flow.row,
            start: flow.start.as_ps(),
            end: flow.end.map_or(NONE, Time::as_ps),
            size: flow.size.map_or(NONE, Bytes::get),
            src: flow.src.0,
            dst: flow.dst.0,
            key: flow.key,
            traffic: flow.traffic,
            extra: place,
            common: common.unwrap_or(Common::NOTHING),
            class: flow.class,
            flags: flag(flow.handshake, HANDSHAKE) | flag(flow.without_ecn, WITHOUT_ECN),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn get(&self, nth: usize) -> FlowRecord {
        self.unpack(&self.rows[nth])
    }

    fn unpack(&self, of: &Packed) -> FlowRecord {
        let some = |value: u64| Some(value).filter(|&value| value != NONE);
        let size = some(of.size).map(Bytes::new);
        let extra = self.extras.get(of.extra as usize).copied();
        let Extra { request, received, timeouts, waits, failed, retransmissions, ecn_cuts } =
            extra.unwrap_or_else(|| of.common.unpack(size));
        FlowRecord {
            row: of.row,
            traffic: of.traffic,
            src: HostId(of.src),
            dst: HostId(of.dst),
            class: of.class,
            key: of.key,
            size,
            start: Time::from_ps(of.start),
            end: some(of.end).map(Time::from_ps),
            request,
            received,
            timeouts,
            waits,
            failed,
            retransmissions,
            ecn_cuts,
            handshake: of.flags & HANDSHAKE != 0,
            without_ecn: of.flags & WITHOUT_ECN != 0,
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = FlowRecord> {
        self.rows.iter().map(|of| self.unpack(of))
    }

    /// Forgets what flows counted that were over by then.
    pub(crate) fn forget_before(&mut self, time: Time) {
        for nth in 0..self.rows.len() {
            let mut flow = self.get(nth);
            if flow.ended_by(time) {
                flow.forget();
                self.rows[nth] = self.pack(&flow, self.rows[nth].extra);
            }
        }
    }

    /// Brings them in the order of their rows; of one row they stay as they are.
    pub(crate) fn sort(&mut self) {
        // A stable sort of the records would take a copy of all of them; the keys are a quarter of that.
        self.rows.sort_by_cached_key(|of| of.row);
    }

    /// Notes each one's FCT in seconds and its slowdown.
    pub(crate) fn time(&mut self, times: impl Fn(&FlowRecord) -> (f64, f64)) {
        self.times = self.iter().map(|flow| times(&flow)).unzip();
    }

    /// FCT in seconds and slowdown of one.
    pub(crate) fn times(&self, nth: usize) -> (f64, f64) {
        (self.times.0[nth], self.times.1[nth])
    }

    /// One with its times.
    pub(crate) fn get_timed(&self, nth: usize) -> Timed {
        let (fct_s, slowdown) = self.times(nth);
        Timed { flow: self.get(nth), fct_s, slowdown }
    }

    /// The flows with their times.
    pub(crate) fn timed(&self) -> impl Iterator<Item = Timed> {
        let times = self.times.0.iter().zip(&self.times.1);
        self.iter().zip(times).map(|(flow, (&fct_s, &slowdown))| Timed { flow, fct_s, slowdown })
    }

    /// Hands over the times, and then each record with its place, from the last to the first: memory is given back on
    /// the way.
    pub(crate) fn into_times_and_rows(
        mut self,
    ) -> ((Vec<f64>, Vec<f64>), impl Iterator<Item = (usize, FlowRecord)>) {
        /// Records between two times at which memory is given back: a quarter of a megabyte.
        const PART: usize = 1 << 12;
        let times = std::mem::take(&mut self.times);
        let rows = std::iter::from_fn(move || {
            let of = self.rows.pop()?;
            let nth = self.rows.len();
            let flow = self.unpack(&of);
            if nth.is_multiple_of(PART) {
                self.rows.shrink_to_fit();
            }
            Some((nth, flow))
        });
        (times, rows)
    }
}

impl FromIterator<FlowRecord> for Records {
    fn from_iter<T: IntoIterator<Item = FlowRecord>>(flows: T) -> Self {
        let mut records = Records::default();
        records.extend(flows);
        records
    }
}

impl Extend<FlowRecord> for Records {
    fn extend<T: IntoIterator<Item = FlowRecord>>(&mut self, flows: T) {
        flows.into_iter().for_each(|flow| self.push(&flow));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    prop_compose! {
        fn flow()(
            row in 0u64..9,
            ends in (0u32..4, 0u32..4, any::<u32>(), 0u32..3, any::<u8>()),
            times in (0u64..9, proptest::option::of(0u64..9), proptest::option::of(0u64..9)),
            sizes in (proptest::option::of(1u64..4), proptest::option::of(1u64..4), 0u64..4),
            counts in (0u32..3, 0u32..3, prop_oneof![0u32..3, 65_534u32..65_538]),
            waited in 0u32..3,
            flags in any::<(bool, bool)>(),
        ) -> FlowRecord {
            let mut waits = Waits::default();
            for _ in 0..waited {
                waits.note(Wait::Rto, (Time::from_ps(1), Time::from_ps(3)), Time::ZERO);
            }
            if counts.1 == 2 {
                waits.note(Wait::DelayedAck, (Time::from_ps(1), Time::from_ps(3)), Time::ZERO);
            }
            // Half of them as most flows are.
            let plain = counts.0 > 0;
            let timeouts = if plain { waits.timeouts() } else { counts.0 };
            FlowRecord {
                row,
                traffic: ends.3,
                src: HostId(ends.0),
                dst: HostId(ends.1),
                class: ends.4,
                key: ends.2,
                size: sizes.0.map(Bytes::new),
                start: Time::from_ps(times.0),
                end: times.1.map(Time::from_ps),
                request: sizes.1.filter(|_| !plain).map(Bytes::new),
                received: if plain { Bytes::new(sizes.0.unwrap_or(0)) } else { Bytes::new(sizes.2) },
                timeouts,
                waits,
                failed: times.2.filter(|_| !plain).map(Time::from_ps),
                retransmissions: counts.1,
                ecn_cuts: counts.2,
                handshake: flags.0,
                without_ecn: flags.1,
            }
        }
    }

    proptest! {
        #[test]
        fn records_are_given_back_as_they_were(mut flows in proptest::collection::vec(flow(), 0..20)) {
            let mut records: Records = flows.iter().copied().collect();
            records.sort();
            flows.sort_by_key(|flow| flow.row);
            prop_assert_eq!(records.iter().collect::<Vec<_>>(), flows.clone());
            let warm = Time::from_ps(4);
            records.forget_before(warm);
            flows.iter_mut().filter(|flow| flow.ended_by(warm)).for_each(FlowRecord::forget);
            records.time(|flow| (flow.row as f64, flow.start.as_ps() as f64));
            let timed: Vec<_> = records.timed().map(|of| (of.flow, of.fct_s)).collect();
            prop_assert_eq!(timed, flows.iter().map(|flow| (*flow, flow.row as f64)).collect::<Vec<_>>());
            let ((fcts, _), rows) = records.into_times_and_rows();
            prop_assert_eq!(fcts.len(), flows.len());
            let backwards: Vec<_> = flows.iter().copied().enumerate().rev().collect();
            prop_assert_eq!(rows.collect::<Vec<_>>(), backwards);
        }
    }

    #[test]
    fn a_record_of_a_message_takes_64_bytes() {
        assert_eq!(size_of::<Packed>(), 64);
    }
}
