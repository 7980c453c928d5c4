//! The live switch between two interfaces, and frames for it: `wires switch A B [KEY=VALUE …]` forwards until
//! its input ends and prints its statistics as a line of JSON, as fast as it goes or at B's `rate`, with
//! `scheme=NAME`, the quanta of its queues (`quantum=3028,1514`), its `buffer`, all in bits a second and bytes,
//! and the scheme's parameters; `wires send INTERFACE SOURCE DESTINATION BYTES SECONDS` sends UDP frames of so
//! many bytes and prints how many.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{live, notifier};
use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, MultiHeaders, SockFlag, SockType, bind, sendmmsg, socket,
};
use std::io::{self, IoSlice, Read};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use switchbed_live::clock::Monotonic;
use switchbed_live::{Forwarder, Switch, open};
use switchbed_qdisc::units::{Bytes, Rate, Span};
use switchbed_wire::Mac;

/// Frames of a system call.
const BATCH: usize = 64;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["switch", a, b, ref given @ ..] => forward([a, b], given),
        ["send", interface, source, destination, bytes, seconds] => {
            let station = |text| Mac::parse(text).expect("a MAC address").0;
            let number = |text: &str| text.parse().expect("a number");
            let frame = frame(station(source), station(destination), number(bytes));
            send(interface, &frame, Duration::from_secs_f64(seconds.parse().expect("seconds")))
        }
        _ => panic!(
            "wires switch A B [KEY=VALUE …] | wires send INTERFACE SOURCE DESTINATION BYTES SECONDS"
        ),
    }
}

fn forward(names: [&str; 2], given: &[&str]) -> io::Result<()> {
    let number = |text: &str| text.parse::<u64>().expect("a number");
    let (mut name, mut params) = ("none", Vec::new());
    let (mut quantum, mut buffer, mut rate) =
        (vec![Bytes::new(1500)], Bytes::new(4 << 20), Rate::from_gbps(100));
    for pair in given {
        match pair.split_once('=').expect("KEY=VALUE") {
            ("scheme", value) => name = value,
            ("quantum", list) => {
                quantum = list.split(',').map(|bytes| Bytes::new(number(bytes))).collect();
            }
            ("buffer", bytes) => buffer = Bytes::new(number(bytes)),
            ("rate", bps) => rate = Rate::from_bps(number(bps)),
            pair => params.push(pair),
        }
    }
    let mut set = live(2, notifier(name, &params));
    set.live.routes.clear();
    set.switch.queues = quantum.len() as u16;
    set.switch.quantum = quantum;
    set.switch.buffer = buffer;
    for (port, name) in set.port.iter_mut().zip(names) {
        port.name = name.to_owned();
        port.rate = Rate::from_gbps(100);
    }
    set.port[1].rate = rate;
    let devices = (0..2).map(|port| open::device(&set, port)).collect::<io::Result<_>>()?;
    let mut forwarder = Forwarder::new(Switch::new(set), devices, Monotonic::new());
    let ended = Arc::new(AtomicBool::new(false));
    let end = Arc::clone(&ended);
    println!("open");
    std::thread::spawn(move || {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        end.store(true, Relaxed);
    });
    while !ended.load(Relaxed) {
        let until = forwarder.now() + Span::from_ms(20);
        forwarder.run_until(until)?;
    }
    println!("{}", serde_json::to_string(&forwarder.stats()).expect("numbers"));
    Ok(())
}

/// A UDP frame to 10.0.0.2, which nobody is.
fn frame(source: [u8; 6], destination: [u8; 6], bytes: usize) -> Vec<u8> {
    let mut frame = common::frame(0, 1, 0, 0, bytes, 0);
    frame[..6].copy_from_slice(&destination);
    frame[6..12].copy_from_slice(&source);
    frame
}

fn send(interface: &str, frame: &[u8], time: Duration) -> io::Result<()> {
    let found = nix::ifaddrs::getifaddrs()?.find_map(|found| {
        (found.interface_name == interface).then_some(found.address?.as_link_addr().copied()?)
    });
    let address: LinkAddr = found.expect("an interface");
    let flags = SockFlag::SOCK_CLOEXEC;
    // Without a protocol: it hears nothing.
    let raw = socket(AddressFamily::Packet, SockType::Raw, flags, None)?;
    bind(raw.as_raw_fd(), &address)?;
    let (begin, mut sent) = (Instant::now(), 0u64);
    let parts = [[IoSlice::new(frame)]; BATCH];
    let to = [None::<LinkAddr>; BATCH];
    while begin.elapsed() < time {
        let mut headers = MultiHeaders::<LinkAddr>::preallocate(BATCH, None);
        let of = sendmmsg(raw.as_raw_fd(), &mut headers, &parts, to, [], MsgFlags::empty());
        sent += of.map_or(0, |sent| sent.count() as u64);
    }
    println!("{{\"sent\": {sent}, \"seconds\": {}}}", begin.elapsed().as_secs_f64());
    Ok(())
}
