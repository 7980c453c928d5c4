//! A set of stream bytes as sorted, disjoint ranges, and rings that give back places.

use std::collections::VecDeque;

/// Places that a ring keeps, however few it holds.
pub(in crate::transport) const KEPT: usize = 16;

/// Makes space for one more at the end of a ring. A full one grows by a quarter: rings of large windows are most of
/// a connection's memory, and one that doubles would be a third empty on average.
#[inline]
pub(in crate::transport) fn make_space<T>(ring: &mut VecDeque<T>) {
    if ring.len() == ring.capacity() && ring.len() >= KEPT {
        grow(ring);
    }
}

#[cold]
fn grow<T>(ring: &mut VecDeque<T>) {
    ring.reserve_exact(ring.len() / 4);
}

/// Gives back places of a ring that holds less than half of what it has. Halves of ended flows stay in their
/// host's table, and would keep rings as long as the largest windows.
#[inline]
pub(in crate::transport) fn give_back<T>(ring: &mut VecDeque<T>) {
    if ring.capacity() > KEPT && ring.len() < ring.capacity() / 2 {
        fit(ring);
    }
}

#[cold]
fn fit<T>(ring: &mut VecDeque<T>) {
    // Half as many again as it holds: neither the next packet nor the next ACK moves it again.
    ring.shrink_to((ring.len() + ring.len() / 2).max(KEPT));
}

/// Byte ranges `[start, end)`, sorted, never touching each other.
#[derive(Clone, Debug, Default)]
pub(in crate::transport) struct Ranges {
    ranges: VecDeque<(u64, u64)>,
    /// Bytes in all of them.
    bytes: u64,
}

impl Ranges {
    pub(in crate::transport) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// How many bytes it holds.
    pub(in crate::transport) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Ranges from the lowest up; can be walked from the highest down.
    pub(in crate::transport) fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + '_ {
        self.ranges.iter().copied()
    }

    /// The end of the highest range.
    pub(in crate::transport) fn end(&self) -> Option<u64> {
        self.ranges.back().map(|&(_, end)| end)
    }

    /// Adds `[start, end)`; answers how many of its bytes are new.
    pub(in crate::transport) fn insert(&mut self, start: u64, end: u64) -> u64 {
        debug_assert!(start < end);
        // The ranges from `first` up to `last` (excluded) touch the new one.
        let first = self.ranges.partition_point(|&(_, e)| e < start);
        let last = first + self.ranges.range(first..).take_while(|&&(s, _)| s <= end).count();
        let before = self.bytes;
        if first == last {
            self.ranges.insert(first, (start, end));
            self.bytes += end - start;
        } else {
            let merged = (start.min(self.ranges[first].0), end.max(self.ranges[last - 1].1));
            let held: u64 = self.ranges.range(first..last).map(|(s, e)| e - s).sum();
            self.ranges[first] = merged;
            self.ranges.drain(first + 1..last);
            self.bytes += merged.1 - merged.0 - held;
        }
        self.bytes - before
    }

    /// Forgets everything below `offset`.
    pub(in crate::transport) fn remove_below(&mut self, offset: u64) {
        while let Some(front) = self.ranges.front_mut() {
            if front.0 >= offset {
                return;
            }
            let cut = front.1.min(offset);
            self.bytes -= cut - front.0;
            front.0 = cut;
            if front.0 == front.1 {
                self.ranges.pop_front();
                give_back(&mut self.ranges);
            }
        }
    }

    /// The range that holds `offset`.
    pub(in crate::transport) fn containing(&self, offset: u64) -> Option<(u64, u64)> {
        let i = self.ranges.partition_point(|&(_, e)| e <= offset);
        self.ranges.get(i).copied().filter(|&(s, _)| s <= offset)
    }

    /// Bytes of the set below `offset`.
    pub(in crate::transport) fn bytes_below(&self, offset: u64) -> u64 {
        if self.end().is_none_or(|end| end <= offset) {
            return self.bytes;
        }
        self.iter().take_while(|&(s, _)| s < offset).map(|(s, e)| e.min(offset) - s).sum()
    }

    /// The first bytes outside the set from `offset` up: their start, and their end
    /// (`u64::MAX` above the highest range).
    pub(in crate::transport) fn gap_from(&self, offset: u64) -> (u64, u64) {
        let i = self.ranges.partition_point(|&(_, e)| e <= offset);
        match self.ranges.get(i) {
            Some(&(start, _)) if start > offset => (offset, start),
            Some(&(_, end)) => (end, self.ranges.get(i + 1).map_or(u64::MAX, |next| next.0)),
            None => (offset, u64::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranges_merge_where_they_touch() {
        let mut r = Ranges::default();
        assert_eq!(r.insert(10, 20), 10);
        assert_eq!(r.insert(30, 40), 10);
        assert_eq!(r.insert(20, 25), 5);
        assert_eq!(r.iter().collect::<Vec<_>>(), [(10, 25), (30, 40)]);
        assert_eq!(r.insert(5, 50), 20);
        assert_eq!(r.iter().collect::<Vec<_>>(), [(5, 50)]);
        assert_eq!(r.gap_from(0), (0, 5));
        assert_eq!(r.gap_from(7), (50, u64::MAX));
    }

    #[test]
    fn a_ring_gives_back_places_and_few_steps_move_it() {
        let (mut ring, mut moves, mut capacity) = (VecDeque::new(), 0, 0);
        // Windows that rise to 1,000 packets and fall to `least`, a packet at a time.
        for least in [0, 300, 30, 999] {
            ring.resize(1_000, 0);
            capacity = capacity.max(ring.capacity());
            while ring.len() > least {
                ring.pop_front();
                let before = ring.capacity();
                give_back(&mut ring);
                moves += usize::from(ring.capacity() != before);
                assert!(ring.capacity() <= KEPT.max(2 * ring.len() + 2), "{}", ring.len());
            }
        }
        assert!(capacity >= 1_000 && moves <= 40, "{moves}");
        ring.clear();
        give_back(&mut ring);
        assert_eq!(ring.capacity(), KEPT);
    }

    #[test]
    fn a_ring_that_grows_has_few_empty_places_and_few_steps_move_it() {
        let (mut ring, mut moves) = (VecDeque::new(), 0);
        for packets in 1..=10_000 {
            let before = ring.capacity();
            make_space(&mut ring);
            ring.push_back(packets);
            moves += usize::from(ring.capacity() != before);
            assert!(ring.capacity() <= KEPT.max(packets + packets / 4), "{packets}");
        }
        assert!(moves <= 40, "{moves}");
    }

    proptest! {
        /// Against a plain array of bytes.
        #[test]
        fn ranges_agree_with_an_array(
            steps in prop::collection::vec((0..64_u64, 1..12_u64, any::<bool>()), 1..40),
            at in 0..80_u64,
        ) {
            let (mut r, mut array) = (Ranges::default(), [false; 80]);
            for (start, len, remove) in steps {
                if remove && start > 32 {
                    r.remove_below(start - 32);
                    array[..start as usize - 32].fill(false);
                } else {
                    let slots = &mut array[start as usize..(start + len) as usize];
                    let new = slots.iter().filter(|&&held| !held).count() as u64;
                    slots.fill(true);
                    prop_assert_eq!(r.insert(start, start + len), new);
                }
                let held = |below: u64| array[..below as usize].iter().filter(|&&h| h).count();
                prop_assert_eq!(r.bytes as usize, held(80));
                prop_assert_eq!(r.bytes_below(at) as usize, held(at));
                prop_assert_eq!(r.containing(at).is_some(), at < 80 && array[at as usize]);
                let gap = (at as usize..80).find(|&i| !array[i]).unwrap_or(80);
                let end = (gap..80).find(|&i| array[i]).map_or(u64::MAX, |i| i as u64);
                prop_assert_eq!(r.gap_from(at), (gap as u64, end));
                let pairs: Vec<_> = r.iter().collect();
                prop_assert!(pairs.windows(2).all(|w| w[0].1 < w[1].0));
            }
        }
    }
}
