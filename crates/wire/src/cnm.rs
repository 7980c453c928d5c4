//! Congestion notification messages of 802.1Qau (IEEE 802.1Q, clause 33.4): what a switch's
//! queue tells the source of a frame that it sampled.

use crate::frame::{Frame, Mac};

/// The type of a frame that carries one.
pub const ETHER_TYPE: u16 = 0x22e7;
/// Bytes before the part of the sampled frame that it carries.
const HEAD: usize = 24;
/// Where in the frame the sampled one's destination is.
const AT_DESTINATION: usize = 14 + 16;
/// Most bytes of the sampled frame, behind its addresses and tag.
const SAMPLE: usize = 64;
/// Unit of queue lengths in the message, in bytes.
const UNIT: i32 = 64;
/// A frame shorter than this, without its check sequence, is padded.
const SHORTEST: usize = 60;

/// Congestion notification message (IEEE 802.1Qau).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notification {
    /// The quantized feedback, 0 to 63.
    pub quantized: u8,
    /// Identifier of the congestion point.
    pub point: u64,
    /// The queue's length less its set point, in bytes; sent in units of 64.
    pub offset_bytes: i32,
    /// Growth since the sample before, in units of the offset.
    pub delta_bytes: i32,
}

/// The frame that tells the source of `sampled` (a whole frame with an Ethernet header) of it,
/// sent by the station `from`; `None` if `sampled` is no frame or came from a group.
pub fn build(from: Mac, message: &Notification, sampled: &[u8]) -> Option<Vec<u8>> {
    let (addresses, priority, data) = split(sampled)?;
    let (to, source) = addresses.split_at(6);
    if source[0] & 1 == 1 {
        return None;
    }
    let unit = |bytes: i32| (bytes / UNIT).clamp(i16::MIN.into(), i16::MAX.into()) as i16;
    let mut frame = Vec::with_capacity(14 + HEAD + SAMPLE);
    frame.extend_from_slice(source);
    frame.extend_from_slice(&from.0);
    frame.extend_from_slice(&ETHER_TYPE.to_be_bytes());
    // Version 0, six reserved bits, the feedback.
    frame.extend_from_slice(&u16::from(message.quantized & 63).to_be_bytes());
    frame.extend_from_slice(&message.point.to_be_bytes());
    frame.extend_from_slice(&unit(message.offset_bytes).to_be_bytes());
    frame.extend_from_slice(&unit(message.delta_bytes).to_be_bytes());
    // Encapsulated priority: the word's highest 3 bits.
    frame.extend_from_slice(&(u16::from(priority) << 13).to_be_bytes());
    frame.extend_from_slice(to);
    frame.extend_from_slice(&(data.len() as u16).to_be_bytes());
    frame.extend_from_slice(data);
    frame.resize(frame.len().max(SHORTEST), 0);
    Some(frame)
}

/// Splits a frame into its addresses, its tag's priority, and the rest behind both.
fn split(frame: &[u8]) -> Option<(&[u8; 12], u8, &[u8])> {
    let (addresses, behind) = frame.split_first_chunk::<12>()?;
    let (priority, data) = match behind {
        [0x81, 0x00, high, _, data @ ..] => (high >> 5, data),
        data => (0, data),
    };
    (behind.len() >= 2).then(|| (addresses, priority, &data[..data.len().min(SAMPLE)]))
}

/// A frame as a message about it tells of it.
pub fn as_sampled(frame: &[u8]) -> Option<Frame> {
    let (addresses, _, data) = split(frame)?;
    head(addresses, data)
}

/// The frame that a message (a whole frame) is about: what [`as_sampled`] says of it.
pub fn sampled(message: &[u8]) -> Option<Frame> {
    let (_, data) = parse(message)?;
    let (source, to) = (&message[..6], &message[AT_DESTINATION..AT_DESTINATION + 6]);
    head(&[to, source].concat(), data)
}

fn head(addresses: &[u8], data: &[u8]) -> Option<Frame> {
    let mut bytes = [0; 12 + SAMPLE];
    let length = 12 + data.len().min(SAMPLE);
    bytes[..12].copy_from_slice(addresses);
    bytes[12..length].copy_from_slice(&data[..length - 12]);
    Frame::parse_head(&bytes[..length]).ok()
}

/// Whether a frame carries a message, sound or not.
pub fn is_one(frame: &[u8]) -> bool {
    frame.get(12..14) == Some(&ETHER_TYPE.to_be_bytes())
}

/// The message in a frame, and the beginning of the frame that was sampled, from its type on;
/// `None` for other frames and what is cut short.
pub fn parse(frame: &[u8]) -> Option<(Notification, &[u8])> {
    let body = frame.get(12..)?.strip_prefix(&ETHER_TYPE.to_be_bytes())?;
    let (head, rest) = body.split_first_chunk::<HEAD>()?;
    let word = |at: usize| [head[at], head[at + 1]];
    let first = u16::from_be_bytes(word(0));
    if first >> 12 != 0 {
        return None;
    }
    let mut point = [0; 8];
    point.copy_from_slice(&head[2..10]);
    let sampled = rest.get(..usize::from(u16::from_be_bytes(word(22))))?;
    let bytes = |at| i32::from(i16::from_be_bytes(word(at))) * UNIT;
    let message = Notification {
        quantized: (first & 63) as u8,
        point: u64::from_be_bytes(point),
        offset_bytes: bytes(10),
        delta_bytes: bytes(12),
    };
    Some((message, sampled))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWITCH: Mac = Mac([2, 0, 0, 0, 0, 9]);

    fn sampled(tag: &[u8]) -> Vec<u8> {
        [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2], tag, &[8, 0], &[7; 200]].concat()
    }

    #[test]
    fn a_message_reads_back() {
        let message =
            Notification { quantized: 63, point: 77, offset_bytes: -6400, delta_bytes: 640 };
        for tag in [&[][..], &[0x81, 0, 0xa0, 5]] {
            let frame = build(SWITCH, &message, &sampled(tag)).unwrap();
            assert_eq!(frame[..12], [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 9]);
            let (read, data) = parse(&frame).unwrap();
            assert_eq!((read, data.len()), (message, 64));
            assert_eq!(data[..3], [8, 0, 7]);
            // The priority, and to whom the sampled frame went.
            assert_eq!(frame[14 + 14] >> 5, if tag.is_empty() { 0 } else { 5 });
            assert_eq!(frame[14 + 16..14 + 22], [2, 0, 0, 0, 0, 1]);
        }
    }

    #[test]
    fn lengths_beyond_the_field_are_its_greatest() {
        let message =
            Notification { quantized: 1, point: 0, offset_bytes: i32::MAX, delta_bytes: i32::MIN };
        let frame = build(SWITCH, &message, &sampled(&[])).unwrap();
        let (read, _) = parse(&frame).unwrap();
        assert_eq!((read.offset_bytes, read.delta_bytes), (32767 * 64, -32768 * 64));
    }

    #[test]
    fn what_is_no_message_is_none() {
        let message = Notification { quantized: 1, point: 0, offset_bytes: 0, delta_bytes: 0 };
        let frame = build(SWITCH, &message, &sampled(&[])).unwrap();
        for length in 0..14 + HEAD + SAMPLE {
            assert_eq!(parse(&frame[..length]), None);
        }
        assert_eq!(parse(&sampled(&[])), None);
        assert_eq!(build(SWITCH, &message, &[2; 13]), None);
        assert_eq!(build(SWITCH, &message, &[1; 60]), None, "a group sends nothing");
        let short = build(SWITCH, &message, &[2; 20]).unwrap();
        assert_eq!((short.len(), parse(&short).unwrap().1), (60, &[2; 8][..]));
    }
}
