//! A list of frames through one port of the live switch, in memory, each at its time: `offered LIST SCHEME
//! [KEY=VALUE …]`. The list has lines of "time_us flow bytes ecn"; the port sends 10 Mbps. Prints how long
//! frames were on their way, how many came out and how many marked, as evidence/peers/offer.c does of the
//! kernel.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{MBPS, ecn, live, notifier, number, station};
use switchbed_live::Switch;
use switchbed_qdisc::units::{Bytes, Rate, Time};

/// A frame with its number and a port of its flow.
fn frame(flow: u16, bytes: usize, ecn: u8, number: u32) -> Vec<u8> {
    let mut frame = common::frame(0, 1, 0, ecn, bytes, number);
    // The source port, behind Ethernet's and IPv4's headers; nobody looks at the checksum.
    frame[34..36].copy_from_slice(&(1000 + flow).to_be_bytes());
    frame
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, list, scheme, given @ ..] = arguments.as_slice() else {
        panic!("offered LIST SCHEME [KEY=VALUE …]")
    };
    let list = std::fs::read_to_string(list).expect("a list");
    let (mut memory, mut params) = (Bytes::new(15_140_000), Vec::new());
    for pair in given {
        match pair.split_once('=').expect("KEY=VALUE") {
            ("buffer", bytes) => memory = Bytes::new(bytes.parse().expect("bytes")),
            pair => params.push(pair),
        }
    }
    let mut set = live(2, notifier(scheme, &params));
    (set.switch.queues, set.switch.quantum, set.switch.buffer) =
        (1, vec![Bytes::new(1514)], memory);
    set.live.mtu = Bytes::new(1514);
    set.port[1].rate = Rate::from_bps(10 * MBPS);
    set.live.routes.retain(|route| route.station == station(1));
    let mut switch = Switch::new(set);

    let mut came = Vec::new();
    let (mut received, mut marked, mut waited_s, mut worst_s) = (0u64, 0u64, 0.0, 0.0_f64);
    let mut lines = list.lines().map(|line| {
        let words: Vec<u64> = line.split(' ').map(|word| word.parse().expect("numbers")).collect();
        let [us, flow, bytes, ecn] = words[..] else { panic!("four numbers a line") };
        (Time::from_ps(us * 1_000_000), flow as u16, bytes as usize, ecn as u8)
    });
    let mut next = lines.next();
    loop {
        let arrival = next.map_or(Time::NEVER, |(at, ..)| at);
        let now = arrival.min(switch.next());
        if now == Time::NEVER {
            break;
        }
        switch.settle(now);
        switch.deliver(now, |_, bytes| {
            let waited = now.since(came[number(bytes) as usize]).as_secs_f64();
            received += 1;
            marked += u64::from(ecn(bytes) == 3);
            waited_s += waited;
            worst_s = worst_s.max(waited);
        });
        if let Some((at, flow, bytes, ecn)) = next
            && at == now
        {
            switch.receive(now, 0, &frame(flow, bytes, ecn, came.len() as u32));
            came.push(at);
            next = lines.next();
        }
    }
    let (mean_ms, worst_ms) = (1e3 * waited_s / received as f64, 1e3 * worst_s);
    println!(
        "{{\"offered\": {}, \"received\": {received}, \"marked\": {marked}, \
         \"mean_ms\": {mean_ms:.4}, \"worst_ms\": {worst_ms:.3}}}",
        came.len()
    );
}
