//! Packets joined to a frame with an offload header, and frames split into packets.

use etherparse::ip_number::{TCP, UDP};
use etherparse::{
    IpHeaders, Ipv4Extensions, Ipv4Header, Ipv6Extensions, Ipv6Header, NetSlice, PacketBuilder,
    SlicedPacket, TcpHeader, TransportSlice, VlanId,
};
use proptest::prelude::*;
use switchbed_wire::offload::{Contradiction, Header, Joined, MOST_PACKETS, split};

const FIN: u8 = 1;
const PSH: u8 = 8;
const ACK: u8 = 16;
const CWR: u8 = 128;

/// A packet by the fields that joining looks at.
#[derive(Clone, Debug)]
struct Sort {
    v6: bool,
    tcp: bool,
    vlan: bool,
    tos: u8,
    id: u16,
    sequence: u32,
    flags: u8,
    port: u16,
    payload: Vec<u8>,
}

const FIRST: Sort = Sort {
    v6: false,
    tcp: true,
    vlan: false,
    tos: 2,
    id: 0xffff,
    sequence: 0xffff_fff0,
    flags: ACK,
    port: 1000,
    payload: Vec::new(),
};

fn ip(sort: &Sort) -> IpHeaders {
    let protocol = if sort.tcp { TCP } else { UDP };
    if sort.v6 {
        let header = Ipv6Header { hop_limit: 9, next_header: protocol, ..Ipv6Header::default() };
        let header = Ipv6Header { traffic_class: sort.tos, source: [7; 16], ..header };
        return IpHeaders::Ipv6(header, Ipv6Extensions::default());
    }
    let mut header = Ipv4Header::new(0, 64, protocol, [10, 0, 0, 1], [10, 0, 0, 2]).unwrap();
    header.ecn = etherparse::IpEcn::try_new(sort.tos & 3).unwrap();
    header.dscp = etherparse::IpDscp::try_new(sort.tos >> 2).unwrap();
    header.identification = sort.id;
    IpHeaders::Ipv4(header, Ipv4Extensions::default())
}

/// The packet's frame, whose checksums are etherparse's.
fn packet(sort: &Sort) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
    let builder = match sort.vlan {
        true => builder.single_vlan(VlanId::try_new(7).unwrap()).ip(ip(sort)),
        false => builder.ip(ip(sort)),
    };
    let mut frame = Vec::new();
    if !sort.tcp {
        builder.udp(sort.port, 80).write(&mut frame, &sort.payload).unwrap();
        return frame;
    }
    let mut header = TcpHeader::new(sort.port, 80, sort.sequence, 500);
    let is = |flag| sort.flags & flag != 0;
    (header.fin, header.psh, header.ack, header.cwr) = (is(FIN), is(PSH), is(ACK), is(CWR));
    header.acknowledgment_number = 77;
    header.set_options_raw(&[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]).unwrap();
    builder.tcp_header(header).write(&mut frame, &sort.payload).unwrap();
    frame
}

/// The next packet of a stream.
fn next(sort: &Sort) -> Sort {
    Sort {
        id: sort.id.wrapping_add(1),
        sequence: sort.sequence.wrapping_add(sort.payload.len() as u32),
        ..sort.clone()
    }
}

/// Frames that packets are joined to, one after the other.
fn joined(packets: &[Vec<u8>]) -> Vec<(Header, Vec<u8>)> {
    let mut frames = Vec::new();
    let mut frame = Joined::default();
    for (nth, packet) in packets.iter().enumerate() {
        if nth > 0 && frame.append(packet) {
            continue;
        }
        if nth > 0 {
            frames.push((frame.finish(), frame.bytes().to_vec()));
        }
        frame.begin(packet);
    }
    frames.push((frame.finish(), frame.bytes().to_vec()));
    frames
}

fn parts(header: Header, frame: &[u8]) -> Result<Vec<Vec<u8>>, Contradiction> {
    let mut packets = split(header, frame)?;
    let count = packets.left();
    let (mut found, mut packet) = (Vec::new(), Vec::new());
    while packets.next(frame, &mut packet) {
        found.push(packet.clone());
    }
    assert_eq!(found.len(), count);
    Ok(found)
}

/// Ones' complement sum of words, one after the other (RFC 1071). 0xffff: the checksum within is right.
fn sum(words: impl IntoIterator<Item = u16>) -> u16 {
    words.into_iter().fold(0, |sum: u16, word| {
        let (sum, carry) = sum.overflowing_add(word);
        sum + u16::from(carry)
    })
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u16> {
    bytes.chunks(2).map(|two| u16::from_be_bytes([two[0], two.get(1).copied().unwrap_or(0)]))
}

/// Whether every checksum of a packet is right. Not etherparse's: it forgets TCP's reserved bits.
fn is_right(frame: &[u8]) -> bool {
    let sliced = SlicedPacket::from_ethernet(frame).expect("a packet");
    let (addresses, ip) = match sliced.net.as_ref().expect("IP") {
        NetSlice::Ipv4(ip) => (&ip.header().slice()[12..20], sum(words(ip.header().slice()))),
        NetSlice::Ipv6(ip) => (&ip.header().slice()[8..40], 0xffff),
        NetSlice::Arp(_) => return false,
    };
    let (protocol, behind) = match sliced.transport.as_ref().expect("TCP or UDP") {
        TransportSlice::Tcp(tcp) => (6, tcp.slice()),
        TransportSlice::Udp(udp) => (17, udp.slice()),
        _ => return false,
    };
    let pseudo = words(addresses).chain([protocol, behind.len() as u16]);
    ip == 0xffff && sum(pseudo.chain(words(behind))) == 0xffff
}

#[test]
fn a_stream_is_one_frame_and_its_packets_again() {
    for (v6, tcp) in [(false, true), (true, true), (false, false), (true, false)] {
        let first = Sort { v6, tcp, payload: vec![3; 1000], flags: ACK | CWR, ..FIRST };
        let second = Sort { flags: ACK, payload: vec![4; 1000], ..next(&first) };
        let last = Sort { flags: ACK | PSH | FIN, payload: vec![5; 1], ..next(&second) };
        let packets = [&first, &second, &last].map(packet);
        let frames = joined(&packets);
        let [(header, frame)] = &frames[..] else { panic!("{} frames", frames.len()) };
        let headers = packets[0].len() - 1000;
        let transport = if v6 { 54 } else { 34 };
        // virtio 1.2, section 5.1.6: VIRTIO_NET_HDR_F_NEEDS_CSUM; GSO_TCPV4, GSO_TCPV6, GSO_UDP_L4; GSO_ECN.
        let kind = [[5, 5], [1 | 0x80, 4 | 0x80]][usize::from(tcp)][usize::from(v6)];
        let offset = if tcp { 16 } else { 6 };
        let expected = Header {
            flags: 1,
            gso_type: kind,
            hdr_len: headers as u16,
            gso_size: 1000,
            csum_start: transport,
            csum_offset: offset,
        };
        assert_eq!((*header, frame.len()), (expected, headers + 2001));
        assert_eq!(Header::read(header.write()), *header);
        assert_eq!(parts(*header, frame).unwrap(), packets);
        if tcp {
            assert_eq!(frame[usize::from(transport) + 13], ACK | CWR | PSH | FIN);
        }
    }
}

#[test]
fn what_does_not_follow_stays_apart() {
    let first = Sort { payload: vec![3; 100], ..FIRST };
    let follows = next(&first);
    assert_eq!(joined(&[packet(&first), packet(&follows)]).len(), 1);
    let apart = [
        Sort { tos: 3, ..follows.clone() },
        Sort { id: 7, ..follows.clone() },
        Sort { sequence: 7, ..follows.clone() },
        Sort { flags: ACK | CWR, ..follows.clone() },
        Sort { flags: 0, ..follows.clone() },
        Sort { port: 7, ..follows.clone() },
        Sort { payload: vec![3; 101], ..follows.clone() },
        Sort { payload: vec![], ..follows.clone() },
        Sort { v6: true, ..follows.clone() },
        Sort { tcp: false, ..follows.clone() },
        Sort { vlan: true, ..follows.clone() },
    ];
    for other in apart {
        assert_eq!(joined(&[packet(&first), packet(&other)]).len(), 2, "{other:?}");
    }
    for last in [PSH, FIN] {
        let ended = Sort { flags: ACK | last, ..first.clone() };
        assert_eq!(joined(&[packet(&ended), packet(&follows)]).len(), 2);
    }
    let tagged = Sort { vlan: true, ..first.clone() };
    assert_eq!(joined(&[packet(&tagged), packet(&next(&tagged))]).len(), 2);
    // A damaged packet stays what it is, so that its receiver finds the damage.
    for damaged in 0..2 {
        let mut both = [packet(&first), packet(&follows)];
        both[damaged][90] ^= 1;
        let frames: Vec<Vec<u8>> = joined(&both).into_iter().map(|(_, frame)| frame).collect();
        assert_eq!(frames, both);
    }
    // A frame with padding behind its packet.
    let padded = [&packet(&follows)[..], &[0; 4]].concat();
    assert_eq!(joined(&[packet(&first), padded]).len(), 2);
}

#[test]
fn a_frame_is_as_long_as_ip_allows() {
    let mut sort = Sort { payload: vec![1; 1448], ..FIRST };
    let mut packets = Vec::new();
    for _ in 0..100 {
        packets.push(packet(&sort));
        sort = next(&sort);
    }
    let frames = joined(&packets);
    // 52 bytes of headers, and 45 times 1448.
    assert_eq!(frames[0].1.len(), 14 + 52 + 45 * 1448);
    let again: Vec<_> =
        frames.iter().flat_map(|(header, frame)| parts(*header, frame).unwrap()).collect();
    assert_eq!(again, packets);
}

#[test]
fn a_checksum_that_was_left_to_the_card_is_filled_in() {
    for (v6, tcp) in [(false, true), (true, true), (false, false), (true, false)] {
        left_to_the_card(v6, tcp, &packet(&Sort { v6, tcp, payload: vec![3; 33], ..FIRST }));
    }
}

#[test]
fn a_checksum_of_nought_is_all_ones_in_udp_alone() {
    for (v6, tcp) in [(false, true), (true, true), (false, false), (true, false)] {
        let field = if v6 { 54 } else { 34 } + if tcp { 16 } else { 6 };
        let nought = if tcp { [0, 0] } else { [0xff, 0xff] };
        let of = |word: u16| packet(&Sort { v6, tcp, payload: word.to_be_bytes().into(), ..FIRST });
        let whole = (1..=u16::MAX).map(of).find(|whole| whole[field..field + 2] == nought);
        left_to_the_card(v6, tcp, &whole.expect("some word makes it so"));
    }
}

/// Splits a packet as Linux leaves its checksum to the card, and expects it whole.
fn left_to_the_card(v6: bool, tcp: bool, whole: &[u8]) {
    // As Linux leaves it: the sum of the pseudo header, by a frame of two packets.
    let (csum_start, csum_offset) = (if v6 { 54 } else { 34 }, if tcp { 16 } else { 6 });
    let mut left = whole.to_vec();
    let length = (whole.len() - usize::from(csum_start)) as u16;
    let addresses = if v6 { &whole[22..54] } else { &whole[26..34] };
    let words = addresses.chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(two[1]));
    let sum: u32 = words.sum::<u32>() + u32::from(length) + if tcp { 6 } else { 17 };
    let sum = ((sum & 0xffff) + (sum >> 16)) as u16;
    let field = usize::from(csum_start + csum_offset);
    left[field..field + 2].copy_from_slice(&sum.to_be_bytes());
    let header = Header { flags: 1, csum_start, csum_offset, ..Header::default() };
    assert_eq!(parts(header, &left).unwrap(), [whole]);
}

#[test]
fn headers_that_lie_are_refused() {
    let first = Sort { payload: vec![3; 1000], ..FIRST };
    let frames = joined(&[packet(&first), packet(&next(&first))]);
    let (header, frame) = frames[0].clone();
    assert_eq!(parts(header, &frame).unwrap().len(), 2);
    let lies = [
        Header { gso_size: 0, ..header },
        // More packets than any stack makes.
        Header { gso_size: 1, ..header },
        Header { flags: 0, ..header },
        Header { gso_type: 3, ..header },
        Header { gso_type: 4, ..header },
        Header { gso_type: 5, ..header },
        Header { gso_type: 0x7f, ..header },
        Header { csum_start: header.csum_start - 2, ..header },
        Header { csum_start: header.csum_start + 2, ..header },
        Header { csum_start: u16::MAX, ..header },
        Header { csum_start: 12, ..header },
        Header { csum_offset: 6, ..header },
        Header { csum_offset: u16::MAX, ..header },
        Header { gso_type: 0, csum_start: frame.len() as u16 - 1, csum_offset: 0, ..header },
        Header { gso_type: 0, csum_start: 2, csum_offset: 0, ..header },
    ];
    let longer = 2 * usize::from(header.gso_size);
    for lie in lies {
        // Two thousand bytes of payload are fewer packets than the most.
        let few = lie == Header { gso_size: 1, ..header } && longer <= MOST_PACKETS;
        assert_eq!(parts(lie, &frame).is_err(), !few, "{lie:?}");
    }
    // A hint of a length that is wrong changes nothing.
    assert!(parts(Header { hdr_len: u16::MAX, ..header }, &frame).is_ok());
    let lengths = [&frame[..frame.len() - 1], &[&frame[..], &[0]].concat()];
    for other in lengths {
        assert_eq!(parts(header, other), Err(Contradiction));
    }
    for cut in 0..70 {
        assert_eq!(parts(header, &frame[..cut]), Err(Contradiction));
    }
    // 64 KB, of which each packet would have a byte.
    let payload = vec![1; 65_000];
    let long = packet(&Sort { payload, ..FIRST });
    assert_eq!(parts(Header { gso_size: 1, ..header }, &long), Err(Contradiction));
    assert_eq!(parts(Header { gso_size: 48, ..header }, &long).unwrap().len(), 1355);
}

fn sorts() -> impl Strategy<Value = Vec<Sort>> {
    let first = (any::<bool>(), any::<bool>(), 0u8..4, any::<u16>(), any::<u32>(), 1usize..300);
    // Most packets follow; each of the others differs in one field.
    let step = (0u8..24, 1usize..300, any::<u8>());
    (first, prop::collection::vec(step, 0..40)).prop_map(|(first, steps)| {
        let (v6, tcp, tos, id, sequence, length) = first;
        let sort = Sort { v6, tcp, tos, id, sequence, payload: vec![id as u8; length], ..FIRST };
        let mut sorts = vec![sort];
        for (differs, length, byte) in steps {
            let last = sorts.last().expect("one");
            let mut sort = next(last);
            sort.flags = ACK;
            match differs {
                0 => sort.tos ^= 1,
                1 => sort.id ^= 4,
                2 => sort.sequence ^= 8,
                3 => sort.flags |= PSH,
                4 => sort.flags |= CWR,
                5 => sort.flags |= FIN,
                6 => sort.payload = vec![byte; length],
                7 => sort.port += 1,
                8 => sort.payload.clear(),
                _ => sort.payload.fill(byte),
            }
            sorts.push(sort);
        }
        sorts
    })
}

proptest! {
    #[test]
    fn splitting_undoes_joining(sorts in sorts()) {
        let packets: Vec<_> = sorts.iter().map(packet).collect();
        let frames = joined(&packets);
        let again: Vec<_> = frames
            .iter()
            .flat_map(|(header, frame)| parts(*header, frame).unwrap())
            .collect();
        prop_assert!(again.iter().all(|packet| is_right(packet)));
        prop_assert_eq!(again, packets);
    }

    /// A frame that was changed, and a header: refused, or packets whose checksums are right.
    #[test]
    fn nothing_that_lies_does_harm(
        sorts in sorts(),
        changes in prop::collection::vec((0usize..120, any::<u8>()), 0..4),
        header in any::<[u8; 10]>(),
        own in any::<bool>(),
        cut in 0usize..200,
    ) {
        let packets: Vec<_> = sorts.iter().map(packet).collect();
        for (of, mut frame) in joined(&packets) {
            for &(at, value) in &changes {
                if let Some(byte) = frame.get_mut(at) {
                    *byte = value;
                }
            }
            if cut < frame.len() {
                frame.truncate(frame.len() - cut % 3);
            }
            let header = if own { of } else { Header::read(header) };
            if let Ok(found) = parts(header, &frame) {
                prop_assert!(found.len() <= MOST_PACKETS);
                if header.gso_type != 0 {
                    prop_assert!(found.iter().all(|packet| is_right(packet)));
                }
            }
        }
    }

    #[test]
    fn any_bytes_are_joined_to_nothing_else(all in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..100), 1..4)) {
        let frames: Vec<_> = joined(&all).into_iter().map(|(_, frame)| frame).collect();
        prop_assert_eq!(frames, all);
    }
}
