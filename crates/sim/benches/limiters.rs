//! What rate limiters cost: packets of a thousand flows of ten hosts over two links of 10 Gbps
//! each, by turns at line rate, and with a limiter for each flow. No port is congested, so that
//! the difference is the limiters' alone: their rates and the heap of who is due when.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use switchbed_qdisc::buffer::Shared;
use switchbed_qdisc::classifier::Single;
use switchbed_qdisc::scheduler::Fifo;
use switchbed_qdisc::seats::Nobody;
use switchbed_qdisc::units::{Bytes, Rate, Span, Time};
use switchbed_qdisc::{FlowId, Packet, Port, PortState, ReactionSettings, Seats};
use switchbed_sim::network::Network;
use switchbed_sim::nic::Nics;
use switchbed_sim::tcp::{Flags, Segment};
use switchbed_sim::topology::{Graph, Hop};
use switchbed_spec::{Limiters, Reaction, Topology};

const SENDERS: u32 = 10;
const FLOWS: u32 = 1000;
const RATE: Rate = Rate::from_gbps(10);
const LEN: u32 = 1000;

/// Limiters that stay where the first notifications put them.
fn still() -> Reaction {
    Reaction {
        limiters: Limiters::Flow,
        point: ReactionSettings {
            byte_cycle: Bytes::new(1 << 50),
            timer_cycle: Span::from_ms(100_000_000),
            ..ReactionSettings::default()
        },
        notification_class: 0,
        notification_size: Bytes::new(64),
        notification_delay: Span::ZERO,
    }
}

struct Bed {
    net: Network,
    nics: Nics,
    /// Stream offset of each flow.
    sent: Vec<u64>,
}

impl Bed {
    fn new(reaction: Option<Reaction>) -> Bed {
        let delay = Span::from_us(5);
        let graph =
            Graph::new(&Topology::Star { hosts: 2 * SENDERS, rate: RATE, delay }, Span::ZERO);
        let links = 4 * SENDERS;
        let ranks: Vec<u32> = (0..links).collect();
        let net = Network::new(&graph, &ranks, 1, Bytes::MAX, |cable| {
            let buffer = Shared { limit: Bytes::new(150_000) };
            let seats = Seats::new(Single, buffer, Nobody, Fifo, Nobody);
            Box::new(Port::new(PortState::new(cable.rate, &[Bytes::new(LEN as u64)]), seats))
        });
        let mut nics = Nics::new((0..2 * SENDERS).map(|_| RATE), reaction, 1);
        for flow in 0..FLOWS {
            let group = nics.group(flow % SENDERS, 0, None);
            // Six times under a half, and a little by which they differ: 66 to 92 Mbps.
            for steps in [63, 63, 63, 63, 63, 63, 63 - (flow % 20) as u8] {
                nics.notify(group, steps, Time::ZERO);
            }
            nics.join(group, flow, Time::ZERO);
        }
        Bed { net, nics, sent: vec![0; FLOWS as usize] }
    }

    /// One packet from one host to another.
    fn packet(&mut self) {
        loop {
            let next = self.nics.next_timer();
            if let Some(delivery) = self.net.advance(next) {
                self.net.free(delivery.slot);
                return;
            }
            let sent = &mut self.sent;
            self.nics.fire(&mut self.net, |flow, now| {
                let offset = &mut sent[flow as usize];
                *offset += LEN as u64;
                let packet = Packet { flow: FlowId(flow), len_bytes: LEN, ..Packet::default() };
                let hop = Hop { dst: SENDERS + flow % SENDERS, key: flow };
                Some((packet, Segment::data(*offset, LEN, Flags::NONE, now), hop))
            });
        }
    }
}

fn limiters(c: &mut Criterion) {
    let mut group = c.benchmark_group("packet-hops of 1000 flows");
    // A packet takes two hops.
    group.throughput(Throughput::Elements(2 * 1000));
    for (name, reaction) in [("without limiters", None), ("with limiters", Some(still()))] {
        let mut bed = Bed::new(reaction);
        (0..100_000).for_each(|_| bed.packet());
        group.bench_function(name, |bencher| {
            bencher.iter(|| (0..1000).for_each(|_| bed.packet()));
        });
    }
}

criterion_group!(benches, limiters);
criterion_main!(benches);
