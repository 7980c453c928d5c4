//! Frames of every shape: what is read of them, and what a mark changes.

use etherparse::ip_number::{IPV6_DEST_OPTIONS, TCP, UDP};
use etherparse::{
    IpDscp as Dscp, IpEcn as Ecn, IpFragOffset, IpHeaders, IpNumber, Ipv4Extensions, Ipv4Header,
    Ipv6Extensions, Ipv6FragmentHeader, Ipv6Header, Ipv6RawExtHeader, PacketBuilder, VlanId,
};
use proptest::prelude::*;
use switchbed_wire::{Frame, Mac, Truncated, Version, set_ce};

const A: [u8; 6] = [2, 0, 0, 0, 0, 1];
const B: [u8; 6] = [2, 0, 0, 0, 0, 2];

fn v4(dscp: u8, ecn: u8, identification: u16, ttl: u8) -> Ipv4Header {
    let mut header = Ipv4Header::new(0, ttl, TCP, [10, 0, 0, 1], [10, 0, 0, 2]).unwrap();
    header.dscp = Dscp::try_new(dscp).unwrap();
    header.ecn = Ecn::try_new(ecn).unwrap();
    header.identification = identification;
    header
}

fn v6(traffic_class: u8) -> Ipv6Header {
    let mut header = Ipv6Header { hop_limit: 64, next_header: TCP, ..Ipv6Header::default() };
    header.source[15] = 1;
    header.destination[15] = 2;
    header.traffic_class = traffic_class;
    header
}

/// A frame with these headers, and payload behind a TCP header with these ports.
fn tcp(tags: u16, headers: IpHeaders, ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2(A, B);
    let mut frame = Vec::new();
    let vlan = |id| VlanId::try_new(id).unwrap();
    let builder = match tags {
        0 => builder.ip(headers),
        1 => builder.single_vlan(vlan(7)).ip(headers),
        _ => builder.double_vlan(vlan(7), vlan(8)).ip(headers),
    };
    builder.tcp(ports.0, ports.1, 1, 1000).write(&mut frame, payload).unwrap();
    frame
}

fn tcp4(dscp: u8, ecn: u8) -> Vec<u8> {
    let headers = IpHeaders::Ipv4(v4(dscp, ecn, 1, 64), Ipv4Extensions::default());
    tcp(0, headers, (1000, 80), &[5; 5])
}

/// A frame of `next` bytes behind an IPv6 header that names `first` as what follows.
fn raw6(first: IpNumber, behind: &[u8]) -> Vec<u8> {
    let mut header = v6(0b10);
    header.next_header = first;
    header.payload_length = behind.len() as u16;
    let mut frame = [&A[..], &B, &[0x86, 0xdd]].concat();
    header.write(&mut frame).unwrap();
    frame.extend_from_slice(behind);
    frame
}

/// The IPv4 header's checksum, all of it computed.
fn recomputed(header: &[u8]) -> u16 {
    let sum = header
        .chunks(2)
        .enumerate()
        .filter(|&(i, _)| i != 5)
        .fold(0u32, |sum, (_, word)| sum + u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum = (sum & 0xffff) + (sum >> 16);
    !(((sum & 0xffff) + (sum >> 16)) as u16)
}

#[test]
fn addresses_tags_and_the_ip_header_are_found() {
    for (tags, vlan) in [(0, None), (1, Some(7)), (2, Some(7))] {
        let four = IpHeaders::Ipv4(v4(46, 2, 9, 64), Ipv4Extensions::default());
        let six = IpHeaders::Ipv6(v6(46 << 2 | 1), Ipv6Extensions::default());
        for (headers, version, ecn) in [(four, Version::V4, 2), (six, Version::V6, 1)] {
            let frame = Frame::parse(&tcp(tags, headers, (1, 2), &[0; 10])).unwrap();
            let ip = frame.ip.unwrap();
            assert_eq!((frame.source, frame.destination), (Mac(A), Mac(B)));
            assert_eq!((frame.vlan, ip.version), (vlan, version));
            assert_eq!((ip.dscp(), ip.ecn()), (46, ecn));
            assert_eq!(ip.offset, 14 + 4 * tags as usize);
        }
    }
}

#[test]
fn what_is_no_ip_is_a_frame_all_the_same() {
    assert_eq!(Frame::parse(&[0; 13]), Err(Truncated));
    assert_eq!(Frame::parse(&[0; 14]).unwrap().ip, None);
    let arp = [&[0xff; 6][..], &A, &[0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1], &[0; 20]].concat();
    let frame = Frame::parse(&arp).unwrap();
    assert_eq!((frame.destination, frame.ip), (Mac::BROADCAST, None));
}

#[test]
fn headers_that_contradict_themselves_are_not_touched() {
    let good = tcp4(10, 2);
    assert!(Frame::parse(&good).unwrap().ip.is_some());
    let spoil = |at: usize, byte: u8| {
        let mut frame = good.clone();
        frame[at] = byte;
        Frame::parse(&frame).unwrap().ip
    };
    assert_eq!(spoil(14, 0x44), None, "a header of 16 bytes");
    assert_eq!(spoil(14, 0x4f), None, "a header of 60 bytes, longer than its packet claims");
    assert_eq!(spoil(14, 0x65), None, "IPv6 under IPv4's type");
    assert_eq!(spoil(12, 0x86), None, "another type");
    assert_eq!(spoil(16, 0xff), None, "a total length beyond the frame");
    assert_eq!(spoil(17, 19), None, "a total length below the header");
    let cut = good[..14 + 19].to_vec();
    assert_eq!(Frame::parse(&cut).unwrap().ip, None, "a header cut short");
    let mut six = raw6(UDP, &[0; 8]);
    assert!(Frame::parse(&six).unwrap().ip.is_some());
    six[18] = 0xff;
    assert_eq!(Frame::parse(&six).unwrap().ip, None, "a payload length beyond the frame");
}

#[test]
fn a_rewrite_behind_macsec_would_break_it() {
    let inner = tcp4(0, 2);
    let mut frame = inner[..12].to_vec();
    // SecTAG: unencrypted, unmodified, short length 0, packet number 1, no SCI.
    frame.extend_from_slice(&[0x88, 0xe5, 0x00, 0x00, 0, 0, 0, 1]);
    frame.extend_from_slice(&inner[12..]);
    frame.extend_from_slice(&[0; 16]);
    assert_eq!(Frame::parse(&frame).unwrap().ip, None);
}

#[test]
fn a_flow_is_its_addresses_protocol_and_ports() {
    let flow = |ports| {
        let headers = IpHeaders::Ipv4(v4(0, 2, 1, 64), Ipv4Extensions::default());
        Frame::parse(&tcp(0, headers, ports, &[1; 9])).unwrap().flow
    };
    assert_eq!(flow((1000, 80)), flow((1000, 80)));
    assert_ne!(flow((1000, 80)), flow((1001, 80)));
    assert_ne!(flow((1000, 80)), flow((80, 1000)));
    let reclassed = Frame::parse(&tcp4(3, 0)).unwrap().flow;
    assert_eq!(reclassed, flow((1000, 80)), "a mark or class makes no other flow");
}

#[test]
fn all_fragments_of_a_datagram_are_one_flow() {
    let fragment = |offset: u16, more: bool, payload: u8| {
        let mut header = v4(0, 2, 77, 64);
        header.fragment_offset = IpFragOffset::try_new(offset).unwrap();
        header.more_fragments = more;
        let headers = IpHeaders::Ipv4(header, Ipv4Extensions::default());
        Frame::parse(&tcp(0, headers, (payload.into(), 80), &[payload; 24])).unwrap()
    };
    let (first, last) = (fragment(0, true, 1), fragment(3, false, 2));
    assert_eq!(first.flow, last.flow);
    assert!(first.ip.is_some() && last.ip.is_some(), "each carries its own ECN field");

    let fragment6 = |offset, more, port: u8| {
        let offset = IpFragOffset::try_new(offset).unwrap();
        let mut behind = Vec::new();
        Ipv6FragmentHeader::new(UDP, offset, more, 9).write(&mut behind).unwrap();
        behind.extend_from_slice(&[0, port, 0, 53, 0, 8, 0, 0]);
        Frame::parse(&raw6(etherparse::ip_number::IPV6_FRAG, &behind)).unwrap()
    };
    assert_eq!(fragment6(0, true, 1).flow, fragment6(1, false, 2).flow);
    assert!(fragment6(1, false, 2).ip.is_some());
}

#[test]
fn ports_are_found_behind_extension_headers() {
    let behind = |extension: bool, port: u8| {
        let mut behind = Vec::new();
        if extension {
            Ipv6RawExtHeader::new_raw(UDP, &[1, 4, 0, 0, 0, 0])
                .unwrap()
                .write(&mut behind)
                .unwrap();
        }
        behind.extend_from_slice(&[0, port, 0, 53, 0, 8, 0, 0]);
        let first = if extension { IPV6_DEST_OPTIONS } else { UDP };
        Frame::parse(&raw6(first, &behind)).unwrap().flow
    };
    assert_eq!(behind(true, 1), behind(false, 1));
    assert_ne!(behind(true, 1), behind(true, 2));
}

proptest! {
    /// The updated checksum is the one that a full computation gives, and nothing but the ECN
    /// field and the checksum changes; Not-ECT stays as it is.
    #[test]
    fn a_mark_on_ipv4(
        dscp in 0u8..64, ecn in 0u8..4, id: u16, ttl: u8, tags in 0u16..3,
        options in 0usize..11, payload in 0usize..100,
    ) {
        let mut header = v4(dscp, ecn, id, ttl);
        header.options = vec![1u8; 4 * options].as_slice().try_into().unwrap();
        let headers = IpHeaders::Ipv4(header, Ipv4Extensions::default());
        let before = tcp(tags, headers, (1, 2), &vec![3; payload]);
        let ip = Frame::parse(&before).unwrap().ip.unwrap();
        let mut after = before.clone();
        prop_assert_eq!(set_ce(&mut after, &ip), ecn != 0);
        let header = &after[ip.offset..ip.offset + 20 + 4 * options];
        let sum = u16::from_be_bytes([header[10], header[11]]);
        prop_assert_eq!(sum, recomputed(header));
        let read = Frame::parse(&after).unwrap().ip.unwrap();
        prop_assert_eq!((read.dscp(), read.ecn()), (dscp, if ecn == 0 { 0 } else { 3 }));
        let fields = [ip.offset + 1, ip.offset + 10, ip.offset + 11];
        for i in (0..before.len()).filter(|i| !fields.contains(i)) {
            prop_assert_eq!(before[i], after[i]);
        }
    }

    /// A wrong checksum is not made right.
    #[test]
    fn a_wrong_checksum_stays_wrong(ecn in 1u8..3, error in 1u16..0xffff) {
        let mut frame = tcp4(0, ecn);
        let ip = Frame::parse(&frame).unwrap().ip.unwrap();
        frame[ip.offset + 10] ^= (error >> 8) as u8;
        frame[ip.offset + 11] ^= error as u8;
        prop_assert!(set_ce(&mut frame, &ip));
        let header = &frame[ip.offset..ip.offset + 20];
        prop_assert_ne!(u16::from_be_bytes([header[10], header[11]]), recomputed(header));
    }

    #[test]
    fn a_mark_on_ipv6(class: u8, tags in 0u16..3) {
        let headers = IpHeaders::Ipv6(v6(class), Ipv6Extensions::default());
        let before = tcp(tags, headers, (1, 2), &[3; 9]);
        let ip = Frame::parse(&before).unwrap().ip.unwrap();
        let mut after = before.clone();
        prop_assert_eq!(set_ce(&mut after, &ip), class & 3 != 0);
        let expected = if class & 3 == 0 { class } else { class | 3 };
        prop_assert_eq!(Frame::parse(&after).unwrap().ip.unwrap().traffic_class, expected);
        let changed = before.iter().zip(&after).filter(|(a, b)| a != b).count();
        prop_assert!(changed <= 1);
    }

    /// Whatever the bytes, nothing panics, and what was no IP or Not-ECT is not changed.
    #[test]
    fn any_bytes_at_all(mut bytes in prop::collection::vec(any::<u8>(), 0..120), kind in 0usize..6) {
        let types: [&[u8]; 6] =
            [&[], &[8, 0], &[0x86, 0xdd], &[0x81, 0, 0, 1, 8, 0], &[0x88, 0xa8, 0, 1], &[8, 6]];
        if let Some(place) = bytes.get_mut(12..12 + types[kind].len()) {
            place.copy_from_slice(types[kind]);
        }
        check(&bytes);
    }

    /// The same of good frames with a byte or two spoilt and an end cut off.
    #[test]
    fn spoilt_frames(at: prop::sample::Index, byte: u8, cut: prop::sample::Index, six: bool) {
        let headers = match six {
            true => IpHeaders::Ipv6(v6(2), Ipv6Extensions::default()),
            false => IpHeaders::Ipv4(v4(0, 2, 1, 64), Ipv4Extensions::default()),
        };
        let mut frame = tcp(1, headers, (1, 2), &[0; 20]);
        *at.get_mut(&mut frame) = byte;
        check(&frame);
        frame.truncate(cut.index(frame.len()));
        check(&frame);
    }
}

/// What holds of any bytes.
fn check(bytes: &[u8]) {
    let Ok(frame) = Frame::parse(bytes) else {
        assert!(bytes.len() < 14);
        return;
    };
    let Some(ip) = frame.ip else { return };
    let mut marked = bytes.to_vec();
    let set = set_ce(&mut marked, &ip);
    assert_eq!(set, ip.ecn() != 0);
    let again = Frame::parse(&marked).unwrap();
    assert_eq!(again.flow, frame.flow);
    assert_eq!(again.ip.unwrap().dscp(), ip.dscp());
    assert_eq!(again.ip.unwrap().ecn(), if set { 3 } else { 0 });
}

/// A switch's message about a frame, and the frame itself, tell its source the same.
#[test]
fn a_message_and_its_frame_name_the_same_flow() {
    use switchbed_wire::cnm;
    let message = cnm::Notification { quantized: 9, point: 0, offset_bytes: 0, delta_bytes: 0 };
    let four = |ports| {
        let headers = IpHeaders::Ipv4(v4(12, 2, 9, 64), Ipv4Extensions::default());
        tcp(0, headers, ports, &[0; 1400])
    };
    let six = |tags, ports| {
        let headers = IpHeaders::Ipv6(v6(12 << 2), Ipv6Extensions::default());
        tcp(tags, headers, ports, &[0; 1400])
    };
    let mut fragment = v4(12, 2, 9, 64);
    fragment.more_fragments = true;
    let fragment = IpHeaders::Ipv4(fragment, Ipv4Extensions::default());
    let fragment = tcp(0, fragment, (1, 2), &[0; 1400]);
    let frames = [four((1, 2)), four((1, 3)), six(0, (1, 2)), six(1, (1, 3)), fragment];
    let mut flows = std::collections::BTreeSet::new();
    for frame in &frames {
        let notice = cnm::build(Mac([2; 6]), &message, frame).unwrap();
        let told = cnm::sampled(&notice).unwrap();
        assert_eq!(Some(told), cnm::as_sampled(frame));
        assert_eq!((told.source, told.destination), (Mac(A), Mac(B)));
        assert_eq!(told.ip.unwrap().dscp(), 12);
        assert!(flows.insert(told.flow), "flows differ");
    }
    // One tag is told apart from the frame, two are not.
    assert_eq!(
        cnm::as_sampled(&six(0, (1, 3))).unwrap().flow,
        cnm::as_sampled(&frames[3]).unwrap().flow
    );
    // A fragment without ports is told of as the first one is, which has them.
    let mut later = v4(12, 2, 9, 64);
    later.fragment_offset = IpFragOffset::try_new(100).unwrap();
    let later = tcp(0, IpHeaders::Ipv4(later, Ipv4Extensions::default()), (7, 8), &[0; 100]);
    assert_eq!(cnm::as_sampled(&later).unwrap().flow, cnm::as_sampled(&frames[4]).unwrap().flow);
    assert_eq!(cnm::as_sampled(&[0; 13]), None);
    assert_eq!(cnm::sampled(&frames[0]), None);
}

/// A UDP datagram with so many payload bytes in IPv4 or IPv6, behind so many tags.
fn udp(tags: u16, headers: IpHeaders, payload: &[u8]) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2(A, B);
    let mut frame = Vec::new();
    let builder = match tags {
        0 => builder.ip(headers),
        _ => builder.single_vlan(VlanId::try_new(7).unwrap()).ip(headers),
    };
    builder.udp(1000, 4793).write(&mut frame, payload).unwrap();
    frame
}

/// Whether all lengths and checksums of a frame fit, computed anew by etherparse.
fn is_right(frame: &[u8]) -> bool {
    let sliced = etherparse::SlicedPacket::from_ethernet(frame).expect("lengths fit");
    let four = |bytes: &[u8]| bytes.try_into().unwrap();
    let (net, transport) = (sliced.net.as_ref().unwrap(), sliced.transport.as_ref().unwrap());
    match (net, transport) {
        (etherparse::NetSlice::Ipv4(ip), transport) => {
            let header = ip.header().to_header();
            let (from, to) = (four(&header.source), four(&header.destination));
            let sum = match transport {
                etherparse::TransportSlice::Udp(udp) => (
                    udp.to_header().calc_checksum_ipv4_raw(from, to, udp.payload()).unwrap(),
                    udp.checksum(),
                ),
                etherparse::TransportSlice::Tcp(tcp) => (
                    tcp.to_header().calc_checksum_ipv4_raw(from, to, tcp.payload()).unwrap(),
                    tcp.checksum(),
                ),
                _ => return false,
            };
            header.calc_header_checksum() == header.header_checksum && sum.0 == sum.1
        }
        (etherparse::NetSlice::Ipv6(ip), transport) => {
            let header = ip.header().to_header();
            let (from, to) = (header.source, header.destination);
            match transport {
                etherparse::TransportSlice::Udp(udp) => {
                    let sum = udp.to_header().calc_checksum_ipv6_raw(from, to, udp.payload());
                    sum.unwrap() == udp.checksum()
                }
                etherparse::TransportSlice::Tcp(tcp) => {
                    let sum = tcp.to_header().calc_checksum_ipv6_raw(from, to, tcp.payload());
                    sum.unwrap() == tcp.checksum()
                }
                _ => false,
            }
        }
        _ => false,
    }
}

proptest! {
    #[test]
    fn a_trimmed_frame_is_a_right_one(
        six: bool, tags in 0u16..2, of_udp: bool, ecn in 0u8..4,
        payload in prop::collection::vec(any::<u8>(), 0..1_400), len in 64usize..1_600, dscp in 0u8..64
    ) {
        let headers = |protocol| match six {
            true => {
                let header = Ipv6Header { next_header: protocol, ..v6(ecn) };
                IpHeaders::Ipv6(header, Ipv6Extensions::default())
            }
            false => {
                let header = Ipv4Header { protocol, ..v4(3, ecn, 1, 64) };
                IpHeaders::Ipv4(header, Ipv4Extensions::default())
            }
        };
        let whole = match of_udp {
            true => udp(tags, headers(UDP), &payload),
            false => tcp(tags, headers(TCP), (1, 2), &payload),
        };
        let parsed = Frame::parse(&whole).unwrap();
        let ip = parsed.ip.unwrap();
        let least = switchbed_wire::trim::least(&whole, Some(&ip)).expect("may be cut");
        let mut cut = whole.clone();
        let len = len.min(whole.len());
        let done = switchbed_wire::trim(&mut cut, &ip, len, dscp);
        prop_assert_eq!(done, len >= least);
        if !done {
            prop_assert_eq!(cut, whole);
            return Ok(());
        }
        prop_assert_eq!(cut.len(), len);
        prop_assert!(is_right(&cut), "{:?}", cut);
        let again = Frame::parse(&cut).unwrap();
        prop_assert_eq!((again.flow, again.source), (parsed.flow, parsed.source));
        let ip = again.ip.unwrap();
        prop_assert_eq!((ip.dscp(), ip.ecn()), (dscp, ecn));
        // A checksum that was wrong stays wrong.
        let mut spoilt = whole.clone();
        spoilt[least - 1] ^= 1;
        switchbed_wire::trim(&mut spoilt, &ip, len, dscp);
        prop_assert!(!is_right(&spoilt) || spoilt == cut);
    }

    #[test]
    fn trimming_of_noise_never_panics_and_keeps_what_it_refuses(
        mut bytes in prop::collection::vec(any::<u8>(), 0..200), offset in 0usize..220, six: bool,
        len in 0usize..220, total in 0u8..200, protocol in prop::option::of(0usize..2)
    ) {
        let version = if six { Version::V6 } else { Version::V4 };
        // A length and a protocol that could be true, whatever the header that says how long it is.
        let (length, next) = if six { (4, 6) } else { (2, 9) };
        if let Some(protocol) = protocol
            && let Some(header) = bytes.get_mut(offset..).filter(|header| header.len() > 20)
        {
            header[length..length + 2].copy_from_slice(&u16::from(total).to_be_bytes());
            header[next] = [6, 17][protocol];
            (header[6], header[7]) = if six { (header[6], 0) } else { (0, 0) };
        }
        if let Some(first) = bytes.first_mut() {
            *first &= 0xfe;
        }
        let ip = switchbed_wire::Ip { version, offset, traffic_class: 0 };
        // A port cuts what may be cut, as told before: it must not find out later that it may not.
        let least = switchbed_wire::trim::least(&bytes, Some(&ip));
        let mut frame = bytes.clone();
        let done = switchbed_wire::trim(&mut frame, &ip, len, 1);
        prop_assert_eq!(done, least.is_some_and(|least| least <= len));
        if !done {
            prop_assert_eq!(frame, bytes);
        }
    }

    #[test]
    fn a_header_longer_than_its_packet_stays_whole(offset in 6u8..16, length in 40usize..90) {
        // TCP's header claims up to 60 bytes of a packet that has fewer.
        let mut frame = tcp4(0, 2);
        frame.resize(14 + length, 0);
        frame[16..18].copy_from_slice(&(length as u16).to_be_bytes());
        frame[46] = offset << 4;
        let ip = Frame::parse(&frame).unwrap().ip;
        let fits = 20 + 4 * usize::from(offset) <= length;
        prop_assert_eq!(switchbed_wire::trim::least(&frame, ip.as_ref()).is_some(), fits);
    }
}

#[test]
fn fragments_groups_and_extensions_stay_whole() {
    let ip = |frame: &[u8]| Frame::parse(frame).unwrap().ip;
    let least = |frame: &[u8]| switchbed_wire::trim::least(frame, ip(frame).as_ref());
    let mut header = v4(0, 2, 1, 64);
    header.more_fragments = true;
    let fragment = tcp(0, IpHeaders::Ipv4(header, Ipv4Extensions::default()), (1, 2), &[0; 64]);
    assert_eq!(least(&fragment), None);
    assert_eq!(least(&raw6(IPV6_DEST_OPTIONS, &[6, 0, 1, 4, 0, 0, 0, 0, 1, 2, 3, 4])), None);
    let mut group = tcp4(0, 2);
    group[0] |= 1;
    assert_eq!((least(&group), least(&tcp4(0, 2))), (None, Some(54)));
}
