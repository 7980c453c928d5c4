//! The CE mark on a frame: RFC 3168, section 5, with IPv4's header checksum updated by
//! RFC 1624, equation 3. IPv6 has no checksum over its header.

use crate::frame::{Ip, Version};

/// Sets CE on the frame whose IP header is where `ip` says, if the packet is ECN-capable;
/// answers whether it carries CE now. Not-ECT is never touched.
///
/// The checksum is updated, not computed: one that was wrong stays wrong.
pub fn set_ce(frame: &mut [u8], ip: &Ip) -> bool {
    let header = frame.get_mut(ip.offset..).unwrap_or_default();
    match ip.version {
        Version::V4 => v4(header),
        Version::V6 => v6(header),
    }
}

fn v4(header: &mut [u8]) -> bool {
    let Some(header) = header.first_chunk_mut::<20>() else { return false };
    match header[1] & 0b11 {
        0b00 => return false,
        0b11 => return true,
        _ => {}
    }
    // Checksums are of 16-bit words: the TOS byte shares its word with version and header length.
    let old = u16::from_be_bytes([header[0], header[1]]);
    header[1] |= 0b11;
    let new = u16::from_be_bytes([header[0], header[1]]);
    let sum = u16::from_be_bytes([header[10], header[11]]);
    [header[10], header[11]] = updated(sum, old, new).to_be_bytes();
    true
}

fn v6(header: &mut [u8]) -> bool {
    let Some(header) = header.first_chunk_mut::<40>() else { return false };
    // IPv6's traffic class lies across bytes 0 and 1, with ECN in bits 4 and 5 of byte 1.
    match header[1] >> 4 & 0b11 {
        0b00 => return false,
        0b11 => return true,
        _ => {}
    }
    header[1] |= 0b11 << 4;
    true
}

/// The checksum after a 16-bit word that it covers has changed: HC' = ~(~HC + ~m + m')
/// (RFC 1624, equation 3).
fn updated(sum: u16, old: u16, new: u16) -> u16 {
    let total = u32::from(!sum) + u32::from(!old) + u32::from(new);
    let folded = (total & 0xffff) + (total >> 16);
    // Adding the carry may carry once more.
    let folded = (folded & 0xffff) + (folded >> 16);
    !(folded as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_1624_comes_out() {
        // Section 4: HC = 0xdd2f, m = 0x5555, m' = 0x3285 gives 0x0000, where RFC 1141's
        // formula gives 0xffff.
        assert_eq!(updated(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    #[test]
    fn a_header_that_is_not_there_is_not_touched() {
        for version in [Version::V4, Version::V6] {
            for offset in [0, 3, 4, usize::MAX] {
                let ip = Ip { version, offset, traffic_class: 0b10 };
                let mut frame = [0xfe; 12];
                assert!(!set_ce(&mut frame, &ip));
                assert_eq!(frame, [0xfe; 12]);
            }
        }
    }
}
