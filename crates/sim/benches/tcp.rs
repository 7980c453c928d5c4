//! TCP alone: a data segment and its ACK in order through both halves, by turns on many
//! connections, so that their state is not in the first-level cache.

#[path = "../tests/common/profile.rs"]
mod profile;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::collections::VecDeque;
use std::hint::black_box;
use switchbed_scenario::transport::*;
use switchbed_sim::tcp::{Config, Receiver, Segment, Sender};
use switchbed_units::{Bytes, Span, Time};

/// The settings of MQ-ECN's fig9.
fn settings() -> Transport {
    Transport {
        control: CongestionControl::Dctcp(DctcpParams {
            g: 0.0625,
            alpha_start: 0.0625,
            arithmetic: Arithmetic::Exact,
        }),
        mss: Bytes::new(1460),
        header: Bytes::new(40),
        initial_window: 16,
        initial_ssthresh: 16,
        receive_window: 1256,
        rto_initial: Span::from_ms(5),
        rto_min: Span::from_ms(5),
        rto_max: Span::from_ms(60_000),
        ack_every: 1,
        ack_delay: Span::from_ms(40),
        sack_blocks: 3,
        rtt_sampling: RttSampling::OneAtATime,
        restart: Restart::AfterUnclampedRto,
        pacing: Pacing::Off,
        grow_when_app_limited: true,
        loss_halves: LossHalves::Window,
        cut: WindowCut::WholePackets,
        ecn_acks: true,
        timeout_after_cut_keeps_ssthresh: true,
        grow_on_repeated_ece: true,
        ..profile::transport(Bytes::new(1500))
    }
}

/// A connection with its data segments in flight.
type Connection = (Sender, Receiver, VecDeque<Segment>);

/// Connections with eight segments in flight each.
fn connections(config: &Config, n: usize) -> Vec<Connection> {
    let connection = || {
        let mut sender = Sender::established(config);
        sender.write(8 * 1460);
        let flying = std::iter::from_fn(|| sender.poll_transmit(config, Time::ZERO)).collect();
        (sender, Receiver::new(), flying)
    };
    (0..n).map(|_| connection()).collect()
}

fn in_order(c: &mut Criterion) {
    let config = Config::new(&settings()).expect("settings that work");
    let mut group = c.benchmark_group("tcp, 1000 connections");
    group.throughput(Throughput::Elements(1));
    group.bench_function("a data segment and its ACK", |b| {
        let mut connections = connections(&config, 1000);
        let (mut i, mut now) = (0, Time::ZERO);
        b.iter(|| {
            let (sender, receiver, flying) = &mut connections[i];
            i = (i + 1) % 1000;
            now += Span::from_us(1);
            let data = flying.pop_front().expect("eight in flight");
            receiver.on_segment(&config, &data, false, now);
            let ack = receiver.poll_transmit(&config, now).expect("an ACK");
            assert!(receiver.poll_transmit(&config, now).is_none());
            sender.on_segment(&config, &ack, now);
            sender.write(1460);
            flying.extend(sender.poll_transmit(&config, now));
            assert!(sender.poll_transmit(&config, now).is_none());
            black_box((sender.next_timeout(), receiver.next_timeout()))
        });
    });
    group.finish();
}

criterion_group!(benches, in_order);
criterion_main!(benches);
