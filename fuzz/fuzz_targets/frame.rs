//! Any bytes as a frame: nothing panics, Not-ECT is never marked, and a mark changes the ECN
//! field and the checksum alone. What a congestion message tells of it is what its source finds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use switchbed_wire::{Frame, Mac, cnm, set_ce};

fuzz_target!(|bytes: &[u8]| {
    told(bytes);
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
        assert_eq!(cnm::sampled(&notice), cnm::as_told(bytes));
    }
}
