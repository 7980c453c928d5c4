//! A sender and a receiver with a path between them that does as it is told.

use crate::common::profile;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use switchbed_scenario::transport::*;
use switchbed_sim::tcp::{Config, Flags, Receiver, Segment, Sender};
use switchbed_units::{Bytes, Span, Time};

pub const MSS: u64 = 1460;
/// One way; nothing takes time but this.
pub const DELAY: Span = Span::from_us(50);

/// What a file has under the profile switchbed-0.1, DCTCP's ECN apart.
fn defaults() -> Transport {
    let mut transport = profile::transport(Bytes::new(MSS + 40));
    (transport.ecn_syn, transport.ecn_retransmits) = (false, false);
    transport
}

/// RFC settings with data-centre timers, SACK, an ACK a packet, ECN* off.
pub fn transport() -> Transport {
    Transport {
        control: CongestionControl::EcnStar,
        mss: Bytes::new(MSS),
        header: Bytes::new(40),
        initial_window: 10,
        initial_ssthresh: 1000,
        receive_window: 1000,
        rto_initial: Span::from_ms(10),
        rto_min: Span::from_ms(5),
        rto_max: Span::from_ms(1000),
        ack_every: 1,
        ack_delay: Span::from_us(500),
        ack_delay_max: Span::from_us(500),
        sack_blocks: 3,
        rtt_sampling: RttSampling::OneAtATime,
        restart: Restart::AfterRto,
        pacing: Pacing::Off,
        grow_when_app_limited: true,
        loss_halves: LossHalves::Flight,
        cut: WindowCut::Exact,
        ecn: false,
        ..defaults()
    }
}

/// The same with ECN and the given control.
pub fn marked(control: CongestionControl) -> Transport {
    Transport { control, ecn: true, ..transport() }
}

/// What the path does to a segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    Deliver,
    Drop,
    Mark,
    /// Arrives later by this much.
    Late(Span),
    /// Arrives twice, the second time later by this much.
    Twice(Span),
}

type Script = Box<dyn FnMut(usize, &Segment) -> Fate>;

/// A connection over a scripted path.
pub struct Pipe {
    pub config: Config,
    pub sender: Sender,
    pub receiver: Receiver,
    pub now: Time,
    /// What the sender sent, and when.
    pub sent: Vec<(Time, Segment)>,
    /// What the receiver sent, and when.
    pub acks: Vec<(Time, Segment)>,
    /// What arrived, as far as it is in order; and what arrived beyond that.
    pub arrived: u64,
    beyond: BTreeSet<(u64, u64)>,
    /// SACK blocks that reached the sender.
    pub sacked: Vec<(u64, u64)>,
    /// By time, then in the order of sending.
    flying: BTreeMap<Time, VecDeque<(Segment, bool, bool)>>,
    on_data: Script,
    on_ack: Script,
}

impl Pipe {
    /// An established connection over a path that delivers everything.
    pub fn new(transport: &Transport) -> Pipe {
        let config = Config::new(transport).unwrap();
        let sender = Sender::established(&config);
        Pipe {
            config,
            sender,
            receiver: Receiver::new(),
            now: Time::ZERO,
            sent: Vec::new(),
            acks: Vec::new(),
            arrived: 0,
            beyond: BTreeSet::new(),
            sacked: Vec::new(),
            flying: BTreeMap::new(),
            on_data: Box::new(|_, _| Fate::Deliver),
            on_ack: Box::new(|_, _| Fate::Deliver),
        }
    }

    /// The same, with a handshake to come.
    pub fn fresh(transport: &Transport) -> Pipe {
        let mut pipe = Pipe::new(transport);
        pipe.sender = Sender::new(&pipe.config);
        pipe
    }

    /// Lets `script` decide on the nth segment that the sender sends.
    pub fn data(mut self, script: impl FnMut(usize, &Segment) -> Fate + 'static) -> Pipe {
        self.on_data = Box::new(script);
        self
    }

    /// Drops the data segments with these numbers, counted as they are sent.
    pub fn dropping(self, numbers: &'static [usize]) -> Pipe {
        self.data(move |n, _| if numbers.contains(&n) { Fate::Drop } else { Fate::Deliver })
    }

    /// Lets `script` decide on the nth segment that the receiver sends.
    pub fn ack(mut self, script: impl FnMut(usize, &Segment) -> Fate + 'static) -> Pipe {
        self.on_ack = Box::new(script);
        self
    }

    pub fn write(&mut self, packets: u64) {
        self.sender.write(packets * MSS);
        self.transmit();
    }

    /// Sends all that both halves want to send.
    fn transmit(&mut self) {
        while let Some(segment) = self.sender.poll_transmit(&self.config, self.now) {
            let fate = (self.on_data)(self.sent.len(), &segment);
            self.sent.push((self.now, segment));
            self.launch(segment, true, fate);
        }
        while let Some(segment) = self.receiver.poll_transmit(&self.config, self.now) {
            let fate = (self.on_ack)(self.acks.len(), &segment);
            self.acks.push((self.now, segment));
            self.launch(segment, false, fate);
        }
    }

    fn launch(&mut self, segment: Segment, to_receiver: bool, fate: Fate) {
        let at = self.now + DELAY;
        let mut land = |at, ce| {
            self.flying.entry(at).or_default().push_back((segment, to_receiver, ce));
        };
        match fate {
            Fate::Drop => {}
            Fate::Deliver => land(at, false),
            Fate::Mark => land(at, self.config.ecn_capable(&segment)),
            Fate::Late(by) => land(at + by, false),
            Fate::Twice(by) => {
                land(at, false);
                land(at + by, false);
            }
        }
    }

    /// When either half is to be woken.
    fn timers(&self) -> [Option<Time>; 3] {
        let paced = self.sender.paced_until();
        let paced = (paced != Time::NEVER).then_some(paced);
        [self.sender.next_timeout(), self.receiver.next_timeout(), paced]
    }

    /// The next thing happens; answers whether there was one.
    pub fn step(&mut self) -> bool {
        let landing = self.flying.keys().next().copied();
        let Some(next) = self.timers().into_iter().flatten().chain(landing).min() else {
            return false;
        };
        self.now = self.now.max(next);
        if landing == Some(next) {
            let mut entry = self.flying.first_entry().unwrap();
            let (segment, to_receiver, ce) = entry.get_mut().pop_front().unwrap();
            if entry.get().is_empty() {
                entry.remove();
            }
            if to_receiver {
                self.beyond.insert((segment.offset, segment.offset + segment.len as u64));
                while let Some(&(_, end)) = self.beyond.first().filter(|s| s.0 <= self.arrived) {
                    self.arrived = self.arrived.max(end);
                    self.beyond.pop_first();
                }
                self.receiver.on_segment(&self.config, &segment, ce, self.now);
            } else {
                let at = |distance: u32| segment.offset + distance as u64;
                let blocks = segment.sack_blocks().iter().map(|b| (at(b.start), at(b.end)));
                self.sacked.extend(blocks);
                self.sender.on_segment(&self.config, &segment, self.now);
            }
        } else {
            self.sender.on_timeout(&self.config, self.now);
            self.receiver.on_timeout(&self.config, self.now);
        }
        self.transmit();
        true
    }

    /// Runs until nothing is left to do.
    pub fn run(&mut self) {
        for _ in 0..1_000_000 {
            if !self.step() {
                return;
            }
        }
        panic!("no end");
    }

    /// Runs until `time`.
    pub fn run_until(&mut self, time: Time) {
        loop {
            let landing = self.flying.keys().next().copied();
            match self.timers().into_iter().flatten().chain(landing).min() {
                Some(next) if next <= time => self.step(),
                _ => break,
            };
        }
        self.now = time;
    }

    /// The stream has arrived whole and is acknowledged.
    pub fn assert_delivered(&self, packets: u64) {
        assert_eq!(self.receiver.received(), packets * MSS);
        assert!(self.sender.idle());
        assert_eq!(self.sender.next_timeout(), None);
    }

    /// When this packet of the stream was last sent.
    pub fn last_sent(&self, packet: u64) -> Time {
        let of_packet = |s: &&(Time, Segment)| s.1.offset == packet * MSS;
        self.sent.iter().rfind(of_packet).unwrap().0
    }

    /// Offsets of the data sent again, in packets.
    pub fn retransmitted(&self) -> Vec<u64> {
        let again = |s: &&(Time, Segment)| s.1.flags.contains(Flags::RETRANSMIT);
        self.sent.iter().filter(again).map(|(_, s)| s.offset / MSS).collect()
    }
}

/// `n` times 100 us, the round trip.
pub fn round_trips(n: u64) -> Time {
    Time::ZERO + (DELAY + DELAY) * n
}

/// All of so many packets arrives, though these are lost.
pub fn deliver(settings: &Transport, packets: u64, lost: &'static [usize]) -> Pipe {
    let mut pipe = Pipe::new(settings).dropping(lost);
    pipe.write(packets);
    pipe.run();
    pipe.assert_delivered(packets);
    pipe
}

/// So many microseconds after the start.
pub fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}
