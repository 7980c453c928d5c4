//! HyStart: slow start ends where round trips grow, before the queue is full and packets are lost.
//!
//! [`Detectors`] are those of Linux's CUBIC (Ha and Rhee, 2011; `tcp_cubic.c` since 5.5): a train of
//! ACKs that lasts half a round trip, and a round whose least RTT is an eighth over the least of
//! all. [`PlusPlus`] is RFC 9406: by delay alone, and slow start goes on slowly for a while to see
//! whether that was the queue.

use switchbed_units::{Span, Time};

/// RTT samples that tell a round's least RTT.
const SAMPLES: u8 = 8;

/// An ACK of new data in slow start.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Offset before which all is acknowledged.
    pub end: u64,
    /// Data up to here is out.
    pub sent: u64,
    /// Time at which it came.
    pub now: Time,
    /// RTT sample that it gives.
    pub rtt: Span,
    /// Congestion window in packets.
    pub cwnd: f64,
    /// Time that segmentation offload and merged ACKs may add to a train (Linux).
    pub slack: Span,
    /// Something paces the sender, so that a train is as long as the round trip (Linux).
    pub paced: bool,
}

/// Decision on how slow start goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Slow start goes on at full speed.
    On,
    /// Slow start goes on at a quarter of the speed (RFC 9406, Conservative Slow Start).
    Slowly,
    /// Slow start ends with this window.
    Ends,
}

/// How much a round's least RTT must exceed another for the queue to have grown.
fn growth(rtt: Span) -> Span {
    // HYSTART_DELAY_THRESH of tcp_cubic.c: an eighth, from 4 to 16 ms.
    (rtt / 8).clamp(Span::from_ms(4), Span::from_ms(16))
}

/// The detectors of Linux's CUBIC.
#[derive(Clone, Debug)]
pub struct Detectors {
    /// An ACK beyond this ends the round.
    round_end: u64,
    round_start: Time,
    /// The last ACK of the train.
    last: Time,
    /// The least RTT since the connection began, or the last timeout was.
    least: Span,
    /// The least RTT of the round.
    round_least: Span,
    samples: u8,
    found: bool,
}

impl Default for Detectors {
    fn default() -> Detectors {
        Detectors {
            round_end: 0,
            round_start: Time::ZERO,
            last: Time::ZERO,
            least: Span::MAX,
            round_least: Span::MAX,
            samples: 0,
            found: false,
        }
    }
}

impl Detectors {
    /// No queue is looked for below this window.
    const LEAST_WINDOW: f64 = 16.0;
    /// ACKs further apart than this are no train.
    const GAP: Span = Span::from_ms(2);

    /// Evaluates an ACK and decides how slow start goes on.
    pub fn acked(&mut self, ack: &Ack) -> Next {
        // Also after the end was found, as the least round trip is the connection's.
        self.least = self.least.min(ack.rtt);
        if self.found {
            return Next::On;
        }
        if ack.end > self.round_end {
            (self.round_end, self.round_start, self.last) = (ack.sent, ack.now, ack.now);
            (self.round_least, self.samples) = (Span::MAX, 0);
        }
        if ack.cwnd < Self::LEAST_WINDOW {
            return Next::On;
        }
        // An ACK that comes later than this ends the train.
        if ack.now.since(self.last) <= Self::GAP {
            self.last = ack.now;
            let whole = self.least + ack.slack;
            // `hystart_update` halves the limit only where no pacing spreads the train.
            let longest = if ack.paced { whole } else { whole / 2 };
            self.found = ack.now.since(self.round_start) > longest;
        }
        self.round_least = self.round_least.min(ack.rtt);
        if self.samples < SAMPLES {
            self.samples += 1;
        } else {
            // From the ninth sample of a round on, as `hystart_update` counts them.
            self.found |= self.round_least > self.least + growth(self.least);
        }
        if self.found { Next::Ends } else { Next::On }
    }
}

/// HyStart++ of a connection's first slow start.
#[derive(Clone, Debug)]
pub struct PlusPlus {
    round_end: u64,
    last_least: Span,
    round_least: Span,
    samples: u8,
    /// Rounds of Conservative Slow Start so far, and the RTT with which it began.
    slowly: Option<(u8, Span)>,
}

impl Default for PlusPlus {
    fn default() -> PlusPlus {
        PlusPlus {
            round_end: 0,
            last_least: Span::MAX,
            round_least: Span::MAX,
            samples: 0,
            slowly: None,
        }
    }
}

impl PlusPlus {
    /// Rounds of Conservative Slow Start until slow start ends, the one in which it began counted.
    const ROUNDS: u8 = 5;

    /// Evaluates an ACK (section 4.2) and decides how slow start goes on.
    pub fn acked(&mut self, ack: &Ack) -> Next {
        if ack.end > self.round_end {
            self.round_end = ack.sent;
            // RFC 9406, section 4.2: a round is compared with the one before, not with the least.
            self.last_least = std::mem::replace(&mut self.round_least, Span::MAX);
            self.samples = 0;
            if let Some((rounds, _)) = &mut self.slowly {
                *rounds += 1;
                // CSS_ROUNDS: the rise has lasted, so that it is the queue's.
                if *rounds == Self::ROUNDS {
                    return Next::Ends;
                }
            }
        }
        self.round_least = self.round_least.min(ack.rtt);
        self.samples = self.samples.saturating_add(1);
        if self.samples >= SAMPLES {
            match self.slowly {
                // The delay was not the queue's.
                Some((_, began)) if self.round_least < began => self.slowly = None,
                None if self.last_least < Span::MAX
                    && self.round_least >= self.last_least + growth(self.last_least) =>
                {
                    self.slowly = Some((0, self.round_least));
                }
                _ => {}
            }
        }
        if self.slowly.is_some() { Next::Slowly } else { Next::On }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Span = Span::from_ms;

    fn ack(end: u64, sent: u64, at: Span, rtt: Span) -> Ack {
        let now = Time::ZERO + at;
        Ack { end, sent, now, rtt, cwnd: 20.0, slack: Span::ZERO, paced: false }
    }

    #[test]
    fn a_train_of_half_the_least_round_trip_ends_slow_start() {
        // 20 ms: ACKs every millisecond from 20 ms on; the train is over 10 ms with that at 31 ms.
        let ends = |paced, cwnd| {
            let mut detectors = Detectors::default();
            (0..30).find(|&n| {
                let ack = ack(n + 1, 100, MS(20 + n), MS(20));
                detectors.acked(&Ack { paced, cwnd, ..ack }) == Next::Ends
            })
        };
        assert_eq!(ends(false, 20.0), Some(11));
        assert_eq!(ends(true, 20.0), Some(21));
        assert_eq!(ends(false, 15.9), None);
    }

    #[test]
    fn acks_far_apart_are_no_train_and_slack_makes_it_longer() {
        let ends = |apart: u64, slack| {
            let mut detectors = Detectors::default();
            (0..30).find(|&n| {
                let ack = ack(n + 1, 100, MS(20 + apart * n), MS(20));
                detectors.acked(&Ack { slack, ..ack }) == Next::Ends
            })
        };
        assert_eq!(ends(3, Span::ZERO), None);
        // (20 + 4)/2 is 12 ms.
        assert_eq!(ends(1, MS(4)), Some(13));
    }

    #[test]
    fn a_round_of_longer_trips_ends_slow_start_with_its_ninth_sample() {
        // The least of all is 40 ms, an eighth of it 5 ms; samples come together, so no train.
        let ends = |rtt| {
            let mut detectors = Detectors::default();
            assert_eq!(detectors.acked(&ack(1, 10, MS(40), MS(40))), Next::On);
            (0..10).find(|&n| detectors.acked(&ack(11 + n, 30, MS(90), rtt)) == Next::Ends)
        };
        assert_eq!(ends(MS(45)), None);
        assert_eq!(ends(MS(46)), Some(8));
    }

    #[test]
    fn hystart_plus_plus_slows_down_for_five_rounds_and_ends() {
        let mut hystart = PlusPlus::default();
        let mut round = |n: u64, rtt| -> Vec<Next> {
            (0..8).map(|i| hystart.acked(&ack(n * 8 + i + 1, (n + 1) * 8, MS(n), rtt))).collect()
        };
        assert_eq!(round(0, MS(32)), [Next::On; 8]);
        // 32 ms and an eighth: not before the eighth sample.
        let longer = round(1, MS(36));
        assert_eq!((&longer[..7], longer[7]), (&[Next::On; 7][..], Next::Slowly));
        for n in 2..6 {
            assert_eq!(round(n, MS(36)), [Next::Slowly; 8], "{n}");
        }
        assert_eq!(round(6, MS(36))[0], Next::Ends);
    }

    #[test]
    fn hystart_plus_plus_goes_on_where_the_delay_was_not_the_queues() {
        let mut hystart = PlusPlus::default();
        let mut round = |n: u64, rtt| {
            (0..8).map(|i| hystart.acked(&ack(n * 8 + i + 1, (n + 1) * 8, MS(n), rtt))).last()
        };
        assert_eq!(round(0, MS(32)), Some(Next::On));
        assert_eq!(round(1, MS(40)), Some(Next::Slowly));
        assert_eq!(round(2, MS(39)), Some(Next::On));
        // The next comparison is with the round before.
        assert_eq!(round(3, MS(42)), Some(Next::On));
        assert_eq!(round(4, MS(48)), Some(Next::Slowly));
    }
}
