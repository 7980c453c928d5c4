//! The messages of a queue pair as a stream: which packet begins where, and what its number is. No packet
//! holds parts of two messages, so a message is always cut at the same places.

use std::collections::VecDeque;

/// Messages that are not acknowledged whole, the oldest first.
#[derive(Clone, Debug, Default)]
pub(in crate::transport) struct Messages {
    messages: VecDeque<Message>,
    /// Where the stream ends, and the number that the next packet behind it gets.
    end: u64,
    psn: u32,
}

#[derive(Clone, Copy, Debug)]
struct Message {
    from: u64,
    until: u64,
    /// The number of its first packet.
    psn: u32,
}

/// A packet of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport) struct Cut {
    pub(in crate::transport) len: u32,
    pub(in crate::transport) psn: u32,
    /// Whether a message begins with it, or ends.
    pub(in crate::transport) first: bool,
    pub(in crate::transport) last: bool,
}

impl Messages {
    /// The stream grows by a message of so many bytes.
    pub(in crate::transport) fn write(&mut self, bytes: u64, mtu: u32) {
        let (from, psn) = (self.end, self.psn);
        self.end += bytes;
        self.psn = psn.wrapping_add(bytes.div_ceil(mtu.into()) as u32);
        if self.messages.capacity() == 0 {
            // Most pairs have one at a time.
            self.messages.reserve_exact(1);
        }
        self.messages.push_back(Message { from, until: self.end, psn });
    }

    /// Where it ends.
    #[inline]
    pub(in crate::transport) fn end(&self) -> u64 {
        self.end
    }

    /// Takes back what is behind the end of a packet.
    pub(in crate::transport) fn truncate(&mut self, end: u64, mtu: u32) {
        while let Some(last) = self.messages.back_mut().filter(|last| last.until > end) {
            last.until = end.max(last.from);
            self.psn = last.psn.wrapping_add((last.until - last.from).div_ceil(mtu.into()) as u32);
            if last.from < last.until {
                break;
            }
            self.messages.pop_back();
        }
        self.end = self.end.min(end);
    }

    /// Forgets everything below an acknowledged offset.
    pub(in crate::transport) fn acked(&mut self, offset: u64) {
        while self.messages.front().is_some_and(|first| first.until <= offset) {
            self.messages.pop_front();
        }
    }

    /// The packet that begins at an offset which is not acknowledged.
    #[inline]
    pub(in crate::transport) fn cut(&self, offset: u64, mtu: u32) -> Option<Cut> {
        // Nearly always it is the oldest message, which needs no search.
        let first = self.messages.front().filter(|first| offset < first.until);
        let message = first.or_else(|| {
            let nth = self.messages.partition_point(|message| message.until <= offset);
            self.messages.get(nth)
        })?;
        let left = message.until - offset;
        let len = u64::from(mtu).min(left) as u32;
        let psn = message.psn.wrapping_add(((offset - message.from) / u64::from(mtu)) as u32);
        Some(Cut { len, psn, first: offset == message.from, last: u64::from(len) == left })
    }

    /// Where the packet of this number begins, and where it ends; none of messages that are forgotten or to come.
    pub(in crate::transport) fn numbered(&self, psn: u32, mtu: u32) -> Option<(u64, u64)> {
        // Numbers wrap, so they count from the oldest.
        let oldest = self.messages.front()?.psn;
        let place = |psn: u32| psn.wrapping_sub(oldest);
        let after = self.messages.partition_point(|message| place(message.psn) <= place(psn));
        let message = self.messages.get(after.checked_sub(1)?)?;
        let from = message.from + u64::from(psn.wrapping_sub(message.psn)) * u64::from(mtu);
        (from < message.until).then(|| (from, (from + u64::from(mtu)).min(message.until)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MTU: u32 = 1_000;

    #[test]
    fn no_packet_holds_parts_of_two_messages() {
        let mut messages = Messages::default();
        for bytes in [2_500, 10, 1_000] {
            messages.write(bytes, MTU);
        }
        let cuts = [0, 1_000, 2_000, 2_500, 2_510].map(|at| messages.cut(at, MTU).unwrap());
        let of = |len, psn, first, last| Cut { len, psn, first, last };
        let expected = [
            of(1_000, 0, true, false),
            of(1_000, 1, false, false),
            of(500, 2, false, true),
            of(10, 3, true, true),
            of(1_000, 4, true, true),
        ];
        assert_eq!(cuts, expected);
        assert_eq!(messages.cut(3_510, MTU), None);
        // Acknowledged messages are forgotten, and the rest cut as before.
        messages.acked(2_500);
        assert_eq!(messages.cut(2_500, MTU), Some(of(10, 3, true, true)));
    }

    #[test]
    fn packets_are_found_by_their_numbers() {
        // Numbers wrap within the first message.
        let mut messages = Messages { psn: u32::MAX - 1, ..Messages::default() };
        for bytes in [2_500, 10, 1_000] {
            messages.write(bytes, MTU);
        }
        let places = [(0, 1_000), (1_000, 2_000), (2_000, 2_500), (2_500, 2_510), (2_510, 3_510)];
        for (nth, place) in (0..).zip(places) {
            let psn = (u32::MAX - 1).wrapping_add(nth);
            assert_eq!(messages.numbered(psn, MTU), Some(place));
        }
        assert_eq!(messages.numbered(3, MTU), None);
        messages.acked(2_500);
        assert_eq!(messages.numbered(0, MTU), None);
        assert_eq!(messages.numbered(1, MTU), Some((2_500, 2_510)));
    }

    #[test]
    fn what_is_taken_back_is_not_cut() {
        let mut messages = Messages::default();
        messages.write(2_500, MTU);
        messages.write(5_000, MTU);
        messages.truncate(2_000, MTU);
        assert_eq!((messages.end(), messages.cut(2_000, MTU)), (2_000, None));
        messages.write(10, MTU);
        assert_eq!(
            messages.cut(2_000, MTU),
            Some(Cut { len: 10, psn: 2, first: true, last: true })
        );
    }
}
