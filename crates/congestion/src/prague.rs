//! TCP Prague (draft-briscoe-iccrg-prague-congestion-control; `tcp_prague.c` of the L4S team's
//! kernel): DCTCP's α, of marks that accurate ECN counts, with ECT(1) on every packet. Unmarked
//! data grows the window even while marks come. Below a round trip of `rtt_virtual` a flow cuts and
//! grows as if it had that one.
//!
//! Three parts are not modelled: the pacing rate in place of a window below four packets, smaller
//! segments for the lowest rates, and the fall back to Reno for peers without accurate ECN (every
//! host here has it).

use crate::{About, Acked, Control, Mark};
use std::ops::Deref;
use switchbed_config::param::Unfit;
use switchbed_config::params;
use switchbed_units::{Span, Time};

params! {
    /// Prague's parameters.
    #[derive(Copy)]
    pub struct PragueParams {
        /// A flow behaves as if its round trip were at least this long, from the fifth round after
        /// slow start (prague_rtt_target: 25 ms).
        rtt_virtual: Span;
    }
}

/// Weight of a new sample of the marked fraction.
const G: f64 = 1.0 / 16.0;
/// Rounds after slow start until a flow behaves by its virtual round trip.
const TRANSITION: u32 = 4;
/// Longer round trips grow a packet a round trip whatever else.
const LONGEST: Span = Span::from_ms(100);
/// Least window that a mark leaves, in packets.
const LEAST: f64 = 2.0;

/// Prague; apart, since it is larger than others' memory.
#[derive(Clone, Debug)]
pub struct Prague(Box<State>);

#[derive(Clone, Debug)]
struct State {
    alpha: f64,
    /// The same before the ACK that is being looked at.
    alpha_before: f64,
    /// An ACK up to here ends the round.
    round_end: u64,
    acked: u64,
    marked: u64,
    /// The part of the last ACK that was not marked.
    unmarked: f64,
    /// Whether a mark has halved the window.
    halved: bool,
    /// Slow start is over, since so many rounds.
    avoiding: bool,
    rounds: u32,
    /// When α and the window were changed last.
    sampled: Time,
    cut: Time,
}

impl State {
    /// Whether it behaves by its virtual round trip, and that has not passed since.
    fn waits(&self, params: &PragueParams, since: Time, now: Time) -> bool {
        self.rounds >= TRANSITION && now.since(since) < params.rtt_virtual
    }
}

impl Control for Prague {
    type Params = PragueParams;
    const ABOUT: About =
        About { ecn_throughout: true, loss_adds_to_mark: true, scalable: true, ..About::TCP };

    fn check(params: &PragueParams) -> Result<(), Unfit> {
        match params.rtt_virtual {
            Span::ZERO => Err(Unfit::new(PragueParams::KEY.rtt_virtual, "an RTT is longer than 0")),
            _ => Ok(()),
        }
    }

    fn new(_: &PragueParams) -> Prague {
        Prague(Box::new(State {
            alpha: 0.0,
            alpha_before: 0.0,
            round_end: 0,
            acked: 0,
            marked: 0,
            unmarked: 1.0,
            halved: false,
            avoiding: false,
            rounds: 0,
            sampled: Time::ZERO,
            cut: Time::ZERO,
        }))
    }

    fn acked(&mut self, params: impl Deref<Target = PragueParams>, ack: Acked) {
        let state = &mut *self.0;
        state.acked += u64::from(ack.bytes);
        state.marked += u64::from(ack.marked);
        // Of what is acknowledged only the unmarked part lets the window grow.
        state.unmarked = 1.0 - f64::from(ack.marked) / f64::from(ack.bytes.max(1));
        state.alpha_before = state.alpha;
        if ack.end < state.round_end || state.waits(&params, state.sampled, ack.now) {
            return;
        }
        // Before the first mark there is no fraction to average: alpha begins with it.
        if state.halved || state.marked > 0 {
            let fraction = (state.marked as f64 / state.acked as f64).min(1.0);
            state.alpha += G * (fraction - state.alpha);
            state.sampled = ack.now;
        }
        (state.round_end, state.acked, state.marked) = (ack.sent, 0, 0);
        // Rounds of slow start do not count towards the transition.
        state.rounds += u32::from(state.avoiding);
    }

    /// A packet a virtual round trip, at the rate that this one has: (RTT/virtual)² packets a real one.
    fn grown(
        &mut self,
        params: impl Deref<Target = PragueParams>,
        cwnd: f64,
        packets: f64,
        _: Time,
        srtt: Option<Span>,
    ) -> Option<f64> {
        let state = &mut *self.0;
        state.avoiding = true;
        let part = match srtt {
            Some(srtt) if state.rounds >= TRANSITION && srtt < LONGEST => {
                // Short round trips grow by the square of their part of the virtual one: as fast a
                // second as it.
                (srtt.as_secs_f64() / params.rtt_virtual.as_secs_f64()).min(1.0)
            }
            _ => 1.0,
        };
        Some(cwnd + part * part * packets * state.unmarked / cwnd)
    }

    fn marked(
        &mut self,
        params: impl Deref<Target = PragueParams>,
        window: f64,
        now: Time,
    ) -> Mark {
        let state = &mut *self.0;
        state.avoiding = true;
        let leaves = match state.halved {
            // The first mark ends slow start.
            false => 0.5,
            // One cut a virtual round trip, however short the real one.
            true if state.waits(&params, state.cut, now) => return Mark::Ignored,
            true => 1.0 - state.alpha_before / 2.0,
        };
        (state.halved, state.cut) = (true, now);
        Mark::To((window * leaves).max(LEAST))
    }

    fn alpha(&self) -> Option<f64> {
        Some(self.0.alpha)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMS: PragueParams = PragueParams { rtt_virtual: Span::from_ms(25) };
    const RTT: Span = Span::from_ms(5);

    fn at(round: u64) -> Time {
        Time::ZERO + RTT * round
    }

    /// Rounds of ten packets in congestion avoidance, of which so many are marked.
    fn round(prague: &mut Prague, n: u64, marks: u64) {
        for i in 1..=10 {
            let marked = if i <= marks { 1460 } else { 0 };
            let (end, sent) = ((10 * n + i) * 1460, (10 * n + 10 + i) * 1460);
            let ack = Acked { bytes: 1460, marked, end, sent, now: at(n), rtt: Some(RTT) };
            prague.acked(&PARAMS, ack);
        }
        prague.grown(&PARAMS, 10.0, 0.0, at(n), Some(RTT));
    }

    fn new() -> Prague {
        Prague::new(&PARAMS)
    }

    #[test]
    fn the_first_mark_halves_and_alpha_grows_from_nothing() {
        let mut prague = new();
        round(&mut prague, 0, 0);
        assert_eq!(prague.alpha(), Some(0.0));
        assert_eq!(prague.marked(&PARAMS, 21.0, at(1)), Mark::To(10.5));
        // α of that moment is 0: the next mark leaves all.
        assert_eq!(prague.marked(&PARAMS, 21.0, at(1)), Mark::To(21.0));
        // The ACK that ends a round is the next one's first: 4 of 10 marked, then none.
        round(&mut prague, 1, 4);
        round(&mut prague, 2, 0);
        let alpha = prague.alpha().unwrap();
        assert!((alpha - (1.0 / 16.0) * (15.0 / 16.0) * 0.1 - 0.3 / 16.0).abs() < 1e-12, "{alpha}");
    }

    #[test]
    fn a_short_round_trip_grows_by_its_square_from_the_fifth_round_on() {
        let grown = |rounds, srtt| {
            let mut prague = new();
            prague.0.rounds = rounds;
            prague.grown(&PARAMS, 10.0, 1.0, Time::ZERO, srtt).unwrap() - 10.0
        };
        let close = |is: f64, expected: f64| assert!((is - expected).abs() < 1e-12, "{is}");
        close(grown(3, Some(RTT)), 0.1);
        // (5/25)².
        close(grown(4, Some(RTT)), 0.1 / 25.0);
        close(grown(4, Some(Span::from_ms(30))), 0.1);
        close(grown(4, Some(Span::from_ms(100))), 0.1);
        close(grown(4, None), 0.1);
    }

    #[test]
    fn what_is_marked_does_not_grow_the_window() {
        let mut prague = new();
        let ack =
            |bytes, marked| Acked { bytes, marked, end: 1, sent: 2, now: Time::ZERO, rtt: None };
        for (bytes, marked, packets, growth) in [(2920, 1460, 2.0, 0.1), (1460, 1460, 1.0, 0.0)] {
            prague.acked(&PARAMS, ack(bytes, marked));
            let grown = prague.grown(&PARAMS, 10.0, packets, Time::ZERO, None).unwrap();
            assert!((grown - 10.0 - growth).abs() < 1e-12);
        }
    }

    #[test]
    fn it_cuts_once_a_virtual_round_trip_and_leaves_two_packets() {
        let mut prague = new();
        (prague.0.halved, prague.0.rounds, prague.0.alpha_before) = (true, 4, 0.5);
        assert_eq!(prague.marked(&PARAMS, 20.0, at(5)), Mark::To(15.0));
        assert_eq!(prague.marked(&PARAMS, 20.0, at(9)), Mark::Ignored);
        assert_eq!(prague.marked(&PARAMS, 2.5, at(10)), Mark::To(2.0));
        // Until then, every round trip.
        prague.0.rounds = 3;
        assert_eq!(prague.marked(&PARAMS, 20.0, at(11)), Mark::To(15.0));
    }
}
