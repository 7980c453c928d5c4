//! Frames without end through a live switch between devices in memory: `frames COUNT`. Every frame
//! that comes out must be one that went in, but for its mark, or its beginning with lengths and checksums of its own where
//! frames are trimmed; all that went in must be sent, dropped or refused; and memory must stay. The scheme changes as it
//! goes, with trimming, with flow control or with neither. One frame in 64 is long and has an offload header that may lie, and
//! one in 128 is of flow control and may be damaged. A capture runs all the time, whose reader sleeps now and then: what it has
//! and what it missed must be what the ports counted. Prints one line of JSON.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{MBPS, frame, live, notifier, scheme, step, trimming};
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use switchbed_config::param::{Params, Value, defaults};
use switchbed_live::capture::{Asked, Reader};
use switchbed_live::device::{Device, LONGEST, Received};
use switchbed_live::forward::AnyDevice;
use switchbed_live::{Fake, Forwarder, Switch};
use switchbed_qdisc::memory::pfc::Pfc;
use switchbed_qdisc::units::{Bytes, Rate, Span, Time};
use switchbed_scenario::{BufferPolicy, Live, Unmarkable};
use switchbed_wire::offload::{Header, split};
use switchbed_wire::{Mac, cnm, pfc};

const PORTS: usize = 4;
/// The scheme changes every so many frames.
const STRETCH: u64 = 500_000;
/// Where a frame has its number, behind the shortest headers.
const NUMBER: usize = 42;

/// The last byte of the source address of packets whose frame had an offload header.
const PART: u8 = 0xee;
/// Frames between two looks at the capture.
const LOOK: u64 = 5_000;
/// The port that takes part in flow control.
const PAUSED: usize = 1;

/// Frames as a function of their number: most of TCP's and UDP's shape, some broken in every way.
struct Frames {
    noise: Vec<u8>,
    templates: Vec<Vec<u8>>,
}

impl Frames {
    fn new() -> Frames {
        let mut state = 1u64;
        let noise = (0..64 << 10).map(|_| {
            state = mixed(state);
            state as u8
        });
        let pairs = (0..PORTS).flat_map(|from| (0..PORTS).map(move |to| (from, to)));
        let templates = pairs.flat_map(|(from, to)| {
            (0..8).map(move |i| frame(from, to, i / 4, i % 4, NUMBER + 8, 0))
        });
        Frames { noise: noise.collect(), templates: templates.collect() }
    }

    /// The frame with a number, and the port that it comes in by.
    fn write(&self, number: u64, into: &mut Vec<u8>) -> usize {
        let draw = mixed(number ^ 0x5bd1_e995);
        let of = |n: usize, shift: u32| (draw >> shift) as usize % n;
        let from = of(PORTS, 0);
        // Two of three go to the first port, which is more than it sends.
        let to = if of(3, 2) > 0 { 0 } else { of(PORTS, 4) };
        let to = if to == from && of(16, 6) > 0 { (from + 1) % PORTS } else { to };
        let template = &self.templates[(from * PORTS + to) * 8 + of(8, 8)];
        let length = if of(2, 12) == 0 { 64 + of(1450, 16) } else { 1514 - of(64, 16) };
        into.clear();
        into.extend_from_slice(template);
        let noise = of(self.noise.len() - LONGEST, 24);
        into.extend_from_slice(&self.noise[noise..][..length - template.len()]);
        into[NUMBER..NUMBER + 8].copy_from_slice(&number.to_le_bytes());
        // Lengths of IPv4 and UDP, with IPv4's checksum: what claims to be shorter than its frame is not trimmed.
        into[16..18].copy_from_slice(&((length - 14) as u16).to_be_bytes());
        into[38..40].copy_from_slice(&((length - 34) as u16).to_be_bytes());
        into[24..26].fill(0);
        let checksum = !sum(&into[14..34]);
        into[24..26].copy_from_slice(&checksum.to_be_bytes());
        match of(40, 40) {
            // Something in the headers is not what it should be: a station, a type, a length.
            0..=2 => into[of(42, 48)] = draw as u8,
            3 => into[12..42].copy_from_slice(&self.noise[noise..][..30]),
            4 => into[14 + of(20, 48)] ^= 1 << of(8, 54),
            5 => into.truncate(of(NUMBER, 48)),
            6 => into.extend_from_slice(&self.noise[noise..][..600]),
            _ => {}
        }
        from
    }
}

impl Frames {
    /// A long frame with an offload header: lengths that lie, a size of zero or of one byte, offsets beyond the frame.
    fn write_long(&self, number: u64, into: &mut Vec<u8>) -> Header {
        self.write(number, into);
        let draw = mixed(number ^ 0x1357_9bdf);
        let of = |n: usize, shift: u32| (draw >> shift) as usize % n;
        into.resize(into.len().max(NUMBER + 8), 0);
        into[11] = PART;
        let wanted = [66, 1_500, 9_000, 65_549][of(4, 0)];
        let mut from = 0;
        while into.len() < wanted {
            let piece = (wanted - into.len()).min(16 << 10);
            into.extend_from_slice(&self.noise[from..from + piece]);
            from += 97;
        }
        let length = (into.len() - 14).min(65_535) as u16;
        if of(4, 2) > 0 {
            // One in two is TCP's, whose header of 20 bytes has no options.
            if of(2, 4) == 0 {
                (into[23], into[46], into[47]) = (6, 0x50, 0x10);
            }
            into[16..18].copy_from_slice(&length.to_be_bytes());
            into[38..40].copy_from_slice(&(length - 20).to_be_bytes());
        }
        Header {
            flags: [0, 1, 1, 1, draw as u8][of(5, 8)],
            gso_type: [0, 1, 1, 4, 5, 0x81, (draw >> 8) as u8][of(7, 12)],
            hdr_len: (draw >> 16) as u16,
            gso_size: [0, 1, 100, 1_448, 1_448, 65_535, (draw >> 24) as u16][of(7, 20)],
            csum_start: [34, 34, 34, 0, (draw >> 32) as u16][of(5, 28)],
            csum_offset: [16, 6, 6, (draw >> 40) as u16][of(4, 36)],
        }
    }

    /// A frame of flow control, three in four of them damaged.
    fn write_pause(&self, number: u64, into: &mut Vec<u8>) {
        let draw = mixed(number ^ 0x2468_ace0);
        let quanta = std::array::from_fn(|class| {
            (draw >> class & 1 == 1).then_some([0, 1, 65_535, (draw >> 16) as u16][class % 4])
        });
        into.clear();
        into.extend_from_slice(&pfc::build(Mac([2, 0, 0, 0, 0, 9]), &quanta));
        match draw >> 60 & 3 {
            0 => into.truncate(14 + (draw >> 32) as usize % 46),
            1 => into[16] = (draw >> 40) as u8,
            2 => into[14 + (draw >> 48) as usize % 20] ^= 1,
            _ => {}
        }
    }
}

/// Steele, Lea and Flood's SplitMix64.
fn mixed(state: u64) -> u64 {
    let z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// What all devices share.
struct Told {
    frames: Frames,
    count: u64,
    received: AtomicU64,
    sent: AtomicU64,
    foreign: AtomicU64,
    cut: AtomicU64,
    /// Frames whose offload header contradicts them, and packets of those whose does not.
    lies: AtomicU64,
    parts: AtomicU64,
    /// Frames of flow control that the switch sent.
    pauses: AtomicU64,
}

/// The device of one port: of all frames those that come in by it.
struct Side {
    told: Arc<Told>,
    port: usize,
    number: u64,
    next: Vec<u8>,
    again: Vec<u8>,
    /// Packets of a frame with an offload header.
    parts: VecDeque<Vec<u8>>,
}

/// A frame every 2 us: 5 Gbps or so, of which the first port's share is more than its rate.
fn at(number: u64) -> Time {
    Time::ZERO + Span::from_us(2) * number
}

impl Side {
    fn new(told: &Arc<Told>, port: usize) -> Side {
        let (again, parts) = (Vec::new(), VecDeque::new());
        let (told, next) = (Arc::clone(told), Vec::new());
        let mut side = Side { told, port, number: 0, next, again, parts };
        side.seek();
        side
    }
    /// Puts the packets of a long frame behind the frame of this number.
    fn long(&mut self, frame: &[u8]) {
        let mut long = frame.to_vec();
        let header = self.told.frames.write_long(self.number, &mut long);
        if header.is_empty() && long.len() > LONGEST {
            return;
        }
        let Ok(mut packets) = split(header, &long) else {
            self.told.lies.fetch_add(1, Relaxed);
            return;
        };
        let mut packet = Vec::new();
        while packets.next(&long, &mut packet) {
            self.told.parts.fetch_add(1, Relaxed);
            self.parts.push_back(packet.clone());
        }
    }

    /// On to the next frame that comes in here.
    fn seek(&mut self) {
        while self.number < self.told.count
            && self.told.frames.write(self.number, &mut self.next) != self.port
        {
            self.number += 1;
        }
    }
}

impl Device for Side {
    fn receive(&mut self, now: Time, frame: &mut Vec<u8>) -> io::Result<Received> {
        if let Some(part) = self.parts.pop_front() {
            *frame = part;
            self.told.received.fetch_add(1, Relaxed);
            return Ok(Received::Frame);
        }
        if self.number >= self.told.count || at(self.number) > now {
            return Ok(Received::Nothing);
        }
        std::mem::swap(frame, &mut self.next);
        let draw = mixed(self.number ^ 0x0f0f_0f0f);
        if draw.is_multiple_of(64) {
            self.long(frame);
        }
        if draw % 128 == 1 {
            self.told.frames.write_pause(self.number, frame);
        }
        self.told.received.fetch_add(1, Relaxed);
        self.number += 1;
        self.seek();
        Ok(Received::Frame)
    }
    fn send(&mut self, _: Time, frame: &[u8]) -> io::Result<()> {
        if pfc::is_one(frame) {
            self.told.pauses.fetch_add(1, Relaxed);
            return Ok(());
        }
        self.told.sent.fetch_add(1, Relaxed);
        // Packets of long frames are counted alone.
        if cnm::is_one(frame) || frame[11] == PART {
            return Ok(());
        }
        // IPv4 options move UDP's length and checksum onto the frame's number, so that nobody knows which
        // frame it was.
        if frame.len() == 128 && frame[12..14] == [8, 0] && frame[14] != 0x45 {
            self.told.cut.fetch_add(1, Relaxed);
            return Ok(());
        }
        if let Some(number) = frame.get(NUMBER..NUMBER + 8) {
            let number = u64::from_le_bytes(number.try_into().expect("eight bytes"));
            self.told.frames.write(number, &mut self.again);
            // ECN and its checksum.
            let differs = |i: usize| frame[i] != self.again[i];
            if frame.len() < self.again.len() {
                let wrong = !is_beginning(frame, &self.again);
                if wrong {
                    eprintln!("{number}: {frame:02x?} of {:02x?}", self.again);
                }
                self.told.foreign.fetch_add(u64::from(wrong), Relaxed);
                self.told.cut.fetch_add(1, Relaxed);
                return Ok(());
            }
            let same = self.again.len() == frame.len()
                && (0..frame.len().min(NUMBER)).filter(|&i| differs(i)).count() <= 3
                && frame[NUMBER..] == self.again[NUMBER..];
            if !same {
                eprintln!("{number}: {frame:02x?} for {:02x?}", self.again);
            }
            self.told.foreign.fetch_add(u64::from(!same), Relaxed);
        }
        Ok(())
    }
    fn due(&self) -> Time {
        if !self.parts.is_empty() {
            return Time::ZERO;
        }
        if self.number < self.told.count { at(self.number) } else { Time::NEVER }
    }
}

/// Counts of a capture.
#[derive(Default)]
struct Captured {
    file: Vec<u8>,
    copied: u64,
    missed: u64,
}

impl Captured {
    /// Counts what there is; fails on blocks that are none.
    fn look(&mut self, reader: &mut Reader) {
        let word = |at: usize, file: &[u8]| {
            u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes"))
        };
        let mut before = usize::MAX;
        while self.file.len() != before {
            before = self.file.len();
            reader.read(&mut self.file).expect("memory");
        }
        let mut at = 0;
        while at < self.file.len() {
            let (kind, length) = (word(at, &self.file), word(at + 4, &self.file) as usize);
            assert_eq!(word(at + length - 4, &self.file) as usize, length, "a block's end");
            self.copied += u64::from(kind == 6);
            if kind == 5 {
                // Behind interface, time and the option before.
                let number = self.file[at + 36..at + 44].try_into().expect("eight bytes");
                self.missed += u64::from_le_bytes(number);
            }
            at += length;
        }
        self.file.clear();
    }
}

/// Whether a frame is what trimming leaves of another: the first 128 bytes, with DSCP 46, and lengths that fit. Its IP
/// checksum is right if it was.
fn is_beginning(frame: &[u8], whole: &[u8]) -> bool {
    let number = |at: usize| usize::from(u16::from_be_bytes([frame[at], frame[at + 1]]));
    // Lengths and checksums of IP and UDP, and the DSCP.
    let changed = |part: Range<usize>| part.filter(|&i| frame[i] != whole[i]).count();
    if frame.len() != 128 || changed(0..NUMBER) > 10 {
        return false;
    }
    // TCP's checksum, where a frame has become TCP's, lies behind the number.
    if changed(NUMBER..128) > if whole[23] == 6 { 2 } else { 0 } {
        return false;
    }
    match number(12) {
        0x0800 => {
            // Of a packet that is shorter than its frame, padding is cut.
            let length = usize::from(u16::from_be_bytes([whole[16], whole[17]])).min(128 - 14);
            number(16) == length && frame[15] >> 2 == 46 && is_right(frame) == is_right(whole)
        }
        0x86dd => number(18) == 128 - 14 - 40,
        _ => true,
    }
}

/// Ones' complement sum of a header's words (RFC 1071).
fn sum(header: &[u8]) -> u16 {
    let words = header.as_chunks::<2>().0.iter().map(|&two| u32::from(u16::from_be_bytes(two)));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    (sum & 0xffff) as u16 + (sum >> 16) as u16
}

/// Whether the checksum of an IPv4 header is right.
fn is_right(frame: &[u8]) -> bool {
    sum(frame.get(14..14 + usize::from(frame[14] & 15) * 4).unwrap_or_default()) == 0xffff
}

/// The switch in its n-th stretch.
fn set(n: u64) -> Live {
    let schemes = [
        step(30_000),
        notifier("mq-ecn", &[("threshold", "60KB")]),
        notifier("red", &[("kmin", "10KB"), ("kmax", "40KB")]),
        scheme("none", &[]),
        notifier("qcn", &[]),
    ];
    let mut live = live(PORTS, schemes[n as usize % schemes.len()].clone());
    live.live.routes.truncate(PORTS - 1);
    live.switch.buffer = Bytes::new(150_000);
    if n % 4 == 2 {
        // Class 1 is lossless at a port that hears hostile frames.
        let mut values = defaults(Pfc::TABLE);
        values.insert("priorities".to_owned(), Value::List(vec![Value::Count(1)]));
        values.insert("headroom".to_owned(), Value::Bytes(Bytes::new(100_000)));
        values.insert("watchdog".to_owned(), Value::Word("drop".to_owned()));
        live.switch.pfc = Some(Pfc::from_values(&mut values));
        live.switch.policy = BufferPolicy::Asic;
        live.switch.pool = Some(Bytes::new(1_000_000));
        live.port[PAUSED].pfc = true;
    }
    if n % 2 == 1 {
        // Queue 1 keeps its half for what is left of frames.
        live.switch.policy = BufferPolicy::Static;
        // Frames without ECN fill the queue as well: the memory refuses, not the marker.
        live.switch.unmarkable = Unmarkable::Pass;
        live.switch.trimming = Some(trimming());
    }
    live.port.iter_mut().for_each(|port| port.rate = Rate::from_bps(2000 * MBPS));
    live
}

/// The most memory that this process has had, in bytes.
fn most_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a peak");
    line.split_whitespace().nth(1).expect("a number").parse::<u64>().expect("a number") * 1024
}

fn main() {
    let count = std::env::args().nth(1).and_then(|text| text.parse().ok()).expect("frames COUNT");
    let zero = AtomicU64::default;
    let frames = Frames::new();
    let [received, sent, foreign, cut, lies, parts, pauses] = [(); 7].map(|()| zero());
    let told = Told { frames, count, received, sent, foreign, cut, lies, parts, pauses };
    let told = Arc::new(told);
    let side = |port| Box::new(Side::new(&told, port)) as AnyDevice;
    let mut forwarder =
        Forwarder::new(Switch::new(set(0)), (0..PORTS).map(side).collect(), Fake::default());
    let ports = (0..PORTS as u16).collect();
    let asked = Asked { ports, way: None, snaplen: 96, count: None };
    let mut reader = forwarder.capture(&asked, Duration::ZERO).expect("the first");
    let mut captured = Captured::default();
    // To the end, and until the last has left.
    for stretch in 1..=count / STRETCH + 2 {
        for look in 1..=STRETCH / LOOK {
            forwarder.run_until(at((stretch - 1) * STRETCH + look * LOOK)).expect("memory");
            // A reader that sleeps for a fifth of each stretch.
            if look * 5 > STRETCH / LOOK {
                captured.look(&mut reader);
            }
        }
        forwarder.set(set(stretch));
    }
    let stats = forwarder.stats();
    forwarder.end_captures();
    while !reader.ended() {
        captured.look(&mut reader);
    }
    let refused = stats.refused;
    let refused = refused.truncated + refused.oversized + refused.reserved + refused.here;
    let of = |what: fn(&switchbed_live::stats::PortStats) -> u64| -> u64 {
        stats.ports.iter().map(what).sum()
    };
    let dropped = of(|port| {
        let early = port.drops_early + port.drops_not_ecn_capable;
        port.drops_full + early + port.drops_pushed_out + port.drops_at_departure
    });
    let received = told.received.load(Relaxed);
    // A flooded frame leaves by all ports but one; a message of the switch's own is one more.
    let heard = of(|port| port.rx_pfc_frames + port.bad_pfc_frames);
    let copies = received + stats.flooded * (PORTS as u64 - 2) + stats.notified - heard;
    let pauses = told.pauses.load(Relaxed);
    let seen = received + of(|port| port.sent_packets) + dropped + pauses;
    println!(
        "{{\"frames\": {received}, \"sent\": {}, \"marked\": {}, \"dropped\": {dropped}, \
         \"refused\": {refused}, \"flooded\": {}, \"left\": {}, \"unaccounted\": {}, \
         \"foreign\": {}, \"cut\": {}, \"lies\": {}, \"parts\": {}, \"heard\": {heard}, \
         \"pauses\": {pauses}, \"captured\": {}, \"missed\": {}, \"uncaptured\": {}, \
         \"memory_bytes\": {}}}",
        told.sent.load(Relaxed),
        of(|port| port.marked_packets),
        stats.flooded,
        stats.frames,
        copies as i64 - (of(|port| port.sent_packets) + dropped + refused) as i64,
        told.foreign.load(Relaxed),
        told.cut.load(Relaxed),
        told.lies.load(Relaxed),
        told.parts.load(Relaxed),
        captured.copied,
        captured.missed,
        seen as i64 - (captured.copied + captured.missed) as i64,
        most_memory(),
    );
}
