//! The sending half alone, with ACKs by hand.

use super::pipe::*;
use switchbed_scenario::transport::*;
use switchbed_sim::tcp::{Config, Flags, SackBlock, Segment, Sender};
use switchbed_units::{Span, Time};

/// A sender, its settings and its clock.
pub struct Bench {
    pub config: Config,
    pub sender: Sender,
    pub now: Time,
}

impl Bench {
    /// A sender with these packets written.
    pub fn new(settings: &Transport, packets: u64) -> Bench {
        let config = Config::new(settings).unwrap();
        let sender = Sender::established(&config);
        let mut bench = Bench { config, sender, now: Time::ZERO };
        bench.write(packets);
        bench
    }

    pub fn write(&mut self, packets: u64) -> Vec<u64> {
        self.sender.write(packets * MSS);
        self.sent()
    }

    /// An ACK of all before packet `n` comes; answers the packets that it lets out.
    pub fn acks(&mut self, n: u64, flags: Flags) -> Vec<u64> {
        self.answer(Segment::ack(n * MSS, flags, Time::ZERO))
    }

    /// The same, with packets `from` to `to` (excluded) SACKed.
    pub fn sack(&mut self, n: u64, from: u64, to: u64) -> Vec<u64> {
        let at = |packet: u64| ((packet - n) * MSS) as u32;
        let mut ack = Segment::ack(n * MSS, Flags::NONE, Time::ZERO);
        (ack.sack[0], ack.sacks) = (SackBlock { start: at(from), end: at(to) }, 1);
        self.answer(ack)
    }

    /// The next ACK comes so many microseconds after the start.
    pub fn at(&mut self, us: u64) -> &mut Bench {
        self.now = Time::ZERO + Span::from_us(us) - DELAY;
        self
    }

    fn answer(&mut self, ack: Segment) -> Vec<u64> {
        self.now += DELAY;
        self.sender.on_segment(&self.config, &ack, self.now);
        self.sent()
    }

    pub fn ack(&mut self, n: u64) -> Vec<u64> {
        self.acks(n, Flags::NONE)
    }

    pub fn time_out(&mut self) -> Vec<u64> {
        self.now = self.sender.next_timeout().unwrap();
        self.sender.on_timeout(&self.config, self.now);
        self.sent()
    }

    fn sent(&mut self) -> Vec<u64> {
        let poll = || self.sender.poll_transmit(&self.config, self.now);
        std::iter::from_fn(poll).map(|s| s.offset / MSS).collect()
    }

    pub fn recoveries(&self) -> u32 {
        self.sender.counters().fast_recoveries
    }
}

fn newreno() -> Transport {
    Transport { sack_blocks: 0, ..transport() }
}

#[test]
fn with_sack_an_ack_that_reports_nothing_new_is_no_duplicate() {
    for (settings, recoveries) in [(transport(), 0), (newreno(), 1)] {
        let mut b = Bench::new(&settings, 10);
        for _ in 0..5 {
            b.ack(0);
        }
        assert_eq!(b.recoveries(), recoveries);
    }
}

#[test]
fn an_ack_of_what_was_never_sent_is_ignored() {
    let mut b = Bench::new(&transport(), 10);
    assert_eq!(b.ack(11), [0; 0]);
    assert_eq!((b.sender.acked(), b.sender.cwnd()), (0, 10.0));
}

#[test]
fn newreno_deflates_the_window_at_a_partial_ack() {
    // 0 and 1 of 20 are lost.
    let mut b = Bench::new(&Transport { initial_window: 20, ..newreno() }, 100);
    let out: Vec<_> = (0..18).flat_map(|_| b.ack(0)).collect();
    // 22 less k are in flight after the kth duplicate; 10 may be.
    assert_eq!(out, [20, 21, 0, 22, 23, 24, 25, 26, 27]);
    assert_eq!([b.ack(0), b.ack(0)], [[28], [29]]);
    // 30 were sent, 20 duplicates came. One is acknowledged: 1 goes out, and, as the window
    // deflates by one packet less, a new one.
    assert_eq!(b.ack(1), [1, 30]);
    assert_eq!(b.ack(1), [31]);
    assert_eq!(b.recoveries(), 1);
}

#[test]
fn newreno_is_deaf_to_duplicates_at_the_end_of_a_recovery() {
    let mut b = Bench::new(&newreno(), 40);
    for _ in 0..3 {
        b.ack(0);
    }
    // 12 were sent. All arrived: the recovery ends, but duplicates here may be of segments
    // that were sent twice.
    b.ack(12);
    for _ in 0..4 {
        b.ack(12);
    }
    assert_eq!(b.recoveries(), 1);
    b.ack(13);
    for _ in 0..3 {
        b.ack(13);
    }
    assert_eq!(b.recoveries(), 2);
}

#[test]
fn newreno_is_deaf_to_duplicates_after_a_timeout() {
    let mut b = Bench::new(&newreno(), 10);
    assert_eq!(b.time_out(), [0]);
    // Duplicates are of the ten first sendings and let nothing out.
    for _ in 0..5 {
        assert_eq!(b.ack(0), [0; 0]);
    }
    assert_eq!(b.ack(10), [0; 0]);
    assert_eq!(b.write(20), [10, 11]);
    for _ in 0..5 {
        assert_eq!(b.ack(10), [0; 0]);
    }
    assert_eq!(b.recoveries(), 0);
    b.ack(11);
    for _ in 0..3 {
        b.ack(11);
    }
    assert_eq!(b.recoveries(), 1);
}

#[test]
fn one_ack_grows_the_window_by_a_packet_at_most() {
    let mut b = Bench::new(&marked(CongestionControl::EcnStar), 10);
    b.acks(1, Flags::ECE);
    assert_eq!(b.sender.cwnd(), 5.0);
    b.ack(10);
    assert_eq!(b.sender.cwnd(), 6.0);
}
