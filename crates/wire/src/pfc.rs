//! Priority-based flow control frames (IEEE 802.1Qbb; IEEE 802.3, annex 31D): for how long a peer is to send
//! nothing of each priority.

use crate::frame::Mac;

/// The type of MAC control frames.
pub const ETHER_TYPE: u16 = 0x8808;
/// The opcode of this one.
pub const OPCODE: u16 = 0x0101;
/// Address that no bridge forwards to, which all of these frames go to.
pub const ADDRESS: Mac = Mac([0x01, 0x80, 0xc2, 0x00, 0x00, 0x01]);
/// Length of a frame, padded and without its check sequence.
pub const LENGTH: usize = 60;
/// Beginning of the fields behind Ethernet's header and the opcode.
const FIELDS: usize = 16;

/// Quanta of 512 bit times by priority; `None`: the frame says nothing of the priority. Zero ends a pause.
pub type Quanta = [Option<u16>; 8];

/// Builds the frame.
pub fn build(from: Mac, quanta: &Quanta) -> [u8; LENGTH] {
    let mut frame = [0; LENGTH];
    frame[..6].copy_from_slice(&ADDRESS.0);
    frame[6..12].copy_from_slice(&from.0);
    frame[12..14].copy_from_slice(&ETHER_TYPE.to_be_bytes());
    frame[14..16].copy_from_slice(&OPCODE.to_be_bytes());
    for (priority, quanta) in quanta.iter().enumerate() {
        if let Some(quanta) = quanta {
            // The upper byte of the vector is reserved and zero.
            frame[FIELDS + 1] |= 1 << priority;
            let at = FIELDS + 2 + 2 * priority;
            frame[at..at + 2].copy_from_slice(&quanta.to_be_bytes());
        }
    }
    frame
}

/// Whether a frame is one, sound or not.
pub fn is_one(frame: &[u8]) -> bool {
    frame.get(..6) == Some(&ADDRESS.0)
        && frame.get(12..14) == Some(&ETHER_TYPE.to_be_bytes())
        && frame.get(14..16) == Some(&OPCODE.to_be_bytes())
}

/// Reads the frame; `None` for another one, or one that is cut short. Reserved bits are not looked at, nor
/// are the times of priorities that are not enabled, as the standard has it.
pub fn parse(frame: &[u8]) -> Option<Quanta> {
    if !is_one(frame) {
        return None;
    }
    let fields: &[u8; 18] = frame.get(FIELDS..)?.first_chunk()?;
    let [_, enabled, times @ ..] = fields;
    let mut quanta = [None; 8];
    for (priority, time) in times.as_chunks().0.iter().enumerate() {
        if enabled >> priority & 1 == 1 {
            quanta[priority] = Some(u16::from_be_bytes(*time));
        }
    }
    Some(quanta)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OURS: Mac = Mac([0x02, 0x5b, 0xff, 0xff, 0xff, 0xff]);

    #[test]
    fn bytes_by_hand() {
        // Priority 3 for 65,535 quanta, priority 6 for none. Enabled: bits 3 and 6, 0x48.
        let mut quanta = [None; 8];
        (quanta[3], quanta[6]) = (Some(65_535), Some(0));
        let expected = [
            &[0x01, 0x80, 0xc2, 0x00, 0x00, 0x01][..],
            &[0x02, 0x5b, 0xff, 0xff, 0xff, 0xff],
            &[0x88, 0x08, 0x01, 0x01],
            &[0x00, 0x48],
            // Times of priorities 0 to 7.
            &[0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0],
            // 34 bytes so far; the rest fills up to 60.
            &[0; 26],
        ];
        assert_eq!(build(OURS, &quanta)[..], expected.concat());
        assert_eq!(parse(&expected.concat()), Some(quanta));
    }

    #[test]
    fn reserved_bits_and_times_of_others_are_not_looked_at() {
        let mut frame = build(OURS, &[None; 8]);
        frame[16] = 0xff;
        frame[18..34].fill(0xaa);
        assert_eq!(parse(&frame), Some([None; 8]));
        frame[17] = 0x80;
        let mut last = [None; 8];
        last[7] = Some(0xaaaa);
        assert_eq!(parse(&frame), Some(last));
    }

    #[test]
    fn what_is_cut_short_or_another_frame_is_none() {
        let frame = build(OURS, &[Some(1); 8]);
        for length in 0..34 {
            assert_eq!(parse(&frame[..length]), None, "{length}");
        }
        assert!(parse(&frame[..34]).is_some());
        for at in (0..6).chain(12..16) {
            let mut other = frame;
            other[at] ^= 1;
            // 0x0001 is the pause of all priorities (annex 31B).
            assert_eq!((is_one(&other), parse(&other)), (false, None), "{at}");
        }
    }

    proptest! {
        #[test]
        fn a_frame_reads_back(quanta: [Option<u16>; 8], from: [u8; 6]) {
            let frame = build(Mac(from), &quanta);
            prop_assert_eq!(parse(&frame), Some(quanta));
            prop_assert_eq!(&frame[6..12], &from);
        }

        #[test]
        fn any_bytes_are_read_or_refused(
            mut bytes in prop::collection::vec(any::<u8>(), 0..80),
            ours: bool,
        ) {
            if ours && bytes.len() >= 16 {
                bytes[..16].copy_from_slice(&build(OURS, &[None; 8])[..16]);
            }
            let read = parse(&bytes);
            prop_assert_eq!(read.is_some(), is_one(&bytes) && bytes.len() >= 34);
            if let Some(quanta) = read {
                // Of what was read the same frame is built, reserved and padded bytes aside.
                prop_assert_eq!(parse(&build(OURS, &quanta)), Some(quanta));
            }
        }
    }
}
