//! Packet traces: what ports sent and hosts received, as pcapng files with true Ethernet,
//! IPv4, TCP, UDP or RoCEv2 headers, DSCP and ECN bits.
//!
//! A packet is written down as it leaves a port, in the branch that measuring queues takes;
//! ports that nobody watches do not know of it. Headers are built at the end.

use super::observer::{Asked, AtPort, Observed, Observer, Sent, Site};
use crate::ids::LinkId;
use crate::packet::rdma::RdmaKind;
use crate::packet::{Body, Flags, SackBlock};
use crate::topology::Node;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, Endianness, PcapError};
use std::borrow::Cow;
use std::time::Duration;
use switchbed_qdisc::Ecn;
use switchbed_units::Time;
use switchbed_wire::build::{self, End, Headers, Operation, Tcp, Way};

/// Records the packets that one port sends.
#[derive(Clone, Debug)]
pub struct Tap {
    sent: Vec<Sent>,
    most: usize,
    /// Packets beyond `most`, which are counted and not kept.
    missed: u64,
}

impl Tap {
    /// Keeps the first `most` packets.
    pub fn new(most: usize) -> Tap {
        Tap { sent: Vec::new(), most, missed: 0 }
    }

    /// Returns the kept packets in the order of departure.
    pub fn sent(&self) -> &[Sent] {
        &self.sent
    }
}

impl AtPort for Tap {
    fn sent(&mut self, sent: &Sent) {
        if self.sent.len() < self.most {
            self.sent.push(*sent);
        } else {
            self.missed += 1;
        }
    }
}

/// Capture point: a switch's port, or a host with both directions.
#[derive(Clone, Debug)]
struct Point {
    /// Name of the point: `leaf0:3`, or `host2`.
    name: String,
    /// Port that sends the captured packets.
    sends: LinkId,
    /// Link that leads to it, for a host.
    receives: Option<LinkId>,
}

/// Capture points of a run.
pub(crate) struct Captures {
    points: Vec<Point>,
}

pub(super) fn asked(site: &mut Site) -> Asked {
    let measure = &site.scenario.measure;
    let point = |name: &String| {
        let sends = site.link(name)?;
        let node = site.ports[sends.index()].cable.from;
        let receives = match node {
            Node::Host(_) => site.graph.back(sends),
            Node::Switch(_) => None,
        };
        Ok(Point { name: name.clone(), sends, receives })
    };
    let points = measure.capture.iter().map(point).collect::<Result<Vec<_>, String>>()?;
    for point in &points {
        for link in [Some(point.sends), point.receives].into_iter().flatten() {
            site.network.watched(link).add(Tap::new(measure.capture_packets as usize));
        }
    }
    Ok(Some(Box::new(Captures { points })))
}

impl Observer for Captures {}

impl Captures {
    /// Returns the traces up to now.
    pub(crate) fn files(&self, network: &dyn Observed) -> Vec<Capture> {
        let tap = |link| network.watch(link)?.of::<Tap>();
        let of = |point: &Point| {
            Some(capture(&point.name, tap(point.sends)?, point.receives.and_then(tap)))
        };
        self.points.iter().filter_map(of).collect()
    }
}

/// Packet trace of one capture point.
#[derive(Clone, Debug)]
pub struct Capture {
    /// Name of the capture point.
    pub name: String,
    /// Content of a pcapng file.
    pub pcapng: Vec<u8>,
    /// Number of packets in the file.
    pub packets: u64,
    /// Packets that the limit kept out.
    pub missed: u64,
}

/// Directions as pcapng's flags of a packet have them.
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

/// The trace of what was sent and, at a host, received.
fn capture(name: &str, sends: &Tap, receives: Option<&Tap>) -> Capture {
    let out = sends.sent.iter().map(|sent| (sent.left, OUTBOUND, sent));
    let arrived = receives.into_iter().flat_map(|tap| &tap.sent);
    let arrived = arrived.map(|sent| (sent.arrives, INBOUND, sent));
    // Notifications between switches and cards are no IP packets.
    let of_hosts = |&(_, _, sent): &(Time, u32, &Sent)| sent.from.is_some();
    // Arrivals of an instant come before what is sent in answer.
    let mut frames: Vec<_> = arrived.chain(out).filter(of_hosts).collect();
    frames.sort_by_key(|&(at, ..)| at);
    Capture {
        name: name.to_owned(),
        packets: frames.len() as u64,
        missed: sends.missed + receives.map_or(0, |tap| tap.missed),
        pcapng: file(name, &frames).expect("memory takes all that is written"),
    }
}

fn file(name: &str, frames: &[(Time, u32, &Sent)]) -> Result<Vec<u8>, PcapError> {
    let mut writer = PcapNgWriter::with_endianness(Vec::new(), Endianness::Little)?;
    writer.write_pcapng_block(InterfaceDescriptionBlock {
        linktype: DataLink::ETHERNET,
        // pcapng: 0 stands for no limit.
        snaplen: 0,
        options: vec![
            InterfaceDescriptionOption::IfName(Cow::Borrowed(name)),
            // Nanoseconds.
            InterfaceDescriptionOption::IfTsResol(9),
        ],
    })?;
    for &(at, direction, sent) in frames {
        let Headers { bytes, frame_bytes } = headers(sent);
        writer.write_pcapng_block(EnhancedPacketBlock {
            interface_id: 0,
            timestamp: Duration::from_nanos(at.as_ps() / 1_000),
            original_len: frame_bytes,
            data: Cow::Owned(bytes),
            options: vec![EnhancedPacketOption::Flags(direction)],
        })?;
    }
    Ok(writer.into_inner())
}

/// UDP port of Ultra Ethernet, and bytes on the wire besides UDP's payload: Ethernet 14 and 4, IPv4 20, UDP 8.
const ULTRA_ETHERNET: u16 = 4_793;
const ETHERNET_IPV4_UDP: u32 = 46;

/// A sent packet's headers. Its ports identify a connection; its number makes them: 1024 and
/// up at its sender, 5001 and up at the other end.
fn headers(sent: &Sent) -> Headers {
    let Sent { packet, payload, .. } = sent;
    let (from, to) = (sent.from.map_or(0, |host| host.0), sent.to.0);
    // InfiniBand's queue pair numbers have 24 bits.
    let connection = packet.flow.0 & 0xff_ffff;
    let active = 1_024 + (connection % 60_000) as u16;
    let unordered = matches!(&payload.body, Body::Rdma(rdma) if rdma.kind.is_unordered());
    // 56,200 at most (5001 + 255 + 256·199), so a port number never overflows.
    let passive = 5_001 + (packet.flow.0 >> 24) as u16 + 256 * (connection / 60_000 % 200) as u16;
    let back = match &payload.body {
        Body::Segment(segment) => segment.flags.contains(Flags::ACK),
        Body::Echo { back, .. } => *back,
        Body::Rdma(rdma) => !rdma.kind.is_data(),
        Body::Datagram { .. } | Body::Notification(_) | Body::Pause { .. } => false,
    };
    let passive = if unordered { ULTRA_ETHERNET } else { passive };
    let (here, there) = if back { (passive, active) } else { (active, passive) };
    let ecn = match packet.ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    };
    let (source, destination) = (End::of(from, here), End::of(to, there));
    let way = Way { source, destination, dscp: packet.class, ecn };
    if unordered {
        return build::udp(&way, packet.len_bytes.saturating_sub(ETHERNET_IPV4_UDP));
    }
    if let Body::Rdma(rdma) = &payload.body {
        let (first, last) = (rdma.kind.begins(), rdma.kind.ends());
        let operation = match rdma.kind {
            RdmaKind::Ack => Operation::Ack,
            RdmaKind::Nack => Operation::Nack,
            RdmaKind::Cnp => Operation::Cnp,
            _ => Operation::Send { first, last },
        };
        let payload = if rdma.kind.is_data() { rdma.len.into() } else { 0 };
        // PSNs have 24 bits too.
        let (queue_pair, psn) = (connection, rdma.psn & 0xff_ffff);
        return build::roce(&way, &build::Roce { operation, queue_pair, psn }, payload);
    }
    let Body::Segment(segment) = &payload.body else {
        // IPv4's 20 bytes and UDP's 8.
        return build::udp(&way, packet.len_bytes.saturating_sub(28));
    };
    let syn = segment.flags.contains(Flags::SYN);
    // A SYN takes number 0, so that payload begins at 1 on both sides.
    let number = |offset: u64| offset.wrapping_add(1) as u32;
    // Numbers have 32 bits, so that distances below the ACK wrap around to the right ones.
    let block = |b: &SackBlock| {
        let start = number(segment.offset);
        (start.wrapping_add(b.start), start.wrapping_add(b.end))
    };
    let sack: Vec<(u32, u32)> = segment.blocks().iter().map(block).collect();
    let tcp = Tcp {
        sequence: match (syn, back) {
            (true, _) => 0,
            // The receiver has sent nothing but its SYN-ACK, which took number 0.
            (false, true) => 1,
            (false, false) => number(segment.offset),
        },
        acknowledgment: match (syn, back) {
            (true, false) => None,
            (_, true) => Some(number(segment.offset)),
            // Data acknowledges the peer's SYN-ACK alone.
            (false, false) => Some(1),
        },
        syn,
        ece: segment.flags.contains(Flags::ECE),
        cwr: segment.flags.contains(Flags::CWR),
        ae: segment.flags.contains(Flags::AE),
        sack: &sack,
    };
    build::tcp(&way, &tcp, if back { 0 } else { segment.len })
}
