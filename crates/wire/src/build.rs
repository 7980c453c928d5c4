//! Headers of Ethernet, IPv4, TCP, UDP and RoCEv2 built from plain values, for packet traces: the
//! payload is all zeros, counted in lengths and checksums and, but for RoCEv2, not written.

use crate::frame::Mac;
use etherparse::{
    EtherType, Ethernet2Header, IpDscp, IpEcn, IpNumber, Ipv4Header, TcpHeader, TcpOptions,
    UdpHeader,
};

/// Where a packet comes from or goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// MAC address of the host.
    pub mac: Mac,
    /// IPv4 address of the host.
    pub ip: [u8; 4],
    /// UDP or TCP port number.
    pub port: u16,
}

impl End {
    /// Station `number` of a simulation: 02:00 and the number, 10.0.0.1 and up.
    pub fn of(number: u32, port: u16) -> End {
        let [a, b, c, d] = number.to_be_bytes();
        // 10.0.0.0/8 has 24 bits for hosts, and .0 is the network itself.
        let ip = (10 << 24 | (number + 1) & 0xff_ffff).to_be_bytes();
        End { mac: Mac([2, 0, a, b, c, d]), ip, port }
    }
}

/// From whom, to whom, and how it is to be treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Sender of the frame.
    pub source: End,
    /// Receiver of the frame.
    pub destination: End,
    /// The DSCP, 0 to 63.
    pub dscp: u8,
    /// The ECN codepoint, 0 to 3 (RFC 3168, section 5).
    pub ecn: u8,
}

/// Fields of a TCP header (RFC 9293) besides its ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tcp<'a> {
    /// The first payload byte's number.
    pub sequence: u32,
    /// The next byte expected, where the ACK flag is set.
    pub acknowledgment: Option<u32>,
    /// SYN flag: opens a connection.
    pub syn: bool,
    /// ECE flag: ECN-Echo (RFC 3168).
    pub ece: bool,
    /// Congestion window reduced (RFC 3168).
    pub cwr: bool,
    /// AE flag (RFC 9768), NS before.
    pub ae: bool,
    /// SACK blocks (RFC 2018), at most 3: first byte, byte after the last.
    pub sack: &'a [(u32, u32)],
}

/// A frame's headers, and its length with its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headers {
    /// From the Ethernet header on; no frame check sequence.
    pub bytes: Vec<u8>,
    /// Length of the frame in bytes, without frame check sequence.
    pub frame_bytes: u32,
}

/// Payload bytes: as many as an IPv4 length can count.
static ZEROS: [u8; u16::MAX as usize] = [0; u16::MAX as usize];

/// A TCP segment with `payload` bytes; what does not fit into an IPv4 packet is cut.
pub fn tcp(way: &Way, head: &Tcp<'_>, payload: u32) -> Headers {
    let Way { source, destination, .. } = way;
    let mut tcp = TcpHeader::new(source.port, destination.port, head.sequence, u16::MAX);
    tcp.ack = head.acknowledgment.is_some();
    tcp.acknowledgment_number = head.acknowledgment.unwrap_or(0);
    (tcp.syn, tcp.ece, tcp.cwr, tcp.ns) = (head.syn, head.ece, head.cwr, head.ae);
    let mut options = Vec::new();
    if !head.sack.is_empty() {
        // Two NOPs fill the option up to 32 bits.
        options.extend([1, 1, 5, 2 + 8 * head.sack.len() as u8]);
        for (start, end) in head.sack {
            options.extend(start.to_be_bytes());
            options.extend(end.to_be_bytes());
        }
    }
    tcp.options = TcpOptions::try_from_slice(&options).unwrap_or_default();
    let (ip, payload) = ipv4(way, IpNumber::TCP, tcp.header_len(), payload);
    let checksum = tcp.calc_checksum_ipv4_raw(ip.source, ip.destination, &ZEROS[..payload]);
    tcp.checksum = checksum.unwrap_or(0);
    headers(way, &ip, &tcp.to_bytes(), payload)
}

/// A datagram with `payload` bytes; what does not fit into an IPv4 packet is cut.
pub fn udp(way: &Way, payload: u32) -> Headers {
    let (ip, payload) = ipv4(way, IpNumber::UDP, UdpHeader::LEN, payload);
    let (from, to) = (way.source.port, way.destination.port);
    let udp = UdpHeader::with_ipv4_checksum(from, to, &ip, &ZEROS[..payload]);
    headers(way, &ip, &udp.unwrap_or_default().to_bytes(), payload)
}

/// UDP destination port of RoCEv2.
pub const ROCE_PORT: u16 = 4791;

/// Fields of a RoCEv2 packet's transport header (InfiniBand Architecture, volume 1, chapter 9, and
/// annex A17), of a reliable connection. Its number identifies the queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roce {
    /// Kind of packet, with the fields of that kind.
    pub operation: Operation,
    /// The queue pair at its destination, of 24 bits.
    pub queue_pair: u32,
    /// The packet sequence number, of 24 bits.
    pub psn: u32,
}

/// Kind of a RoCEv2 packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Data of a SEND: whether it is the first packet of its message, and the last.
    Send {
        /// Whether the message begins here.
        first: bool,
        /// Whether the message ends here.
        last: bool,
    },
    /// Acknowledgement of packets up to a sequence number.
    Ack,
    /// A negative one: a packet came out of sequence.
    Nack,
    /// Congestion notification packet (CNP).
    Cnp,
}

/// A RoCEv2 packet with `payload` bytes; what does not fit into an IPv4 packet is cut. The payload is filled up
/// to 4 bytes and has a checksum of 4 behind it, which is left at zero. It is written, too: Wireshark takes a
/// packet whose end is missing to be malformed.
pub fn roce(way: &Way, head: &Roce, payload: u32) -> Headers {
    // SEND first, middle, last and only of a reliable connection, then ACK and CNP (annex A17).
    let opcode = match head.operation {
        Operation::Send { first: true, last: false } => 0x00,
        Operation::Send { first: false, last: false } => 0x01,
        Operation::Send { first: false, last: true } => 0x02,
        Operation::Send { first: true, last: true } => 0x04,
        Operation::Ack | Operation::Nack => 0x11,
        Operation::Cnp => 0x81,
    };
    // Up to the next multiple of 4.
    let pad = payload.wrapping_neg() & 3;
    let [_, qp @ ..] = head.queue_pair.to_be_bytes();
    let [_, psn @ ..] = head.psn.to_be_bytes();
    // Padding in bits 4 and 5; the default partition; of a CNP the BECN bit.
    let becn = u8::from(head.operation == Operation::Cnp) << 6;
    let mut transport = vec![opcode, (pad << 4) as u8, 0xff, 0xff, becn];
    transport.extend(qp);
    transport.push(0);
    transport.extend(psn);
    match head.operation {
        // The syndrome, and the number of messages, which is not reported.
        // A syndrome of 0x1f is an ACK without a credit count, 0x60 a NAK for a PSN sequence error.
        Operation::Ack => transport.extend([0x1f, 0, 0, 0]),
        Operation::Nack => transport.extend([0x60, 0, 0, 0]),
        Operation::Cnp => transport.extend([0; 16]),
        Operation::Send { .. } => {}
    }
    let header_len = UdpHeader::LEN + transport.len();
    let (ip, payload) = ipv4(way, IpNumber::UDP, header_len, payload + pad + 4);
    let length = (header_len + payload) as u16;
    let (source_port, destination_port) = (way.source.port, ROCE_PORT);
    // RoCEv2's own checksum covers what UDP's would.
    let udp = UdpHeader { source_port, destination_port, length, checksum: 0 };
    let mut made = headers(way, &ip, &[&udp.to_bytes()[..], &transport].concat(), payload);
    made.bytes.resize(made.frame_bytes as usize, 0);
    made
}

/// The IPv4 header, and the payload that fits behind it and `header_len` bytes more.
fn ipv4(way: &Way, protocol: IpNumber, header_len: usize, payload: u32) -> (Ipv4Header, usize) {
    let most = usize::from(u16::MAX) - Ipv4Header::MIN_LEN - header_len;
    let payload = (payload as usize).min(most);
    let mut ip = Ipv4Header {
        dscp: IpDscp::try_new(way.dscp & 63).unwrap_or_default(),
        ecn: IpEcn::try_new(way.ecn & 3).unwrap_or_default(),
        total_len: (Ipv4Header::MIN_LEN + header_len + payload) as u16,
        dont_fragment: true,
        time_to_live: 64,
        protocol,
        source: way.source.ip,
        destination: way.destination.ip,
        ..Ipv4Header::default()
    };
    ip.header_checksum = ip.calc_header_checksum();
    (ip, payload)
}

fn headers(way: &Way, ip: &Ipv4Header, transport: &[u8], payload: usize) -> Headers {
    let ethernet = Ethernet2Header {
        source: way.source.mac.0,
        destination: way.destination.mac.0,
        ether_type: EtherType::IPV4,
    };
    let mut bytes = ethernet.to_bytes().to_vec();
    bytes.extend_from_slice(&ip.to_bytes());
    bytes.extend_from_slice(transport);
    let frame_bytes = (bytes.len() + payload) as u32;
    Headers { bytes, frame_bytes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Frame;
    use etherparse::{NetSlice, SlicedPacket, TransportSlice};

    fn way(ecn: u8) -> Way {
        Way { source: End::of(7, 1024), destination: End::of(70_000, 5001), dscp: 5, ecn }
    }

    /// The frame with its payload of zeros.
    fn whole(headers: &Headers) -> Vec<u8> {
        let mut bytes = headers.bytes.clone();
        bytes.resize(headers.frame_bytes as usize, 0);
        bytes
    }

    #[test]
    fn a_segment_reads_as_it_was_built() {
        let sack = [(3_000, 4_460), (u32::MAX, 5)];
        let acknowledgment = Some(99);
        let head = Tcp { sequence: 77, acknowledgment, ece: true, sack: &sack, ..Tcp::default() };
        let built = tcp(&way(3), &head, 1460);
        assert_eq!(built.frame_bytes, 14 + 20 + 20 + 4 + 16 + 1460);
        let bytes = whole(&built);
        let frame = Frame::parse(&bytes).unwrap();
        assert_eq!(frame.source.to_string(), "02:00:00:00:00:07");
        let ip = frame.ip.unwrap();
        assert_eq!((ip.dscp(), ip.ecn()), (5, 3));
        let sliced = SlicedPacket::from_ethernet(&bytes).unwrap();
        let Some(NetSlice::Ipv4(net)) = &sliced.net else { panic!("no IPv4") };
        let header = net.header().to_header();
        assert_eq!(header.header_checksum, header.calc_header_checksum());
        assert_eq!((header.source, header.destination), ([10, 0, 0, 8], [10, 1, 17, 113]));
        let Some(TransportSlice::Tcp(slice)) = &sliced.transport else { panic!("no TCP") };
        let read = slice.to_header();
        assert_eq!((read.sequence_number, read.acknowledgment_number), (77, 99));
        assert!(read.ack && read.ece && !read.syn && !read.cwr);
        assert_eq!(slice.payload().len(), 1460);
        let checksum = read.calc_checksum_ipv4(&header, slice.payload()).unwrap();
        assert_eq!(read.checksum, checksum);
        let options: Vec<_> = read.options.elements_iter().map(Result::unwrap).collect();
        use etherparse::TcpOptionElement::{Noop, SelectiveAcknowledgement};
        let rest = [Some(sack[1]), None, None];
        assert_eq!(options, [Noop, Noop, SelectiveAcknowledgement(sack[0], rest)]);
    }

    #[test]
    fn a_datagram_reads_as_it_was_built() {
        let built = udp(&way(0), 972);
        let bytes = whole(&built);
        assert_eq!(bytes.len(), 14 + 1000);
        let sliced = SlicedPacket::from_ethernet(&bytes).unwrap();
        let Some(TransportSlice::Udp(slice)) = &sliced.transport else { panic!("no UDP") };
        assert_eq!((slice.source_port(), slice.payload().len()), (1024, 972));
        let Some(NetSlice::Ipv4(net)) = &sliced.net else { panic!("no IPv4") };
        let again = slice.to_header();
        let ip = net.header().to_header();
        assert_eq!(again.checksum, again.calc_checksum_ipv4(&ip, slice.payload()).unwrap());
    }

    #[test]
    fn a_roce_packet_reads_as_it_was_built() {
        let send = Operation::Send { first: false, last: true };
        let built =
            roce(&way(2), &Roce { operation: send, queue_pair: 0x12_3456, psn: 0xabcdef }, 998);
        // Two bytes of padding and the checksum.
        assert_eq!(built.frame_bytes, 14 + 20 + 8 + 12 + 998 + 2 + 4);
        let bytes = whole(&built);
        let sliced = SlicedPacket::from_ethernet(&bytes).unwrap();
        let Some(TransportSlice::Udp(slice)) = &sliced.transport else { panic!("no UDP") };
        assert_eq!(slice.destination_port(), 4791);
        let head = [0x02, 0x20, 0xff, 0xff, 0, 0x12, 0x34, 0x56, 0, 0xab, 0xcd, 0xef];
        assert_eq!(slice.payload()[..12], head);
        let of = |operation| roce(&way(0), &Roce { operation, queue_pair: 1, psn: 2 }, 0);
        // An ACK is 62 bytes, a CNP 74, without their frame check sequences.
        assert_eq!(of(Operation::Ack).frame_bytes, 62);
        assert_eq!(of(Operation::Nack).bytes[42 + 12], 0x60);
        let cnp = of(Operation::Cnp);
        assert_eq!((cnp.frame_bytes, cnp.bytes[42], cnp.bytes[46]), (74, 0x81, 0x40));
    }

    #[test]
    fn what_no_packet_holds_is_cut() {
        let built = tcp(&way(1), &Tcp::default(), 1 << 20);
        assert_eq!(built.frame_bytes, 14 + 65_535);
    }
}
