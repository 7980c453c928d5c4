//! Any bytes as a frame: nothing panics, Not-ECT is never marked, and a mark changes the ECN
//! field and the checksum alone. What a congestion message tells of it is what its source finds. With an offload
//! header before it, it is refused or split into packets, and those that are joined again split alike.
#![no_main]

use libfuzzer_sys::fuzz_target;
use switchbed_wire::offload::{Header, Joined, MOST_PACKETS, split};
use switchbed_wire::{Frame, Mac, cnm, set_ce};

fuzz_target!(|bytes: &[u8]| {
    told(bytes);
    parted(bytes);
    let Ok(frame) = Frame::parse(bytes) else { return };
    let Some(ip) = frame.ip else { return };
    let mut marked = bytes.to_vec();
    let set = set_ce(&mut marked, &ip);
    assert_eq!(set, ip.ecn() != 0);
    let again = Frame::parse(&marked).expect("as long as before");
    let mark = again.ip.expect("as whole as before");
    assert_eq!((again.flow, mark.dscp()), (frame.flow, ip.dscp()));
    assert_eq!(mark.ecn(), if set { 3 } else { 0 });
    let changed = bytes.iter().zip(&marked).enumerate().filter(|(_, (a, b))| a != b);
    assert!(changed.into_iter().all(|(i, _)| [1, 10, 11].contains(&(i - ip.offset))));
});

fn told(bytes: &[u8]) {
    let _ = cnm::sampled(bytes);
    let message = cnm::Notification { quantized: 1, point: 0, offset_bytes: 0, delta_bytes: 0 };
    if let Some(notice) = cnm::build(Mac([2; 6]), &message, bytes) {
        assert_eq!(cnm::sampled(&notice), cnm::as_sampled(bytes));
    }
}

fn parted(bytes: &[u8]) {
    let Some((header, frame)) = bytes.split_first_chunk() else { return };
    let Ok(mut packets) = split(Header::read(*header), frame) else { return };
    assert!(packets.left() <= MOST_PACKETS);
    let (mut joined, mut packet, mut all) = (Joined::default(), Vec::new(), Vec::new());
    while packets.next(frame, &mut packet) {
        if joined.packets() > 0 && joined.append(&packet) {
            all.push(packet.clone());
            continue;
        }
        check(&mut joined, &all);
        joined.begin(&packet);
        all = vec![packet.clone()];
    }
    check(&mut joined, &all);
}

/// Packets that were joined are what the frame is split into.
fn check(joined: &mut Joined, packets: &[Vec<u8>]) {
    if packets.is_empty() {
        return;
    }
    let header = joined.finish();
    let mut parts = split(header, joined.bytes()).expect("a header that fits");
    let mut part = Vec::new();
    for packet in packets {
        assert!(parts.next(joined.bytes(), &mut part));
        assert_eq!(part, *packet);
    }
    assert_eq!(parts.left(), 0);
}
