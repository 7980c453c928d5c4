//! Segmentation offload: several packets of a flow in one frame, as network stacks hand them to cards (TSO,
//! USO) and cards to them (GRO), with the header of virtio 1.2, section 5.1.6, beside the frame. [`split`] makes
//! packets of such a frame, as a card would send them. [`Joined`] makes one of packets.
//!
//! Splitting a joined frame gives its packets again, byte by byte: packets are joined only if every header field
//! follows from the first packet's, and if their checksums are right.

use crate::Version;

/// The frame's checksum from `csum_start` on is for the receiver to fill in.
const NEEDS_CSUM: u8 = 1;
const NONE: u8 = 0;
const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;
const UDP: u8 = 5;
/// Flag of the kind: CWR is for the first packet alone.
const ECN: u8 = 0x80;

const ETHERNET: usize = 14;
const TAG: usize = 4;
const TCP: u8 = 6;
const UDP_PROTOCOL: u8 = 17;
/// Place of the checksum in UDP's header.
const UDP_CHECKSUM: usize = 6;
const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;
const CWR: u8 = 0x80;

/// Packets of a frame at most. TCP's smallest segments (48 bytes in Linux) are 1365 in the longest frame.
pub const MOST_PACKETS: usize = 2048;
/// Packets that are joined at most: Linux's limit for UDP (`UDP_MAX_SEGMENTS`), in its older versions.
const MOST_JOINED: usize = 64;
/// An IP packet's length at most.
const LONGEST: usize = 65_535;

/// Offload header, `struct virtio_net_hdr` in the machine's byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Bit 0: the checksum is to be filled in.
    pub flags: u8,
    /// Kind of the segmentation: none, TCP over IPv4 or IPv6, UDP.
    pub gso_type: u8,
    /// Length of all headers. A hint, which [`split`] does not use.
    pub hdr_len: u16,
    /// Payload of each packet but the last.
    pub gso_size: u16,
    /// Place from which the checksum is summed.
    pub csum_start: u16,
    /// Place of the checksum behind `csum_start`.
    pub csum_offset: u16,
}

impl Header {
    /// Length in bytes.
    pub const BYTES: usize = 10;

    /// Whether the frame is a packet as it is.
    pub fn is_empty(self) -> bool {
        self.gso_type == NONE && self.flags & NEEDS_CSUM == 0
    }

    /// Reads the header.
    pub fn read(bytes: [u8; Header::BYTES]) -> Header {
        let [flags, gso_type, a, b, c, d, e, f, g, h] = bytes;
        let word = |a, b| u16::from_ne_bytes([a, b]);
        let (hdr_len, gso_size) = (word(a, b), word(c, d));
        Header {
            flags,
            gso_type,
            hdr_len,
            gso_size,
            csum_start: word(e, f),
            csum_offset: word(g, h),
        }
    }

    /// Writes the header.
    pub fn write(self) -> [u8; Header::BYTES] {
        let [a, b] = self.hdr_len.to_ne_bytes();
        let [c, d] = self.gso_size.to_ne_bytes();
        let [e, f] = self.csum_start.to_ne_bytes();
        let [g, h] = self.csum_offset.to_ne_bytes();
        [self.flags, self.gso_type, a, b, c, d, e, f, g, h]
    }

    /// The header of the same frame with `bytes` more in front of its IP header.
    #[must_use]
    pub fn moved(self, bytes: u16) -> Header {
        let csum_start = match self.flags & NEEDS_CSUM {
            0 => self.csum_start,
            _ => self.csum_start.saturating_add(bytes),
        };
        Header { csum_start, hdr_len: self.hdr_len.saturating_add(bytes), ..self }
    }
}

/// The offload header contradicts the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contradiction;

/// Places of a packet's headers. All lie within the frame, and its lengths are right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    version: Version,
    /// Start of the IP header, of TCP's or UDP's, and of the payload.
    ip: usize,
    transport: usize,
    payload: usize,
    tcp: bool,
}

/// Packets of a frame. Iterated by [`Packets::next`], which fills a buffer.
#[derive(Clone, Debug)]
pub struct Packets {
    kind: Kind,
    count: usize,
    next: usize,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// The frame is a packet. The place of a checksum that is to be filled in: its start and its field.
    One(Option<(usize, usize)>),
    /// Payload of each.
    Many(Layout, usize),
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

fn put(bytes: &mut [u8], at: usize, word: u16) {
    bytes[at..at + 2].copy_from_slice(&word.to_be_bytes());
}

impl Layout {
    /// Of a frame whose TCP or UDP header begins at `transport`, or behind the IP header without options or
    /// extensions if that is not known.
    fn of(frame: &[u8], transport: Option<usize>) -> Option<Layout> {
        let mut ip = ETHERNET;
        while matches!(word(frame, ip - 2)?, 0x8100 | 0x88a8) && ip < ETHERNET + 2 * TAG {
            ip += TAG;
        }
        let (version, behind, protocol) = match word(frame, ip - 2)? {
            0x0800 => (Version::V4, ip + Layout::v4(frame, ip)?, *frame.get(ip + 9)?),
            0x86dd => {
                // The payload length counts what is behind the 40 bytes of the header.
                if usize::from(word(frame, ip + 4)?) + ip + 40 != frame.len() || frame[ip] >> 4 != 6
                {
                    return None;
                }
                let (behind, protocol) = Layout::extended(frame, ip, transport)?;
                (Version::V6, behind, protocol)
            }
            _ => return None,
        };
        if transport.is_some_and(|transport| transport != behind) {
            return None;
        }
        let payload = match protocol {
            TCP => {
                let words = usize::from(*frame.get(behind + 12)? >> 4);
                if words < 5 {
                    return None;
                }
                behind + words * 4
            }
            UDP_PROTOCOL if usize::from(word(frame, behind + 4)?) == frame.len() - behind => {
                behind + 8
            }
            _ => return None,
        };
        let tcp = protocol == TCP;
        (payload <= frame.len()).then_some(Layout { version, ip, transport: behind, payload, tcp })
    }

    /// Length of an IPv4 header whose packet is no fragment and as long as the frame says.
    fn v4(frame: &[u8], ip: usize) -> Option<usize> {
        let first = *frame.get(ip)?;
        let length = usize::from(first & 15) * 4;
        let whole = usize::from(word(frame, ip + 2)?) + ip == frame.len();
        // More fragments, or an offset.
        let fragment = word(frame, ip + 6)? & 0x3fff != 0;
        let fits = frame.len() >= ip + length;
        (first >> 4 == 4 && length >= 20 && whole && !fragment && fits).then_some(length)
    }

    /// Start of what is behind an IPv6 header and its extensions, and its protocol.
    fn extended(frame: &[u8], ip: usize, transport: Option<usize>) -> Option<(usize, u8)> {
        let (mut at, mut protocol) = (ip + 40, *frame.get(ip + 6)?);
        // Hop-by-hop options, a routing header, options of the destination (RFC 8200, section 4.1).
        while transport.is_some_and(|transport| at < transport) && matches!(protocol, 0 | 43 | 60) {
            protocol = *frame.get(at)?;
            at += (usize::from(*frame.get(at + 1)?) + 1) * 8;
        }
        Some((at, protocol))
    }

    /// Place of the checksum behind the transport header's start.
    fn checksum_offset(self) -> usize {
        if self.tcp { 16 } else { UDP_CHECKSUM }
    }

    fn kind(self) -> u8 {
        match (self.tcp, self.version) {
            (true, Version::V4) => TCP_V4,
            (true, Version::V6) => TCP_V6,
            (false, _) => UDP,
        }
    }

    /// The pseudo header's sum for a packet, with the length of what is behind the IP header.
    fn pseudo(self, frame: &[u8]) -> u32 {
        let addresses = match self.version {
            Version::V4 => &frame[self.ip + 12..self.ip + 20],
            Version::V6 => &frame[self.ip + 8..self.ip + 40],
        };
        let protocol = if self.tcp { TCP } else { UDP_PROTOCOL };
        transport::pseudo(addresses, protocol, frame.len() - self.transport)
    }

    /// The checksum that a packet's TCP or UDP header must have.
    fn checksum(self, frame: &[u8]) -> u16 {
        let field = self.transport + self.checksum_offset();
        let (before, behind) = (&frame[self.transport..field], &frame[field + 2..]);
        let sum = transport::checksum(self.pseudo(frame), before, behind);
        // Zero means that there is none (RFC 768).
        if sum == 0 && !self.tcp { 0xffff } else { sum }
    }

    /// Sets lengths of IP and UDP, and IPv4's checksum, to those of the frame.
    fn set_lengths(self, frame: &mut [u8]) {
        let (ip, length) = (self.ip, frame.len() - self.ip);
        match self.version {
            Version::V4 => {
                put(frame, ip + 2, length as u16);
                put(frame, ip + 10, 0);
                let sum = transport::checksum(0, &frame[ip..ip + self.v4_header(frame)], &[]);
                put(frame, ip + 10, sum);
            }
            Version::V6 => put(frame, ip + 4, (length - 40) as u16),
        }
        if !self.tcp {
            put(frame, self.transport + 4, (frame.len() - self.transport) as u16);
        }
    }

    fn v4_header(self, frame: &[u8]) -> usize {
        usize::from(frame[self.ip] & 15) * 4
    }
}

/// Packets of a frame that came with an offload header. Lengths and checksums of all of them will be right.
///
/// # Errors
/// The header contradicts the frame, or asks for what no card does.
pub fn split(header: Header, frame: &[u8]) -> Result<Packets, Contradiction> {
    let summed = header.flags & NEEDS_CSUM != 0;
    let (start, offset) = (usize::from(header.csum_start), usize::from(header.csum_offset));
    if summed && (start < ETHERNET || start + offset + 2 > frame.len()) {
        return Err(Contradiction);
    }
    if header.gso_type == NONE {
        let place = summed.then_some((start, start + offset));
        return Ok(Packets { kind: Kind::One(place), count: 1, next: 0 });
    }
    let size = usize::from(header.gso_size);
    // A stack that leaves the segments also leaves the checksums (virtio 1.2, section 5.1.6.2).
    if !summed || size == 0 {
        return Err(Contradiction);
    }
    let layout = Layout::of(frame, Some(start)).ok_or(Contradiction)?;
    let count = (frame.len() - layout.payload).div_ceil(size).max(1);
    let fits = header.gso_type & !ECN == layout.kind() && offset == layout.checksum_offset();
    if !fits || count > MOST_PACKETS || frame.len() - layout.ip > LONGEST {
        return Err(Contradiction);
    }
    Ok(Packets { kind: Kind::Many(layout, size), count, next: 0 })
}

impl Packets {
    /// Number of packets that are left.
    pub fn left(&self) -> usize {
        self.count - self.next
    }

    /// Writes the next packet of the frame that was split into `packet`, whose contents are replaced. `false`: there
    /// is none.
    pub fn next(&mut self, frame: &[u8], packet: &mut Vec<u8>) -> bool {
        let nth = self.next;
        if nth == self.count {
            return false;
        }
        self.next += 1;
        packet.clear();
        match self.kind {
            Kind::One(place) => {
                packet.extend_from_slice(frame);
                if let Some((start, field)) = place {
                    // The field holds the pseudo header's sum.
                    let sum = transport::checksum(0, &packet[start..], &[]);
                    // In UDP alone 0 says that there is no checksum (RFC 768).
                    let udp = field - start == UDP_CHECKSUM;
                    put(packet, field, if sum == 0 && udp { 0xffff } else { sum });
                }
            }
            Kind::Many(layout, size) => self.cut(layout, size, nth, frame, packet),
        }
        true
    }

    fn cut(&self, layout: Layout, size: usize, nth: usize, frame: &[u8], packet: &mut Vec<u8>) {
        let begin = layout.payload + nth * size;
        packet.extend_from_slice(&frame[..layout.payload]);
        packet.extend_from_slice(&frame[begin..frame.len().min(begin + size)]);
        if layout.version == Version::V4 {
            let number = word(frame, layout.ip + 4).expect("it was read").wrapping_add(nth as u16);
            put(packet, layout.ip + 4, number);
        }
        layout.set_lengths(packet);
        if layout.tcp {
            let at = layout.transport;
            let first: [u8; 4] = frame[at + 4..at + 8].try_into().expect("four bytes");
            let number = u32::from_be_bytes(first).wrapping_add((nth * size) as u32);
            packet[at + 4..at + 8].copy_from_slice(&number.to_be_bytes());
            if nth > 0 {
                packet[at + 13] &= !CWR;
            }
            if nth + 1 < self.count {
                packet[at + 13] &= !(FIN | PSH);
            }
        }
        let sum = layout.checksum(packet);
        put(packet, layout.transport + layout.checksum_offset(), sum);
    }
}

/// A frame of packets that leave one behind the other.
#[derive(Clone, Debug, Default)]
pub struct Joined {
    bytes: Vec<u8>,
    run: Option<Run>,
    packets: usize,
}

/// Properties that the next packet must go on from.
#[derive(Clone, Copy, Debug)]
struct Run {
    layout: Layout,
    size: usize,
    /// TCP's sequence number of the next.
    sequence: u32,
    /// The first packet's headers and checksum were found right.
    checked: bool,
    /// Nothing may follow: a short packet, PSH or FIN was the last.
    closed: bool,
}

impl Joined {
    /// Begins with a packet, in place of what was there.
    pub fn begin(&mut self, packet: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(packet);
        self.packets = 1;
        self.run = Run::from(packet);
    }

    /// Adds a packet. `false`: it cannot be part of this frame, which stays as it is.
    pub fn append(&mut self, packet: &[u8]) -> bool {
        let Some(mut run) = self.run else { return false };
        if run.closed
            || self.packets == MOST_JOINED
            || !run.takes(&self.bytes, self.packets, packet)
        {
            return false;
        }
        if !run.checked {
            // A damaged packet must stay as damaged as it is.
            if !is_right(&self.bytes, run.layout) {
                self.run = None;
                return false;
            }
            run.checked = true;
        }
        if !is_right(packet, run.layout) {
            return false;
        }
        let payload = &packet[run.layout.payload..];
        self.bytes.extend_from_slice(payload);
        self.packets += 1;
        run.closed = payload.len() < run.size;
        if run.layout.tcp {
            let last = packet[run.layout.transport + 13] & (FIN | PSH);
            self.bytes[run.layout.transport + 13] |= last;
            run.closed |= last != 0;
            run.sequence = run.sequence.wrapping_add(payload.len() as u32);
        }
        self.run = Some(run);
        true
    }

    /// Number of packets in it.
    pub fn packets(&self) -> usize {
        self.packets
    }

    /// Bytes of the frame, whole once it is finished.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Finishes the frame. Returns its offload header, which is empty for a single packet.
    pub fn finish(&mut self) -> Header {
        let (Some(Run { layout, size, .. }), 2..) = (self.run, self.packets) else {
            return Header::default();
        };
        layout.set_lengths(&mut self.bytes);
        let offset = layout.checksum_offset();
        let sum = transport::fold(layout.pseudo(&self.bytes));
        put(&mut self.bytes, layout.transport + offset, sum);
        let ecn = layout.tcp && self.bytes[layout.transport + 13] & CWR != 0;
        Header {
            flags: NEEDS_CSUM,
            gso_type: layout.kind() | if ecn { ECN } else { 0 },
            hdr_len: layout.payload as u16,
            gso_size: size as u16,
            csum_start: layout.transport as u16,
            csum_offset: offset as u16,
        }
    }
}

/// Whether the checksums of a packet are right.
fn is_right(packet: &[u8], layout: Layout) -> bool {
    let stored = word(packet, layout.transport + layout.checksum_offset());
    (layout.version == Version::V6 || ip_is_right(&packet[layout.ip..layout.transport]))
        && stored == Some(layout.checksum(packet))
}

impl Run {
    /// Of a first packet, if others may follow. Frames with VLAN tags stay single.
    fn from(packet: &[u8]) -> Option<Run> {
        let layout = Layout::of(packet, None).filter(|layout| layout.ip == ETHERNET)?;
        let size = packet.len() - layout.payload;
        let (mut sequence, mut open) = (0, size > 0);
        if layout.tcp {
            let header = &packet[layout.transport..];
            sequence = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
            sequence = sequence.wrapping_add(size as u32);
            // Neither SYN, RST, URG, PSH nor FIN; ECE, CWR and reserved bits must be equal or are CWR's case.
            open &= header[13] & !(CWR | 0x40) == ACK;
        }
        open.then_some(Run { layout, size, sequence, checked: false, closed: false })
    }

    /// Whether a packet goes on from `frame`, of so many packets.
    fn takes(&self, frame: &[u8], packets: usize, packet: &[u8]) -> bool {
        let layout = self.layout;
        if packet.len() <= layout.payload
            || packet.len() - layout.payload > self.size
            || frame.len() + packet.len() - layout.payload - layout.ip > LONGEST
            || Layout::of(packet, None) != Some(layout)
        {
            return false;
        }
        let same = |from: usize, to: usize| frame[from..to] == packet[from..to];
        let (ip, at) = (layout.ip, layout.transport);
        let network = match layout.version {
            // Not the length, the identification and the checksum.
            Version::V4 => {
                let number = word(frame, ip + 4).map(|first| first.wrapping_add(packets as u16));
                same(0, ip + 2)
                    && same(ip + 6, ip + 10)
                    && same(ip + 12, at)
                    && word(packet, ip + 4) == number
            }
            // Not the length.
            Version::V6 => same(0, ip + 4) && same(ip + 6, at),
        };
        // Ports; of TCP not the sequence number, the last packet's flags and the checksum.
        let transport = match layout.tcp {
            false => same(at, at + 4),
            true => {
                let flags = packet[at + 13];
                let numbers = same(at + 8, at + 13) && same(at + 14, at + 16);
                same(at, at + 4)
                    && packet[at + 4..at + 8] == self.sequence.to_be_bytes()
                    && numbers
                    && same(at + 18, layout.payload)
                    && flags & !(FIN | PSH) == frame[at + 13] & !CWR
            }
        };
        network && transport
    }
}

/// Whether an IPv4 header's checksum is right (RFC 1071).
fn ip_is_right(header: &[u8]) -> bool {
    transport::checksum(0, header, &[]) == 0
}

/// Checksums of TCP and UDP (RFC 1071).
mod transport {
    /// Ones' complement sum of a part's words in the machine's byte order, which gives the network's once it is
    /// folded and swapped (RFC 1071, section 2 (B)). The part begins at an even place of its packet.
    fn add(part: &[u8]) -> u64 {
        let (words, rest) = part.as_chunks::<4>();
        let sum: u64 = words.iter().map(|&word| u64::from(u32::from_ne_bytes(word))).sum();
        // Zeros behind an odd end.
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        sum + u64::from(u32::from_ne_bytes(last))
    }

    fn fold_wide(sum: u64) -> u16 {
        let sum = (sum & 0xffff_ffff) + (sum >> 32);
        let sum = (sum & 0xffff_ffff) + (sum >> 32);
        fold(sum as u32)
    }

    /// Folds a sum to 16 bits.
    pub(super) fn fold(sum: u32) -> u16 {
        let sum = (sum & 0xffff) + (sum >> 16);
        ((sum & 0xffff) + (sum >> 16)) as u16
    }

    /// Sum of the pseudo header of TCP and UDP (RFC 9293, section 3.1; RFC 8200, section 8.1).
    pub(super) fn pseudo(addresses: &[u8], protocol: u8, length: usize) -> u32 {
        let addresses = fold_wide(add(addresses)).to_be();
        u32::from(addresses) + u32::from(protocol) + length as u32
    }

    /// Checksum of two parts that follow a sum, the first of even length.
    pub(super) fn checksum(before: u32, first: &[u8], second: &[u8]) -> u16 {
        debug_assert!(second.is_empty() || first.len().is_multiple_of(2));
        let parts = fold_wide(add(first) + add(second)).to_be();
        !fold(u32::from(fold(before)) + u32::from(parts))
    }
}
