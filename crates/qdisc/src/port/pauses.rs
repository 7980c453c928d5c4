//! Priority-based flow control at a port (IEEE 802.1Q, clause 36): which queues the peer has
//! paused, and the watchdog against a peer that pauses without end.
//!
//! A frame takes effect when its receiver has responded, and ends by itself; a resume is a pause of
//! no length. Both are kept with their times. A port that is settled late therefore sees each
//! departure's own state, and nothing need be done as a pause begins or ends.
//!
//! The watchdog is SONiC's (`pfcwd`). A queue that was held without a break for the detection time
//! is in a storm. Its packets are then dropped, or sent as if there were no pauses, until no pause
//! frame has come for the restoration time. Both are noticed at their exact times or, with [`Guard::poll`],
//! as SONiC's counters show them to somebody who looks every so often (sonic-swss 9040c8e,
//! orchagent/pfc_detect_broadcom.lua, pfc_detect_mellanox.lua and pfc_restore.lua):
//!
//! - Broadcom's chips: a sample is of a storm if the queue was held at this look and the one before, pause frames were
//!   heard since, and the hold did not end meanwhile. One sample alone is never enough.
//! - Nvidia's chips: a sample is of a storm if the queue has sent nothing since the last look and either holds packets and
//!   pause frames were heard, or holds none and was paused for over four fifths of the time. One sample may be enough.
//!   The first look after a storm has nothing to compare with, and does not count.
//! - Each sample of a storm counts for the time between looks. Any other starts the count again.
//! - A sample is quiet if no pause frame was heard since the one before. Quiet ones add up to the restoration time.

use crate::port::packet::QueueId;
use crate::port::set::QueueSet;
use std::collections::VecDeque;
use switchbed_config::words;
use switchbed_units::{Span, Time};

/// How many of its holds a queue remembers at most.
pub const MOST: usize = 100_000;

/// Settings of the PFC watchdog: how it acts in a storm, and when a storm begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// In a storm the queue's packets are dropped; otherwise they are sent.
    pub drops: bool,
    /// A queue that is held for so long is in a storm.
    pub detection: Span,
    /// A storm is over so long after the last pause frame.
    pub restoration: Span,
    /// Time between two looks, from the start of the run on; `None`: the times are exact.
    pub poll: Option<Span>,
    /// Rule by which a look finds a storm.
    pub rule: Rule,
}

words! {
    /// Rule by which a look at the counters finds a storm.
    pub enum Rule {
        /// For Broadcom's chips: by the pause status.
        Broadcom = "broadcom",
        /// For Nvidia's chips: by the queue's length, what it has sent and how long it was paused.
        Nvidia = "nvidia",
    }
}

/// Counters of a queue since the watchdog's last look, and what its samples have added up to.
#[derive(Clone, Copy, Debug, Default)]
struct Looks {
    /// Time of the next look; it counts only while there is something to see.
    next: Time,
    /// Whether the queue was held at the last look.
    held: bool,
    /// Pause frames since, and ends of holds.
    frames: u64,
    ends: u64,
    /// How long the queue had been held in all at the last look.
    total: Span,
    /// Rest of the detection time, or in a storm of the restoration time.
    left: Span,
}

/// Storms that the watchdog has seen on a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Storms {
    /// Number of storms that began.
    pub count: u64,
    /// Beginning of the first storm.
    pub first: Option<Time>,
    /// Sum of the storms' durations.
    pub total: Span,
    /// Packets dropped during the storms.
    pub dropped: u64,
}

/// Pauses of one queue.
#[derive(Clone, Debug)]
struct Paused {
    queue: QueueId,
    /// The pause in force is from then to then.
    from: Time,
    until: Time,
    /// Since when it has been held without a break, if it was as that one began.
    since: Option<Time>,
    /// When it was held before, each time without a break; so many at most.
    holds: Vec<(Time, Time)>,
    most: usize,
    /// Frames on the way: each takes the place of the pause in force at its start, until its end.
    next: VecDeque<(Time, Time)>,
    /// How long it was held before that one.
    total: Span,
    /// A storm's beginning and its last pause frame.
    storm: Option<(Time, Time)>,
    storms: Storms,
    /// Used where the watchdog polls.
    looks: Looks,
    /// Whether packets wait there, and when the last transmission began, where the watchdog looks at that.
    waits: bool,
    sent: Option<Time>,
    /// Looks up to then do not count.
    blind: Time,
}

impl Paused {
    fn new(queue: QueueId, most: usize) -> Paused {
        let (from, until, next) = (Time::ZERO, Time::ZERO, VecDeque::new());
        let (since, holds, total) = (None, Vec::new(), Span::ZERO);
        let storms = Storms::default();
        let (looks, storm) = (Looks::default(), None);
        let (waits, sent, blind) = (false, None, Time::ZERO);
        Paused {
            queue,
            from,
            until,
            since,
            holds,
            most,
            next,
            total,
            storm,
            storms,
            looks,
            waits,
            sent,
            blind,
        }
    }

    /// Whether a look could see anything but an idle queue.
    fn watched(&self) -> bool {
        self.storm.is_some() || self.since.is_some() || self.looks.held || self.looks.frames > 0
    }

    /// When the watchdog acts next, if no frame comes.
    fn turn(&self, guard: Option<Guard>) -> Time {
        if guard.is_some_and(|guard| guard.poll.is_some()) {
            return if self.watched() { self.looks.next } else { Time::NEVER };
        }
        let turn = match (guard, self.storm, self.since) {
            // One pause may have lasted all the detection time: then its only frame is so old that
            // the storm ends as it begins.
            (Some(guard), Some((began, last)), _) => Some(began.max(last + guard.restoration)),
            (Some(guard), None, Some(since)) => {
                // A pause that runs out by then, even at the same instant, is no storm.
                Some(since + guard.detection).filter(|&turn| turn < self.until)
            }
            _ => None,
        };
        turn.unwrap_or(Time::NEVER)
    }

    /// Applies the frames and the watchdog's turns that are due by `now`, in order of time.
    fn advance(&mut self, guard: Option<Guard>, now: Time) {
        loop {
            let frame = self.next.front().map_or(Time::NEVER, |next| next.0);
            let turn = self.turn(guard);
            if frame.min(turn) > now {
                return;
            }
            // At the same time the frame comes first: it may be the renewal that the watchdog waits for.
            let poll = guard.and_then(|guard| Some((guard, guard.poll?)));
            match (self.next.pop_front_if(|_| frame <= turn), poll) {
                (Some((from, until)), poll) => {
                    if let Some((guard, poll)) = poll.filter(|_| !self.watched()) {
                        // SONiC's timer ticks whether or not there is traffic: looks come at
                        // multiples of the interval.
                        let nth = from.as_ps().div_ceil(poll.as_ps());
                        let next = Time::from_ps(nth * poll.as_ps());
                        // Looks that saw an idle queue were passed over: they start the count again.
                        if self.looks.next != next {
                            let total = self.held_for(from);
                            let left = guard.detection;
                            self.looks = Looks { next, left, total, ..Looks::default() };
                        }
                    }
                    self.frame(from, until);
                }
                (None, Some((guard, poll))) => self.look(guard, poll, turn),
                (None, None) => self.turns(turn),
            }
        }
    }

    /// The watchdog looks at the counters: a storm may begin or end.
    fn look(&mut self, guard: Guard, poll: Span, now: Time) {
        let Looks { held: before, frames, ends, left, total: then, .. } = self.looks;
        let held = self.held(now);
        let total = self.held_for(now);
        let (counts, enough, of) = match (self.storm, guard.rule) {
            (Some(_), _) => (frames == 0, poll, guard.restoration),
            // One sample never makes up the whole detection time.
            (None, Rule::Broadcom) => (
                before && held && frames > 0 && ends == 0,
                poll.min(Span::from_ps(guard.detection.as_ps() - 1)),
                guard.detection,
            ),
            (None, Rule::Nvidia) => {
                let last = Time::from_ps(now.as_ps().saturating_sub(poll.as_ps()));
                let silent = self.sent.is_none_or(|sent| sent < last);
                let paused = total.as_ps() - then.as_ps();
                let stuck = if self.waits { frames > 0 } else { 5 * paused > 4 * poll.as_ps() };
                (silent && stuck && now > self.blind, poll, guard.detection)
            }
        };
        let turns = counts && left <= enough;
        let left = if counts && !turns { left - enough } else { of };
        self.looks = Looks { next: now + poll, held, frames: 0, ends: 0, total, left };
        if turns {
            if self.storm.is_some() {
                self.blind = now + poll;
            }
            self.turns(now);
            let of = if self.storm.is_some() { guard.restoration } else { guard.detection };
            // `turns` has ended the hold, so that `held` as read above is out of date.
            self.looks = Looks { held: false, left: of, ..self.looks };
        }
        if self.since.is_some() && !held {
            self.close(self.until);
        }
    }

    fn frame(&mut self, from: Time, until: Time) {
        self.looks.frames += u64::from(until > from);
        // In a storm frames hold nothing: they only put off the end of the storm.
        if let Some((_, last)) = &mut self.storm {
            if until > from {
                *last = from;
            }
            return;
        }
        // The pause before ran out by itself: its hold ended then, and not as this frame comes.
        if from > self.until {
            self.close(self.until);
        }
        // A frame that ends as it begins is a resume.
        match until > from {
            true => _ = self.since.get_or_insert(from),
            false => self.close(from),
        }
        self.hold(from, until);
    }

    /// Ends the hold under way, if there is one, and records it.
    fn close(&mut self, now: Time) {
        let hold = self.since.take().map(|since| (since, now));
        self.looks.ends += u64::from(hold.is_some());
        self.holds.extend(hold.filter(|_| self.holds.len() < self.most));
    }

    fn hold(&mut self, from: Time, until: Time) {
        // The new pause takes the place of the rest of the old one.
        self.total += self.until.min(from).since(self.from);
        (self.from, self.until) = (from, until);
    }

    /// A storm begins, or is over: either way nothing is held then.
    fn turns(&mut self, now: Time) {
        match self.storm.take() {
            Some((began, _)) => self.storms.total += now.since(began),
            None => {
                // The last frame so far is the one that holds the queue.
                self.storm = Some((now, self.from));
                self.storms.count += 1;
                self.storms.first.get_or_insert(now);
                self.close(now);
            }
        }
        self.hold(now, now);
    }

    fn held(&self, now: Time) -> bool {
        self.until > now
    }

    /// How long it has been held in all by now.
    fn held_for(&self, now: Time) -> Span {
        self.total + self.until.min(now).since(self.from)
    }

    /// Ends what is held, and forgets frames that have had no effect yet.
    fn release(&mut self, now: Time) {
        self.next.clear();
        // A pause that ran out before, or has not begun, ends at its own time.
        self.close(self.until.min(now));
        self.hold(now, now);
    }
}

/// Pauses of all queues of a port.
#[derive(Clone, Debug, Default)]
pub struct Pauses {
    queues: Vec<Paused>,
    guard: Option<Guard>,
    /// How many holds of each queue are remembered, where that is fewer than [`MOST`].
    most: Option<usize>,
    /// Queues in which packets wait, and when each queue's last transmission began: known where the watchdog looks at
    /// that.
    waiting: QueueSet,
    sent: Vec<Option<Time>>,
}

impl Pauses {
    /// Keeps the first `holds` holds of each queue, at most [`MOST`].
    pub fn remember(&mut self, holds: usize) {
        self.most = Some(holds);
    }

    /// Sets the watchdog.
    pub fn guard(&mut self, guard: Guard) {
        self.guard = Some(guard);
    }

    /// A queue may not send from a time on until another, as a frame says that comes now. Frames come in the
    /// order of their times.
    pub fn pause(&mut self, queue: QueueId, from: Time, until: Time, now: Time) {
        let of = |paused: &Paused| paused.queue == queue;
        let most = self.most.map_or(MOST, |most| most.min(MOST));
        let nth = self.queues.iter().position(of).unwrap_or_else(|| {
            let sent = self.sent.get(usize::from(queue)).copied().flatten();
            let waits = self.waiting.contains(queue);
            self.queues.push(Paused { waits, sent, ..Paused::new(queue, most) });
            self.queues.len() - 1
        });
        let paused = &mut self.queues[nth];
        // Nobody may have looked since the last frame: those that have taken effect are not kept. One of this
        // instant may come before what the watchdog does then.
        paused.advance(self.guard, Time::from_ps(now.as_ps().saturating_sub(1)));
        paused.next.push_back((from, until));
    }

    /// Whether the watchdog looks at queues.
    pub fn notes(&self) -> bool {
        self.guard.is_some_and(|guard| guard.poll.is_some() && guard.rule == Rule::Nvidia)
    }

    /// Notes the queues in which packets wait from now on, and the queue that has sent one.
    pub fn note(&mut self, waiting: QueueSet, sent: Option<QueueId>, now: Time) {
        if let Some(queue) = sent.map(usize::from) {
            self.sent.resize(self.sent.len().max(queue + 1), None);
            self.sent[queue] = Some(now);
        }
        self.waiting = waiting;
        for paused in &mut self.queues {
            // Looks that are due still see the queue of before.
            paused.advance(self.guard, now);
            paused.waits = waiting.contains(paused.queue);
            if sent == Some(paused.queue) {
                paused.sent = Some(now);
            }
        }
    }

    /// Ends all pauses as the link goes down: the peer that asked for them is gone. A storm goes on until its
    /// restoration time is over.
    pub fn release(&mut self, now: Time) {
        for paused in &mut self.queues {
            paused.advance(self.guard, Time::from_ps(now.as_ps().saturating_sub(1)));
            paused.release(now);
        }
    }

    /// The queues that may not send now.
    pub fn held(&mut self, now: Time) -> QueueSet {
        let mut held = QueueSet::EMPTY;
        for paused in &mut self.queues {
            paused.advance(self.guard, now);
            if paused.held(now) {
                held.insert(paused.queue);
            }
        }
        held
    }

    /// The queues whose packets the watchdog drops, as of the last look at what is held.
    pub fn dropping(&self) -> impl Iterator<Item = QueueId> {
        let drops = self.guard.is_some_and(|guard| guard.drops);
        let in_storm = self.queues.iter().filter(move |paused| drops && paused.storm.is_some());
        in_storm.map(|paused| paused.queue)
    }

    /// The watchdog has dropped so many packets of a queue.
    pub fn dropped(&mut self, queue: QueueId, packets: u64) {
        if let Some(paused) = self.queues.iter_mut().find(|paused| paused.queue == queue) {
            paused.storms.dropped += packets;
        }
    }

    /// When one of these queues, all of which are held now, may send.
    pub fn ends(&self, queues: QueueSet, now: Time) -> Time {
        let of = self.queues.iter().filter(|paused| queues.contains(paused.queue));
        let changes = |paused: &Paused| {
            let next = paused.next.front().map_or(Time::NEVER, |next| next.0);
            let next = next.min(paused.turn(self.guard));
            if paused.held(now) { paused.until.min(next) } else { next }
        };
        of.map(changes).min().unwrap_or(Time::NEVER)
    }

    /// A queue's as of now, without its holds of before.
    fn at(&self, queue: QueueId, now: Time) -> Option<Paused> {
        // Field by field and not a clone: the past holds may be 100,000 pairs, and nobody asks for
        // them.
        let found = self.queues.iter().find(|paused| paused.queue == queue)?;
        let Paused { queue, most, ref next, .. } = *found;
        let mut paused = Paused {
            next: next.clone(),
            from: found.from,
            until: found.until,
            since: found.since,
            total: found.total,
            storm: found.storm,
            storms: found.storms,
            looks: found.looks,
            waits: found.waits,
            sent: found.sent,
            blind: found.blind,
            ..Paused::new(queue, most)
        };
        paused.advance(self.guard, now);
        Some(paused)
    }

    /// How long a queue has been held by now; in a storm it is not.
    pub fn total(&self, queue: QueueId, now: Time) -> Span {
        let paused = self.at(queue, now);
        paused.map_or(Span::ZERO, |paused| paused.held_for(now))
    }

    /// Since when a queue has been held without a break, if it is held now.
    pub fn since(&self, queue: QueueId, now: Time) -> Option<Time> {
        self.at(queue, now).filter(|paused| paused.held(now))?.since
    }

    /// Whether a queue has been held between a time and now.
    pub fn held_after(&self, queue: QueueId, from: Time, now: Time) -> bool {
        let before = self.queues.iter().find(|paused| paused.queue == queue);
        // `at` leaves the past holds out, so the last of them is added here; earlier ones ended
        // earlier.
        let before = before.and_then(|paused| paused.holds.last().copied());
        let Some(mut paused) = self.at(queue, now) else { return false };
        paused.close(paused.until.min(now));
        before.into_iter().chain(paused.holds).any(|(_, until)| until > from)
    }

    /// When a queue has been held by now, each time without a break: the first of them, as many as it remembers.
    pub fn holds(&self, queue: QueueId, now: Time) -> Vec<(Time, Time)> {
        let of = self.queues.iter().find(|paused| paused.queue == queue);
        let mut holds = of.map_or(Vec::new(), |paused| paused.holds.clone());
        if let Some(mut paused) = self.at(queue, now) {
            paused.close(paused.until.min(now));
            holds.extend(paused.holds);
            holds.truncate(paused.most);
        }
        holds
    }

    /// Returns the storms that the watchdog has seen on a queue by `now`.
    pub fn storms(&self, queue: QueueId, now: Time) -> Storms {
        let Some(paused) = self.at(queue, now) else { return Storms::default() };
        let lasts = paused.storm.map_or(Span::ZERO, |(began, _)| now.since(began));
        Storms { total: paused.storms.total + lasts, ..paused.storms }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Time {
        Time::from_ps(1_000 * ns)
    }

    #[test]
    fn a_pause_lasts_until_it_ends_by_itself_or_a_resume_comes() {
        let mut pauses = Pauses::default();
        pauses.pause(3, at(10), at(100), Time::ZERO);
        let held = |pauses: &mut Pauses, ns| pauses.held(at(ns)).contains(3);
        assert!(!held(&mut pauses, 9) && held(&mut pauses, 10) && held(&mut pauses, 99));
        assert!(!held(&mut pauses, 100));
        pauses.pause(3, at(200), at(300), Time::ZERO);
        pauses.pause(3, at(250), at(250), Time::ZERO);
        assert!(held(&mut pauses, 200));
        let mut of = QueueSet::EMPTY;
        of.insert(3);
        assert_eq!(pauses.ends(of, at(200)), at(250));
        assert!(held(&mut pauses, 249));
        // 90 and 50.
        assert_eq!(pauses.total(3, at(240)), Span::from_ns(90 + 40));
        assert!(!held(&mut pauses, 250));
        assert_eq!(pauses.total(3, at(400)), Span::from_ns(140));
    }

    #[test]
    fn a_pause_that_is_renewed_goes_on_and_is_counted_once() {
        let mut pauses = Pauses::default();
        pauses.pause(0, at(10), at(110), Time::ZERO);
        pauses.pause(0, at(60), at(160), Time::ZERO);
        let mut of = QueueSet::EMPTY;
        of.insert(0);
        assert_eq!(pauses.holds(0, at(40)), [(at(10), at(40))]);
        // The change at 60 may be looked at for nothing.
        assert!(pauses.held(at(50)).contains(0) && pauses.ends(of, at(50)) == at(60));
        assert!(pauses.held(at(110)).contains(0) && pauses.ends(of, at(110)) == at(160));
        assert_eq!(pauses.total(0, at(200)), Span::from_ns(150));
        assert_eq!(pauses.holds(0, at(200)), [(at(10), at(160))]);
        assert!(pauses.held_after(0, at(159), at(200)) && !pauses.held_after(0, at(160), at(200)));
    }

    fn guarded(drops: bool) -> Pauses {
        let mut pauses = Pauses::default();
        let (detection, restoration) = (Span::from_ns(200), Span::from_ns(300));
        pauses.guard(Guard { drops, detection, restoration, poll: None, rule: Rule::Broadcom });
        pauses
    }

    /// A watchdog that looks every 100, detects after 200 and restores after 300.
    fn polled() -> Pauses {
        let mut pauses = Pauses::default();
        let (detection, restoration) = (Span::from_ns(200), Span::from_ns(300));
        let poll = Some(Span::from_ns(100));
        pauses.guard(Guard { drops: true, detection, restoration, poll, rule: Rule::Broadcom });
        pauses
    }

    /// Pause frames from a time on until another, each renewed after 50 for 100.
    fn storm(pauses: &mut Pauses, from: u64, until: u64) {
        for ns in (from..until).step_by(50) {
            pauses.pause(0, at(ns), at(ns + 100), Time::ZERO);
        }
    }

    /// The same watchdog by the rule for Nvidia's chips, with this detection time.
    fn nvidia(detection: u64) -> Pauses {
        let mut pauses = polled();
        let (detection, restoration) = (Span::from_ns(detection), Span::from_ns(300));
        let poll = Some(Span::from_ns(100));
        pauses.guard(Guard { drops: true, detection, restoration, poll, rule: Rule::Nvidia });
        pauses
    }

    /// Queue 0 holds packets, or none, from a time on.
    fn holds(pauses: &mut Pauses, waits: bool, ns: u64) {
        pauses.note(QueueSet::first_of(usize::from(waits)), None, at(ns));
    }

    #[test]
    fn nvidias_rule_takes_a_queue_that_sends_nothing_for_held() {
        // A pause of 10 in each interval, and a packet that waits for the whole time: held by other queues, say.
        let shorts = |pauses: &mut Pauses| {
            for from in (215..900).step_by(100) {
                pauses.pause(0, at(from), at(from + 10), Time::ZERO);
            }
        };
        let mut pauses = nvidia(200);
        holds(&mut pauses, true, 150);
        shorts(&mut pauses);
        // Samples at 300 and 400.
        assert_eq!(pauses.storms(0, at(1_000)).first, Some(at(400)));
        let mut broadcom = polled();
        shorts(&mut broadcom);
        assert_eq!(broadcom.storms(0, at(1_000)), Storms::default());
        // A packet that leaves after the look of 300 makes the sample of 400 none; 500 and 600 are two.
        let mut pauses = nvidia(200);
        holds(&mut pauses, true, 150);
        shorts(&mut pauses);
        pauses.note(QueueSet::first_of(1), Some(0), at(300));
        assert_eq!(pauses.storms(0, at(1_000)).first, Some(at(600)));
        // Without a pause frame in an interval the count starts again.
        let mut pauses = nvidia(200);
        holds(&mut pauses, true, 150);
        for from in [215, 415, 615] {
            pauses.pause(0, at(from), at(from + 10), Time::ZERO);
        }
        assert_eq!(pauses.storms(0, at(2_000)), Storms::default());
    }

    #[test]
    fn nvidias_rule_counts_the_time_that_an_empty_queue_is_paused() {
        let first = |lasts: u64, sends: Option<u64>| {
            let mut pauses = nvidia(200);
            for from in [205, 305] {
                pauses.pause(0, at(from), at(from + lasts), Time::ZERO);
            }
            if let Some(ns) = sends {
                pauses.note(QueueSet::EMPTY, Some(0), at(ns));
            }
            pauses.storms(0, at(2_000)).first
        };
        // Over four fifths of the interval, twice.
        assert_eq!((first(81, None), first(80, None)), (Some(at(400)), None));
        // A packet before the first pause, after the look of 200 and before it.
        assert_eq!((first(81, Some(201)), first(81, Some(199))), (None, Some(at(400))));
    }

    #[test]
    fn one_sample_of_nvidias_rule_may_be_enough_and_the_first_after_a_storm_counts_not() {
        let mut pauses = nvidia(100);
        holds(&mut pauses, true, 10);
        storm(&mut pauses, 110, 360);
        assert_eq!(pauses.storms(0, at(250)).first, Some(at(200)));
        // The last frame of the storm is of 310; looks of 500, 600 and 700 hear none. From 710 on frames come again:
        // that of 800 has nothing to compare with, and the storm begins at 900.
        storm(&mut pauses, 710, 1_000);
        let seen = pauses.storms(0, at(950));
        assert_eq!((seen.count, seen.total), (2, Span::from_ns(500 + 50)));
    }

    #[test]
    fn looks_see_a_storm_late_and_its_end_later() {
        // Held from 110: the look at 200 is the first that sees it, those at 300 and 400 are two samples.
        let mut pauses = polled();
        storm(&mut pauses, 110, 800);
        assert!(pauses.held(at(399)).contains(0));
        assert!(!pauses.held(at(400)).contains(0));
        assert_eq!(pauses.dropping().collect::<Vec<_>>(), [0]);
        // The last frame is of 760; the look at 800 saw it, those at 900, 1000 and 1100 are quiet.
        assert!(pauses.held(at(1099)).is_empty() && pauses.dropping().count() == 1);
        assert!(pauses.held(at(1100)).is_empty() && pauses.dropping().count() == 0);
        let seen = pauses.storms(0, at(2_000));
        assert_eq!((seen.count, seen.first, seen.total), (1, Some(at(400)), Span::from_ns(700)));
        assert_eq!(pauses.holds(0, at(2_000)), [(at(110), at(400))]);
    }

    #[test]
    fn a_detection_time_of_one_look_takes_two_samples() {
        let mut pauses = polled();
        let (detection, restoration) = (Span::from_ns(100), Span::from_ns(300));
        let poll = Some(Span::from_ns(100));
        pauses.guard(Guard { drops: true, detection, restoration, poll, rule: Rule::Broadcom });
        storm(&mut pauses, 110, 800);
        assert_eq!(pauses.storms(0, at(2_000)).first, Some(at(400)));
    }

    #[test]
    fn storms_that_end_between_looks_are_not_seen_and_exact_times_see_them() {
        // Five storms of 250, which two looks or three see: one sample or two.
        let count = |from: u64, mut pauses: Pauses| {
            for nth in 0..5 {
                storm(&mut pauses, from + 1_000 * nth, from + 1_000 * nth + 160);
            }
            pauses.storms(0, at(9_000)).count
        };
        assert_eq!((count(110, polled()), count(110, guarded(true))), (0, 5));
        // The same, begun just before a look.
        assert_eq!((count(95, polled()), count(95, guarded(true))), (5, 5));
    }

    #[test]
    fn a_break_between_looks_starts_the_count_again() {
        let mut pauses = polled();
        for from in (110..900).step_by(100) {
            // Held at each look, and released for a moment after it.
            pauses.pause(0, at(from), at(from + 95), Time::ZERO);
        }
        assert!([200, 300, 400].iter().all(|&ns| pauses.clone().held(at(ns)).contains(0)));
        assert_eq!(pauses.storms(0, at(2_000)), Storms::default());
    }

    #[test]
    fn frames_without_end_make_one_storm_and_rare_ones_a_loop() {
        let mut pauses = polled();
        storm(&mut pauses, 110, 20_000);
        assert_eq!(pauses.storms(0, at(19_000)).count, 1);
        // Frames that hold for 1,000 and come every 500: 300 without one restore the queue, and it is held again.
        let mut pauses = polled();
        for from in (110..20_000).step_by(500) {
            pauses.pause(0, at(from), at(from + 1_000), Time::ZERO);
        }
        assert_eq!(pauses.storms(0, at(19_000)).count, 0, "frames only in every fifth sample");
        let mut exact = guarded(true);
        for from in (110..20_000).step_by(500) {
            exact.pause(0, at(from), at(from + 1_000), Time::ZERO);
        }
        assert!(exact.storms(0, at(19_000)).count > 10, "restored and detected again and again");
    }

    #[test]
    fn a_queue_that_is_held_for_the_detection_time_is_in_a_storm_until_frames_stop() {
        let mut pauses = guarded(true);
        // Each lasts 100 and is renewed after 50: held from 10 on; a resume comes at 60, held from 70 on.
        pauses.pause(3, at(10), at(110), Time::ZERO);
        pauses.pause(3, at(60), at(60), Time::ZERO);
        for from in (70..=420).step_by(50) {
            pauses.pause(3, at(from), at(from + 100), Time::ZERO);
        }
        assert!(pauses.held(at(269)).contains(3) && pauses.dropping().next().is_none());
        assert_eq!(pauses.since(3, at(269)), Some(at(70)));
        let mut of = QueueSet::EMPTY;
        of.insert(3);
        assert_eq!(pauses.ends(of, at(269)), at(270));
        assert!(!pauses.held(at(270)).contains(3));
        assert_eq!(pauses.dropping().collect::<Vec<_>>(), [3]);
        // The last frame is of 420: restored at 720, and what it asked for is forgotten.
        assert!(!pauses.held(at(719)).contains(3) && pauses.dropping().count() == 1);
        assert!(!pauses.held(at(720)).contains(3) && pauses.dropping().count() == 0);
        assert_eq!(pauses.total(3, at(900)), Span::from_ns(50 + 200));
        let seen = pauses.storms(3, at(900));
        assert_eq!((seen.count, seen.first, seen.total), (1, Some(at(270)), Span::from_ns(450)));
        assert_eq!(pauses.holds(3, at(900)), [(at(10), at(60)), (at(70), at(270))]);
        // Later pauses hold as ever.
        pauses.pause(3, at(1000), at(1100), Time::ZERO);
        assert!(pauses.held(at(1000)).contains(3) && !pauses.held(at(1100)).contains(3));
    }

    #[test]
    fn a_storm_whose_last_frame_is_older_than_the_restoration_time_ends_as_it_begins() {
        let mut pauses = Pauses::default();
        let (detection, restoration) = (Span::from_ns(200), Span::from_ns(100));
        pauses.guard(Guard {
            drops: true,
            detection,
            restoration,
            poll: None,
            rule: Rule::Broadcom,
        });
        pauses.pause(0, at(10), at(1000), Time::ZERO);
        assert!(pauses.held(at(209)).contains(0) && !pauses.held(at(210)).contains(0));
        assert!(pauses.dropping().next().is_none());
        let seen = pauses.storms(0, at(500));
        assert_eq!((seen.count, seen.total), (1, Span::ZERO));
    }

    #[test]
    fn a_pause_as_long_as_the_detection_time_is_no_storm() {
        let mut pauses = guarded(false);
        pauses.pause(0, at(10), at(210), Time::ZERO);
        assert!(pauses.held(at(209)).contains(0) && !pauses.held(at(210)).contains(0));
        assert_eq!(pauses.storms(0, at(400)), Storms::default());
        pauses.pause(0, at(500), at(701), Time::ZERO);
        assert!(!pauses.held(at(700)).contains(0));
        assert_eq!(pauses.storms(0, at(700)).count, 1);
        assert!(pauses.dropping().next().is_none());
    }

    #[test]
    fn frames_that_nobody_looks_at_are_not_kept() {
        for mut pauses in [Pauses::default(), guarded(true), polled()] {
            for ns in (0..100_000).step_by(50) {
                pauses.pause(1, at(ns + 10), at(ns + 110), at(ns));
            }
            assert!(pauses.queues[0].next.len() <= 2, "{}", pauses.queues[0].next.len());
        }
    }

    #[test]
    fn the_first_holds_are_remembered() {
        for (most, expected) in [(3, 3), (50, 20)] {
            let mut pauses = Pauses::default();
            pauses.remember(most);
            for ns in (0..2_000).step_by(100) {
                pauses.pause(1, at(ns + 10), at(ns + 60), at(ns));
            }
            let holds = pauses.holds(1, at(2_000));
            assert_eq!((holds.len(), holds[0]), (expected, (at(10), at(60))));
            assert_eq!(pauses.total(1, at(2_000)), Span::from_ns(20 * 50));
        }
    }

    #[test]
    fn a_look_at_each_frame_changes_nothing() {
        let frames = [(0, 10, 200), (50, 60, 60), (70, 80, 300), (280, 290, 600), (900, 900, 950)];
        for guard in [Pauses::default(), guarded(true), polled()] {
            let run = |looks: bool| {
                let mut pauses = guard.clone();
                for (now, from, until) in frames {
                    let now = if looks { at(now) } else { Time::ZERO };
                    pauses.pause(0, at(from), at(until), now);
                }
                let now = at(2_000);
                (
                    pauses.total(0, now),
                    pauses.storms(0, now),
                    pauses.held(now).contains(0),
                    pauses.holds(0, now),
                )
            };
            assert_eq!(run(true), run(false));
        }
    }
}
