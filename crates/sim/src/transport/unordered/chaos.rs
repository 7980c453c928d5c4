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
        counts_from: Time::ZERO,
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
        sleek: false,
        oversubscription: 1.0,
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
            self.receiver.pull();
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
        spray in prop_oneof![
            Just(Spray::Oblivious), Just(Spray::Bitmap), Just(Spray::Reps), Just(Spray::Mixed)
        ],
        sleek in any::<bool>()
    ) {
        let mut bed = Bed::new(Config { sleek: sleek && nscc, ..config(nscc, credits, spray) });
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
    assert_eq!((fields(&pull).kind(), fields(&pull).credit()), (RdmaKind::Pull, 256));
    bed.answer(&pull);
    bed.pass();
    assert_eq!((fields(&bed.data[0]).kind(), fields(&bed.data[0]).psn()), (RdmaKind::Sprayed, 0));
}

#[test]
fn credit_is_given_16_kib_at_a_time_in_whole_units() {
    let mut bed = Bed::new(config(false, true, Spray::Oblivious));
    bed.sender.write(&bed.config, 100_000);
    bed.pass();
    // Speculative credit of a window, 18,750 bytes: it is spent by 18 packets of 1,064, and overdrawn by 402. The last
    // wants a window and that, 19,152 bytes, in units of 256: 19,200.
    assert_eq!(bed.data.len(), 18);
    let last = bed.data[17];
    assert_eq!((fields(&last).credit(), fields(&last).asks()), (19_200, true));
    bed.deliver(&last, false, false, 0);
    assert_eq!(bed.receiver.pull(), 16_384);
    assert_eq!((bed.receiver.pull(), bed.receiver.wants_pull()), (2_816, false));
    bed.answers.clear();
    bed.pass();
    let pulled: Vec<u64> = bed
        .answers
        .iter()
        .map(fields)
        .filter(|of| of.kind() == RdmaKind::Pull)
        .map(|of| of.credit())
        .collect();
    assert_eq!(pulled, [16_384, 19_200]);
}

/// Answers but pulls, which are taken away: kind, number, bytes received, and bits from a number on.
fn answers(bed: &mut Bed) -> Vec<(RdmaKind, u32, u64, (u32, u64))> {
    let answers = std::mem::take(&mut bed.answers);
    let tell = |of: Fields| (of.kind(), of.psn(), of.received(), of.bitmap());
    let but_pulls = answers.iter().map(fields).filter(|of| of.kind() != RdmaKind::Pull);
    but_pulls.map(tell).collect()
}

#[test]
fn bytes_before_a_trim_count_with_the_next_sack() {
    let mut bed = Bed::new(config(true, false, Spray::Oblivious));
    bed.sender.write(&bed.config, 20_000);
    bed.pass();
    let data = std::mem::take(&mut bed.data);
    bed.deliver(&data[0], false, false, 0);
    bed.pass();
    let first = bed.answers.remove(0);
    bed.answer(&first);
    // 17 packets are out, and one has come.
    assert_eq!((bed.sender.in_flight(), bed.data.len()), (16 * 1_064, 0));
    // Three more, of which nothing is said, and then a trim: its NACK says nothing of them.
    (1..4).for_each(|nth| bed.deliver(&data[nth], false, false, 0));
    bed.deliver(&data[4], true, false, 0);
    bed.pass();
    let nack = bed.answers.remove(0);
    bed.answer(&nack);
    assert_eq!((fields(&nack).kind(), bed.sender.in_flight()), (RdmaKind::Trimmed, 15 * 1_064));
    // With the fourth since the last SACK there are 4,000 bytes: the next has all five that came.
    (5..7).for_each(|nth| bed.deliver(&data[nth], false, false, 0));
    bed.pass();
    let sack = bed.answers.remove(0);
    assert_eq!(fields(&sack).received(), 5 * 1_064);
    bed.answer(&sack);
    assert_eq!(bed.sender.in_flight(), 11 * 1_064);
}

#[test]
fn bits_begin_with_a_marked_packet_or_look_back() {
    let mut bed = Bed::new(config(false, true, Spray::Oblivious));
    bed.sender.write(&bed.config, 20_000);
    bed.pass();
    let data = std::mem::take(&mut bed.data);
    // The first to come, and a marked one.
    bed.deliver(&data[3], false, false, 0);
    bed.deliver(&data[5], false, true, 0);
    bed.pass();
    // Bits begin after the expected packet, number 0, or with the marked one.
    let sack = RdmaKind::Sack;
    assert_eq!(answers(&mut bed), [(sack, 3, 1_064, (1, 0b100)), (sack, 5, 2_128, (5, 1))]);
    // The last asks, is told of at once, and again when nothing is missing any more.
    let last = data.len() - 1;
    assert!(fields(&data[last]).asks());
    bed.deliver(&data[last], false, false, 0);
    bed.pass();
    assert_eq!(answers(&mut bed), [(sack, last as u32, 3_192, (last as u32, 1))]);
    for nth in (0..last).filter(|nth| ![3, 5].contains(nth)) {
        bed.answers.clear();
        bed.deliver(&data[nth], false, false, 0);
        bed.pass();
    }
    let all = (last as u64 + 1) * 1_064;
    assert_eq!(answers(&mut bed), [(sack, last as u32 - 1, all, (last as u32 + 2, 0))]);
}

#[test]
fn packets_go_again_by_number_and_ask() {
    let mut bed = Bed::new(config(false, true, Spray::Oblivious));
    bed.sender.write(&bed.config, 10_000);
    bed.pass();
    let data = std::mem::take(&mut bed.data);
    for nth in [7, 2, 5] {
        bed.deliver(&data[nth], true, false, 0);
    }
    for _ in 0..3 {
        bed.pass();
        for out in std::mem::take(&mut bed.answers) {
            bed.answer(&out);
        }
    }
    let again: Vec<_> = bed.data.iter().map(fields).collect();
    assert_eq!(again.iter().map(|of| of.psn()).collect::<Vec<_>>(), [2, 5, 7]);
    assert!(again.iter().all(|of| of.asks() && of.again()));
    // A SACK says which copy came.
    let out = bed.data[0];
    bed.deliver(&out, false, false, 0);
    bed.pass();
    assert!(fields(&bed.answers[0]).again());
}

#[test]
fn requests_that_learn_nothing_become_rare() {
    let mut bed =
        Bed::new(Config { rto: Span::from_ms(20), ..config(true, false, Spray::Oblivious) });
    bed.sender.write(&bed.config, 21_000);
    bed.pass();
    // Five are trimmed and the last, which asks, arrives. The others are lost: a timeout of 20 ms finds them.
    let data = std::mem::take(&mut bed.data);
    for nth in [0, 1, 2, 3, 4, 16] {
        bed.deliver(&data[nth], nth != 16, false, 0);
    }
    let (mut requests, begin) = (Vec::new(), bed.now);
    while bed.now < begin + Span::from_ms(19) {
        bed.pass();
        for out in std::mem::take(&mut bed.data) {
            assert_eq!(fields(&out).kind(), RdmaKind::Request);
            requests.push(bed.now);
            bed.deliver(&out, false, false, 0);
        }
        for out in std::mem::take(&mut bed.answers) {
            bed.answer(&out);
        }
    }
    // Round trips of 10 us: the first two are one apart, others twice as long as those before.
    let apart: Vec<_> = requests.windows(2).map(|of| of[1].since(of[0])).collect();
    let us = |n| Span::from_us(n);
    assert_eq!(apart, [10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 5_120].map(us));
}

#[test]
fn requests_are_one_a_round_trip_until_one_is_answered() {
    let mut bed = Bed::new(config(true, false, Spray::Oblivious));
    bed.config.class = Some(3);
    // 21 full packets are more than a window.
    bed.sender.write(&bed.config, 21_000);
    bed.pass();
    let data = std::mem::take(&mut bed.data);
    assert_eq!(data.len(), 17);
    // The last asks, and no request goes while it is out. Trims cut the window to less than what is out.
    for nth in [0, 1, 2, 3, 16] {
        bed.deliver(&data[nth], nth != 16, false, 0);
    }
    bed.pass();
    for out in std::mem::take(&mut bed.answers) {
        bed.answer(&out);
    }
    bed.pass();
    // The answer of the last came: a request goes at once, in the answers' class.
    let request = bed.data.remove(0);
    assert_eq!((fields(&request).kind(), request.class), (RdmaKind::Request, Some(3)));
    assert!(bed.data.is_empty());
    // Others' answers do not stand for its own.
    bed.deliver(&data[4], false, true, 0);
    bed.deliver(&data[5], false, true, 0);
    bed.pass();
    for out in std::mem::take(&mut bed.answers) {
        bed.answer(&out);
    }
    (0..20).for_each(|_| bed.pass());
    assert!(bed.data.is_empty());
    // The request's answer says how much came, and of no packet. The next goes 10 us after the one before, at the earliest.
    bed.deliver(&request, false, false, 0);
    bed.pass();
    let sack = bed.answers.remove(0);
    let of = fields(&sack);
    assert_eq!((of.kind(), of.requested(), of.received()), (RdmaKind::Sack, true, 3 * 1_064));
    assert_eq!(of.bitmap(), (0, 1 << 4 | 1 << 5 | 1 << 16));
    bed.answer(&sack);
    bed.pass();
    let next = bed.data.remove(0);
    assert_eq!((fields(&next).kind(), fields(&next).psn()), (RdmaKind::Request, 1));
    bed.deliver(&next, false, false, 0);
    bed.pass();
    let sack = bed.answers.remove(0);
    bed.answer(&sack);
    // The second answer in a row that told nothing new: the next goes 20 us after the one before.
    (0..17).for_each(|_| bed.pass());
    assert!(bed.data.is_empty());
    (0..4).for_each(|_| bed.pass());
    assert_eq!(fields(&bed.data[0]).psn(), 2);
}

/// A sender whose 17 packets are out, with SLEEK and a timeout that is far away.
fn sleek() -> (Bed, Vec<Outgoing>) {
    let rto = Span::from_ms(20);
    let mut bed = Bed::new(Config {
        sleek: true,
        rto,
        ack_after: 1,
        ..config(true, false, Spray::Oblivious)
    });
    bed.sender.write(&bed.config, 40_000);
    bed.pass();
    let data = std::mem::take(&mut bed.data);
    assert_eq!(data.len(), 17);
    // No round trip is under the network's, 10 us.
    (0..10).for_each(|_| bed.pass());
    (bed, data)
}

/// Passes on all answers.
fn hear(bed: &mut Bed) {
    bed.pass();
    for out in std::mem::take(&mut bed.answers) {
        bed.answer(&out);
    }
}

#[test]
fn a_lost_packet_is_found_by_those_that_came_after_it() {
    let (mut bed, data) = sleek();
    // The window is the greatest, 18,750 bytes, and the threshold as well: 18 packets of 1,000 bytes.
    for out in &data[1..] {
        bed.deliver(out, false, false, 0);
        hear(&mut bed);
    }
    bed.pass();
    let more = std::mem::take(&mut bed.data);
    assert!(more.len() > 2 && !more.iter().map(fields).any(|of| of.again()), "{more:?}");
    (0..12).for_each(|_| bed.pass());
    for (out, early) in more.iter().zip([17, 18]) {
        assert!(!bed.data.iter().map(fields).any(|of| of.again()), "{early}");
        bed.deliver(out, false, false, 0);
        assert_eq!(bed.receiver.early(), early);
        hear(&mut bed);
        bed.pass();
    }
    let again = bed.data.iter().map(fields).filter(|of| of.again()).map(|of| of.psn());
    assert_eq!(again.collect::<Vec<_>>(), [0]);
}

#[test]
fn a_probe_finds_lost_packets_that_too_few_followed() {
    let (mut bed, data) = sleek();
    bed.deliver(&data[0], false, false, 0);
    hear(&mut bed);
    bed.data.clear();
    // New data is left: three round trips of 10 us after the last answer a probe goes, in the data's class.
    let begin = bed.now;
    let probe = loop {
        bed.pass();
        if let Some(at) = bed.data.iter().position(|out| fields(out).kind() == RdmaKind::Request) {
            break bed.data.swap_remove(at);
        }
        assert!(bed.now < begin + Span::from_us(40), "no probe");
    };
    assert!(bed.now >= begin + Span::from_us(28) && probe.class.is_none());
    bed.data.clear();
    bed.deliver(&probe, false, false, 0);
    bed.pass();
    let answer = bed.answers.remove(0);
    // Nothing came early. The probe was quick, so all that is out is lost.
    assert_eq!(fields(&answer).early(), 0);
    bed.answer(&answer);
    bed.pass();
    let again: Vec<_> = bed.data.iter().map(fields).filter(|of| of.again()).collect();
    assert_eq!(again[0].psn(), 1);
    assert!(again.len() > 10, "{}", again.len());
    // Nothing new leaves before all of it has come.
    assert!(bed.data.iter().map(fields).all(|of| of.again() || of.kind() == RdmaKind::Request));
}

#[test]
fn a_slow_probe_says_nothing() {
    let (mut bed, data) = sleek();
    bed.deliver(&data[0], false, false, 0);
    hear(&mut bed);
    bed.data.clear();
    while !bed.data.iter().any(|out| fields(out).kind() == RdmaKind::Request) {
        bed.pass();
    }
    let of = bed.data.iter().position(|out| fields(out).kind() == RdmaKind::Request).expect("one");
    let probe = bed.data.swap_remove(of);
    bed.data.clear();
    bed.deliver(&probe, false, false, 0);
    // A round trip and the target, 7.5 us, are over.
    (0..20).for_each(|_| bed.pass());
    let answer = bed.answers.remove(0);
    bed.answer(&answer);
    bed.pass();
    assert!(bed.data.iter().map(fields).all(|of| !of.again()));
}

#[test]
fn a_probe_that_waits_for_its_card_is_due_once() {
    let (mut bed, data) = sleek();
    bed.deliver(&data[0], false, false, 0);
    hear(&mut bed);
    let due = bed.sender.next_timeout().expect("a probe");
    bed.sender.on_timeout(&bed.config, due);
    // The card asks for nothing yet. The next timer is another: else a host would be woken without end.
    assert!(bed.sender.next_timeout().is_none_or(|next| next > due));
    assert!(bed.sender.has_more(&bed.config));
}
