//! The sending half alone, with ACKs by hand, and settings that TCP refuses.

use super::pipe::*;
use switchbed_scenario::transport::*;
use switchbed_sim::tcp::{Config, Flags, SackBlock, Segment, Sender};
use switchbed_units::{Bytes, Span, Time};

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

#[test]
fn impossible_settings_are_refused_by_name() {
    let t = transport;
    let dctcp = |g, alpha_start| {
        marked(CongestionControl::Dctcp(DctcpParams {
            g,
            alpha_start,
            arithmetic: Arithmetic::Exact,
        }))
    };
    let cubic = |c, beta| {
        let (fast_convergence, reno_friendly) = (true, true);
        marked(CongestionControl::Cubic(CubicParams {
            c,
            beta,
            fast_convergence,
            reno_friendly,
            arithmetic: Arithmetic::Exact,
        }))
    };
    let warm = |cwnd, us| Some(Warm { cwnd, srtt: Span::from_us(us) });
    for (settings, key) in [
        (Transport { mss: Bytes::ZERO, ..t() }, "mss"),
        (Transport { mss: Bytes::new(65_536), ..t() }, "mss"),
        (Transport { header: Bytes::new(65_536), ..t() }, "header"),
        (Transport { initial_window: 0, ..t() }, "initial_window"),
        (Transport { initial_ssthresh: 0, ..t() }, "initial_ssthresh"),
        (Transport { receive_window: 0, ..t() }, "receive_window"),
        (Transport { receive_window: 2_941_759, ..t() }, "receive_window"),
        (Transport { ack_every: 0, ..t() }, "ack_every"),
        (Transport { rto_initial: Span::ZERO, ..t() }, "rto_initial"),
        (Transport { ack_delay_max: Span::from_us(499), ..t() }, "ack_delay_max"),
        (Transport { abc_limit: 0, ..t() }, "abc_limit"),
        (Transport { send_buffer: Some(Bytes::new(1_459)), ..t() }, "send_buffer"),
        (Transport { rto_min: Span::ZERO, ..t() }, "rto_min"),
        (Transport { rto_max: Span::from_ms(4), ..t() }, "rto_initial"),
        (Transport { sack_blocks: 4, ..t() }, "sack_blocks"),
        (dctcp(0.0, 1.0), "g"),
        (dctcp(f64::NAN, 1.0), "g"),
        (dctcp(0.1, 1.5), "alpha_start"),
        (cubic(0.0, 0.7), "c"),
        (cubic(0.4, 1.0), "beta"),
        (Transport { warm: warm(0.5, 100), ..t() }, "warm"),
        (Transport { warm: warm(10.0, 0), ..t() }, "warm.srtt"),
    ] {
        let refusal = Config::new(&settings).expect_err(key);
        assert_eq!(refusal.key, key, "{refusal}");
    }
    assert!(Config::new(&Transport { receive_window: 2_941_758, ..t() }).is_ok());
    let refusal = Config::new(&Transport { sack_blocks: 4, ..t() }).unwrap_err();
    assert_eq!(refusal.to_string(), "sack_blocks: it must be a whole number from 0 to 3");
}
