//! Lengths of all queues of a switch, as its policy knows them. A bit for each queue that is not empty keeps a look
//! at all of them short: of 64 ports with eight queues each, few hold packets.

use std::ops::Range;
use switchbed_units::Bytes;

/// Lengths of queues, by places that the policy gives them.
#[derive(Clone, Debug)]
pub(super) struct Lengths {
    bytes: Box<[u64]>,
    /// A bit for each place whose queue is not empty.
    filled: Box<[u64]>,
}

impl Lengths {
    /// Makes those of so many queues.
    pub(super) fn new(queues: usize) -> Lengths {
        let words = queues.div_ceil(64);
        Lengths { bytes: vec![0; queues].into(), filled: vec![0; words].into() }
    }

    /// Notes how long a queue is now.
    #[inline]
    pub(super) fn note(&mut self, place: usize, bytes: Bytes) {
        self.bytes[place] = bytes.get();
        let word = &mut self.filled[place / 64];
        // Cleared, then set if it is not empty: no branch on a bit that changes often.
        *word = *word & !(1 << (place % 64)) | u64::from(bytes > Bytes::ZERO) << (place % 64);
    }

    /// Number of queues.
    pub(super) fn count(&self) -> usize {
        self.bytes.len()
    }

    /// The queues that are not empty at these places, in their order: place and length.
    #[inline]
    pub(super) fn filled(&self, places: Range<usize>) -> impl Iterator<Item = (usize, u64)> {
        let Range { start, end } = places;
        let mut word = start / 64;
        let first = self.filled.get(word).copied().unwrap_or_default();
        let mut bits = first & (!0 << (start % 64));
        std::iter::from_fn(move || {
            while bits == 0 {
                word += 1;
                if 64 * word >= end {
                    return None;
                }
                bits = self.filled[word];
            }
            let place = 64 * word + bits.trailing_zeros() as usize;
            bits &= bits - 1;
            (place < end).then(|| (place, self.bytes[place]))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a look at each place.
        #[test]
        fn the_queues_that_are_filled_are_found_in_order(
            queues in 1usize..300,
            notes in prop::collection::vec((0usize..300, 0u64..3), 0..200),
            (start, end) in (0usize..301, 0usize..301),
        ) {
            let (mut lengths, mut plain) = (Lengths::new(queues), vec![0; queues]);
            for (place, bytes) in notes {
                lengths.note(place % queues, Bytes::new(bytes));
                plain[place % queues] = bytes;
            }
            let places = start.min(queues)..end.min(queues);
            let expected = places.clone().map(|place| (place, plain[place]));
            let expected: Vec<_> = expected.filter(|&(_, bytes)| bytes > 0).collect();
            prop_assert_eq!(lengths.filled(places).collect::<Vec<_>>(), expected);
        }
    }
}
