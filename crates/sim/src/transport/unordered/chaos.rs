//! Both halves over a channel that reorders, trims and loses whatever it likes, answers too.

use super::fields::Fields;
use super::{Config, Receiver, Sender};
use crate::packet::Body;
use crate::packet::rdma::RdmaKind;
use crate::transport::Outgoing;
use proptest::prelude::*;
use switchbed_qdisc::Ecn;
use switchbed_scenario::roce::Spray;
use switchbed_units::{Rate, Span, Time};

fn config(nscc: bool, credits: bool, spray: Spray) -> Config {
    Config {
        nscc,
        credits,
        mtu: 1_000,
        header: 64,
        sack_bytes: 78,
        control_bytes: 64,
        ecn: Ecn::Ect0,
        ack_after: 4_000,
        rto: Span::from_us(50),
        give_up: Span::from_ms(1_000_000),
        class: None,
        spray,
        entropies: 16,
        last_hop: Some(9),
        rtt: Span::from_us(10),
        target: None,
        trimming: true,
    }
}

struct Bed {
    config: Config,
    sender: Sender,
    receiver: Receiver,
    data: Vec<Outgoing>,
    answers: Vec<Outgoing>,
    now: Time,
}

impl Bed {
    fn new(config: Config) -> Bed {
        let sender = Sender::new(&config, Rate::from_gbps(10), 7, Time::ZERO);
        let (receiver, data, answers) = (Receiver::default(), Vec::new(), Vec::new());
        Bed { config, sender, receiver, data, answers, now: Time::ZERO }
    }

    /// All that may leave does; a microsecond passes.
    fn pass(&mut self) {
        if self.sender.next_timeout().is_some_and(|due| due <= self.now) {
            self.sender.on_timeout(&self.config, self.now);
        }
        while let Some(out) = self.sender.poll_transmit(&self.config, self.now) {
            self.data.push(out);
        }
        if self.receiver.wants_pull() {
            self.receiver.pull(&self.config);
        }
        while let Some(out) = self.receiver.poll_transmit(&self.config) {
            self.answers.push(out);
        }
        self.now += Span::from_us(1);
    }

    fn deliver(&mut self, out: &Outgoing, trims: bool, marks: bool, class: u8) {
        let Body::Rdma(data) = &out.body else { panic!("{out:?}") };
        let len_bytes = if trims { 64 } else { out.len_bytes };
        self.receiver.on_data(&self.config, data, (marks, len_bytes, class));
    }

    fn answer(&mut self, out: &Outgoing) {
        let Body::Rdma(answer) = &out.body else { panic!("{out:?}") };
        self.sender.on_answer(&self.config, answer, self.now);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn all_arrives_once(
        messages in proptest::collection::vec(1_u64..40_000, 1..5),
        fates in proptest::collection::vec((any::<u16>(), 0_u8..8, any::<bool>()), 0..300),
        (nscc, credits) in prop_oneof![Just((true, false)), Just((false, true)), Just((true, true))],
        spray in prop_oneof![Just(Spray::Oblivious), Just(Spray::Bitmap), Just(Spray::Reps)]
    ) {
        let mut bed = Bed::new(config(nscc, credits, spray));
        let bytes: u64 = messages.iter().sum();
        let wire: u64 = messages.iter().map(|&bytes| bytes + 64 * bytes.div_ceil(1_000)).sum();
        messages.iter().for_each(|&bytes| bed.sender.write(&bed.config, bytes));
        for (pick, fate, marks) in fates {
            bed.pass();
            if !bed.data.is_empty() {
                let at = usize::from(pick) % bed.data.len();
                match fate {
                    // Twice, and lost.
                    0 => { let out = bed.data[at]; bed.deliver(&out, false, marks, 0); }
                    1 => { bed.data.swap_remove(at); }
                    2..5 => { let out = bed.data.swap_remove(at); bed.deliver(&out, true, marks, 9 * (fate % 2)); }
                    _ => { let out = bed.data.swap_remove(at); bed.deliver(&out, false, marks, 0); }
                }
            }
            if !bed.answers.is_empty() {
                let out = bed.answers.swap_remove(usize::from(pick) % bed.answers.len());
                if fate % 3 != 0 {
                    bed.answer(&out);
                }
            }
        }
        for _ in 0..100_000 {
            if bed.sender.acked() == bytes {
                break;
            }
            bed.pass();
            for out in std::mem::take(&mut bed.data) {
                bed.deliver(&out, false, false, 0);
            }
            bed.pass();
            for out in std::mem::take(&mut bed.answers) {
                bed.answer(&out);
            }
        }
        prop_assert_eq!(bed.sender.acked(), bytes);
        prop_assert_eq!((bed.receiver.received(), bed.receiver.wire_bytes()), (bytes, wire));
        prop_assert_eq!(bed.sender.in_flight(), 0);
    }
}

/// Fields of an answer.
fn fields(out: &Outgoing) -> Fields {
    let Body::Rdma(rdma) = &out.body else { panic!("{out:?}") };
    Fields::of(rdma)
}

#[test]
fn a_trimmed_packet_is_asked_for_at_once_and_sent_first() {
    let mut bed = Bed::new(config(true, false, Spray::Oblivious));
    bed.sender.write(&bed.config, 20_000);
    bed.pass();
    // 1.5 * 12,500 bytes: 17 packets of 1,064.
    assert_eq!(bed.data.len(), 17);
    let second = bed.data[1];
    bed.deliver(&second, true, false, 0);
    bed.pass();
    let nack = fields(&bed.answers[0]);
    assert_eq!((nack.kind(), nack.psn(), nack.last_hop()), (RdmaKind::Trimmed, 1, false));
    bed.data.clear();
    let nack = bed.answers.remove(0);
    bed.answer(&nack);
    // The window has shrunk by the packet that is no longer out: nothing may leave. An ACK of one lets it.
    bed.pass();
    assert!(bed.data.is_empty());
}

#[test]
fn a_lost_pull_is_told_again_after_a_request() {
    let mut bed = Bed::new(config(false, true, Spray::Oblivious));
    bed.sender.write(&bed.config, 1);
    bed.pass();
    let only = bed.data.remove(0);
    bed.deliver(&only, true, false, 0);
    bed.pass();
    let nack = bed.answers.iter().position(|out| fields(out).kind() == RdmaKind::Trimmed);
    let nack = bed.answers.remove(nack.expect("asked for"));
    // The pull is lost. After 50 us without credit and with nothing out, the sender asks.
    bed.answers.clear();
    bed.answer(&nack);
    (0..60).for_each(|_| bed.pass());
    let request = bed.data.remove(0);
    assert_eq!(fields(&request).kind(), RdmaKind::Request);
    bed.deliver(&request, false, false, 0);
    bed.pass();
    let pull = bed.answers.remove(0);
    assert_eq!((fields(&pull).kind(), fields(&pull).credit()), (RdmaKind::Pull, 65));
    bed.answer(&pull);
    bed.pass();
    assert_eq!((fields(&bed.data[0]).kind(), fields(&bed.data[0]).psn()), (RdmaKind::Sprayed, 0));
}

#[test]
fn credit_is_given_four_packets_at_a_time() {
    let mut bed = Bed::new(config(false, true, Spray::Oblivious));
    bed.sender.write(&bed.config, 100_000);
    bed.pass();
    // Speculative credit and a window of 18,750 bytes: 17 packets leave 662 bytes of credit, and the last wants the
    // rest of a window.
    assert_eq!(bed.data.len(), 17);
    let last = bed.data[16];
    assert_eq!(fields(&last).credit(), 18_088);
    bed.deliver(&last, false, false, 0);
    // 4,000 bytes in whole units of 256: 3,840.
    assert_eq!(bed.receiver.pull(&bed.config), 3_840);
    assert_eq!(bed.receiver.pull(&bed.config), 3_840);
    bed.answers.clear();
    bed.pass();
    let pulled: Vec<u64> = bed
        .answers
        .iter()
        .map(fields)
        .filter(|of| of.kind() == RdmaKind::Pull)
        .map(|of| of.credit())
        .collect();
    assert_eq!(pulled, [3_840, 7_680, 11_520]);
}
