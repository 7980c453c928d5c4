//! Credit that a host's receivers give: one pacer a host, whose pulls come at nearly the line's rate, in turn over the
//! connections whose senders want them (htsim's RCCC).

use super::share::Share;
use super::{Cx, Host, Net, Settings, Timer};
use crate::ids::ConnId;
use crate::transport::Sight;
use std::collections::VecDeque;
use switchbed_units::{Rate, Time};

/// Credit is given for this part of the line's rate, and a pull that gives none takes as long as so many bytes.
const PART: f64 = 0.99;
const NOTHING: u64 = 1_024;

/// The pacer of a host.
#[derive(Debug)]
pub(super) struct Puller {
    /// The rate of the host's line.
    pub(super) line: Rate,
    /// Connections in the order of their turns, each once.
    turns: VecDeque<ConnId>,
    /// When the next pull may go.
    next: Time,
    armed: Time,
    /// The part of the line's rate that the fabric is taken to carry, where that is watched.
    share: Option<Share>,
}

impl Puller {
    /// The pacer of a host with such a line, where receivers give credit.
    pub(super) fn of(line: Rate, settings: &Settings) -> Option<Puller> {
        let times = settings.oversubscription;
        let share = (times > 1.0).then(|| Share::new(times));
        let (next, armed) = (Time::ZERO, Time::NEVER);
        settings.credits.then(|| Puller { line, turns: VecDeque::new(), next, armed, share })
    }

    /// A packet came.
    pub(super) fn see(&mut self, sight: Sight, now: Time) {
        if let Some(share) = &mut self.share {
            share.see(sight, now);
        }
    }
}

impl Host {
    /// A receiver's sender may want credit.
    #[cold]
    pub(super) fn list_pull<N: Net>(&mut self, conn: ConnId, cx: &mut Cx<N>, now: Time) {
        let Some(puller) = &mut self.puller else { return };
        // Each connection once, so that several arrivals of one sender do not give it several
        // turns.
        if !puller.turns.contains(&conn) {
            puller.turns.push_back(conn);
        }
        match puller.next <= now {
            true => self.pull(cx, now),
            false => self.arm_pull(),
        }
    }

    fn arm_pull(&mut self) {
        let Some(puller) = &mut self.puller else { return };
        if !puller.turns.is_empty() && puller.next < puller.armed {
            puller.armed = puller.next;
            let at = puller.next;
            self.wake(at, Timer::Pull);
        }
    }

    /// A pull is due.
    pub(super) fn pull_due<N: Net>(&mut self, cx: &mut Cx<N>, now: Time) {
        if let Some(puller) = self.puller.as_mut().filter(|puller| puller.armed == now) {
            puller.armed = Time::NEVER;
            self.pull(cx, now);
        }
    }

    /// Gives the next connection in turn its credit.
    fn pull<N: Net>(&mut self, cx: &mut Cx<N>, now: Time) {
        while let Some(puller) = &mut self.puller
            && puller.next <= now
            && let Some(conn) = puller.turns.pop_front()
        {
            let half = &mut self.receivers[conn];
            if !half.open || !half.receiving.wants_pull() {
                continue;
            }
            let bytes = half.receiving.pull();
            if half.receiving.wants_pull() {
                puller.turns.push_back(conn);
            }
            let bits = 8.0 * (if bytes == 0 { NOTHING } else { bytes }) as f64;
            let share = puller.share.as_mut().map_or(1.0, |share| share.at(now));
            let seconds = bits / (PART * share * puller.line.as_bps() as f64);
            puller.next = now + switchbed_units::Span::from_secs_f64(seconds);
            self.pump_receiver(conn, cx, now);
        }
        self.arm_pull();
    }
}
