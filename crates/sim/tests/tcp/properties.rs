//! Whatever the path does for a while, the stream arrives whole, once and in order.

use super::pipe::*;
use proptest::prelude::*;
use switchbed_scenario::transport::*;
use switchbed_sim::tcp::Flags;
use switchbed_units::{Bytes as Size, Span, Time};

/// What the path does to one segment, by how likely it is.
fn fate() -> impl Strategy<Value = Fate> {
    let us = |most: u64| (0..most).prop_map(Span::from_us);
    prop_oneof![
        6 => Just(Fate::Deliver),
        3 => Just(Fate::Drop),
        2 => Just(Fate::Mark),
        // Late by less than a round trip, or by more than a timeout.
        2 => us(90).prop_map(Fate::Late),
        1 => us(12_000).prop_map(Fate::Late),
        1 => us(12_000).prop_map(Fate::Twice),
    ]
}

fn dctcp(arithmetic: Arithmetic) -> CongestionControl {
    CongestionControl::Dctcp(DctcpParams { g: 1.0 / 16.0, alpha_start: 1.0, arithmetic })
}

fn cubic(arithmetic: Arithmetic) -> CongestionControl {
    let (fast_convergence, reno_friendly) = (true, true);
    CongestionControl::Cubic(CubicParams {
        c: 0.4,
        beta: 0.7,
        fast_convergence,
        reno_friendly,
        arithmetic,
    })
}

/// BBR that probes the least round trip often.
fn bbr() -> CongestionControl {
    CongestionControl::Bbr(BbrParams {
        min_rtt_window: Span::from_ms(5),
        probe_rtt_time: Span::from_us(500),
        lt_bw: true,
    })
}

/// Settings of windows and ACKs that are not RFC 5681's, in any combination.
fn beyond_rfc_5681(transport: Transport, pick: [usize; 7]) -> Transport {
    use SlowStart::*;
    Transport {
        slow_start: [Bytes, Acks, SegmentsAndOne, Segments][pick[0] % 4],
        abc_limit: [1, 2][pick[1] % 2],
        hystart: [Hystart::Off, Hystart::Linux, Hystart::PlusPlus][pick[2] % 3],
        avoidance: [Avoidance::Bytes, Avoidance::Acks, Avoidance::AcksAndOne, Avoidance::Segments]
            [pick[3] % 4],
        cwnd_limited: [CwndLimited::AtAck, CwndLimited::AtAckNearly, CwndLimited::AtSend]
            [pick[4] % 3],
        quick_acks: [0, 2, 16][pick[5] % 3],
        ack_short: pick[6] % 2 == 1,
        initial_receive_window: Size::new([1 << 40, 1, 5 * MSS][pick[6] % 3]),
        ..transport
    }
}

fn settings() -> impl Strategy<Value = Transport> {
    (plain_settings(), any::<bool>(), any::<[usize; 7]>())
        .prop_map(|(plain, beyond, pick)| if beyond { beyond_rfc_5681(plain, pick) } else { plain })
}

fn plain_settings() -> impl Strategy<Value = Transport> {
    let control = prop_oneof![
        Just(CongestionControl::EcnStar),
        Just(cubic(Arithmetic::Exact)),
        Just(cubic(Arithmetic::Kernel)),
        Just(CongestionControl::Prague(PragueParams { rtt_virtual: Span::from_us(300) })),
        Just(dctcp(Arithmetic::Exact)),
        Just(dctcp(Arithmetic::Kernel)),
        Just(bbr()),
        Just(CongestionControl::Bbr3),
    ];
    let restart = prop_oneof![
        Just(Restart::Keep),
        Just(Restart::AfterRto),
        Just(Restart::AfterUnclampedRto),
        Just(Restart::HalvePerRto),
    ];
    let switches = any::<[bool; 7]>();
    (control, restart, switches, 0..=3_u8, 1..4_u32, 1..12_u32, 1..40_u32, 2..40_u32).prop_map(
        |(control, restart, on, sack_blocks, ack_every, iw, receive_window, ssthresh)| Transport {
            restart,
            sack_blocks,
            ack_every,
            initial_window: iw,
            receive_window,
            initial_ssthresh: ssthresh,
            rtt_sampling: if on[0] { RttSampling::EveryAck } else { RttSampling::OneAtATime },
            grow_when_app_limited: on[1],
            loss_halves: if on[2] { LossHalves::Window } else { LossHalves::Flight },
            cut: if on[3] { WindowCut::WholePackets } else { WindowCut::Exact },
            ecn_syn: on[4],
            ecn_retransmits: !on[4],
            timeout_after_cut_keeps_ssthresh: on[5],
            grow_on_repeated_ece: on[6],
            accecn_option: on[0],
            ..marked(control)
        },
    )
}

/// The same settings with another way of finding and repairing losses.
fn with_repair(settings: Transport, how: (u8, u8, u8, [bool; 7])) -> Transport {
    use {EarlyRetransmit as Early, LossDetection as Loss};
    let (reduction, detection, early, on) = how;
    let sack = settings.sack_blocks > 0;
    let loss_detection = [Loss::Dupthresh, Loss::Fack, Loss::Rack][usize::from(detection)];
    let loss_detection = if sack { loss_detection } else { Loss::Dupthresh };
    let early = if loss_detection == Loss::Rack { 0 } else { early };
    Transport {
        reduction: [Reduction::AtOnce, Reduction::Prr, Reduction::RateHalving]
            [usize::from(reduction)],
        loss_detection,
        early_retransmit: [Early::Off, Early::AtOnce, Early::Delayed][usize::from(early)],
        tail_loss_probe: on[0] && sack,
        limited_transmit: on[1],
        timeout_cuts_again: on[2],
        rto_floor: if on[3] { RtoFloor::Variance } else { RtoFloor::Timeout },
        timer_slack: if on[4] { Span::from_ms(2) } else { Span::ZERO },
        dsack: on[5],
        undo: on[6],
        frto: on[0],
        ..settings
    }
}

/// Checks, at every segment sent, what the sender owes the path and the receiver.
fn run_checked(pipe: &mut Pipe, receive_window: u64, probes: bool) -> Result<(), TestCaseError> {
    let mut seen = pipe.sent.len();
    let mut fresh = pipe.sent.iter().map(|(_, s)| s.offset + s.len as u64).max().unwrap_or(0);
    for step in 0.. {
        prop_assert!(step < 200_000, "no end");
        if !pipe.step() {
            return Ok(());
        }
        let (sender, config) = (&pipe.sender, &pipe.config);
        let window = sender.window(config);
        for (_, s) in &pipe.sent[seen..] {
            let end = s.offset + s.len as u64;
            if s.flags.contains(Flags::SYN) {
                continue;
            }
            prop_assert!(s.len > 0 && s.len as u64 <= MSS);
            if s.flags.contains(Flags::RETRANSMIT) {
                prop_assert!(end <= fresh, "a retransmission of what was never sent");
                let held = pipe.sacked.iter().any(|&(from, to)| s.offset < to && from < end);
                prop_assert!(!held, "a retransmission of what the receiver reported");
            } else {
                prop_assert_eq!(s.offset, fresh, "new data follows the last");
                fresh = end;
                prop_assert!(sender.in_flight(config) <= window || probes);
                prop_assert!(end <= sender.acked() + receive_window);
            }
        }
        seen = pipe.sent.len();
        prop_assert_eq!(pipe.receiver.received(), pipe.arrived);
        prop_assert!(sender.acked() <= pipe.arrived);
        let modelled = sender.model(config).is_some();
        prop_assert!(sender.cwnd() >= 1.0 && (modelled || sender.ssthresh() >= 2.0));
        prop_assert!(sender.alpha().is_none_or(|a| (0.0..=1.0).contains(&a)));
        let waits = sender.next_timeout().is_some() || sender.paced_until() != Time::NEVER;
        prop_assert!(sender.idle() || waits, "nothing to wake it");
    }
    Ok(())
}

/// Three hundred cases, or as many as `PROPTEST_CASES` says: `make validate` asks for more.
fn config() -> ProptestConfig {
    let cases = std::env::var_os("PROPTEST_CASES").map_or(300, |_| ProptestConfig::default().cases);
    ProptestConfig { cases, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_byte_is_delivered_once_and_in_order(
        settings in settings(),
        repair in (0..3_u8, 0..3_u8, 0..3_u8, any::<[bool; 7]>()),
        handshake in any::<bool>(),
        flows in prop::collection::vec((1..60_000_u64, 0..20_000_u64), 1..4),
        data in prop::collection::vec(fate(), 0..80),
        acks in prop::collection::vec(fate(), 0..80),
    ) {
        let settings = with_repair(settings, repair);
        // A probe goes out whatever the window says.
        let probes = settings.tail_loss_probe;
        let receive_window = settings.receive_window as u64 * MSS;
        let pipe = if handshake { Pipe::fresh(&settings) } else { Pipe::new(&settings) };
        let mut pipe = pipe
            .data(move |n, _| data.get(n).copied().unwrap_or(Fate::Deliver))
            .ack(move |n, _| acks.get(n).copied().unwrap_or(Fate::Deliver));
        let mut written = 0;
        for (bytes, pause) in flows {
            written += bytes;
            pipe.sender.write(bytes);
            pipe.write(0);
            // The next flow comes after this one, or while it is under way.
            if pause < 10_000 {
                pipe.run_until(pipe.now + Span::from_us(pause));
            } else {
                run_checked(&mut pipe, receive_window, probes)?;
            }
        }
        run_checked(&mut pipe, receive_window, probes)?;
        prop_assert_eq!(pipe.receiver.received(), written);
        prop_assert_eq!(pipe.sender.acked(), written);
        prop_assert!(pipe.sender.idle());
    }
}
