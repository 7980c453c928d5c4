//! A set of a port's queues, as a bitmap.

use crate::port::packet::QueueId;

/// Most queues a port may have.
pub const MAX_QUEUES: usize = 64;

/// A set of queues, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueSet(u64);

impl QueueSet {
    /// The set without a queue.
    pub const EMPTY: QueueSet = QueueSet(0);

    /// The first so many queues.
    pub fn first_of(queues: usize) -> QueueSet {
        let mut set = QueueSet::EMPTY;
        (0..queues).for_each(|queue| set.insert(queue as QueueId));
        set
    }

    /// Adds a queue to the set.
    #[inline]
    pub fn insert(&mut self, queue: QueueId) {
        self.0 |= 1 << queue;
    }
    /// Removes a queue from the set.
    #[inline]
    pub fn remove(&mut self, queue: QueueId) {
        self.0 &= !(1 << queue);
    }
    /// Whether the queue is in.
    #[inline]
    pub fn contains(self, queue: QueueId) -> bool {
        self.0 >> queue & 1 == 1
    }
    /// Returns the queues of this set that are not in `other`.
    #[inline]
    #[must_use]
    pub fn without(self, other: QueueSet) -> QueueSet {
        QueueSet(self.0 & !other.0)
    }
    /// Whether no queue is in.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// How many queues are in.
    pub fn len(self) -> u32 {
        self.0.count_ones()
    }
    /// Returns the queue with the lowest number.
    #[inline]
    pub fn first(self) -> Option<QueueId> {
        (self.0 != 0).then(|| self.0.trailing_zeros() as QueueId)
    }
    /// The highest queue.
    #[inline]
    pub fn last(self) -> Option<QueueId> {
        (self.0 != 0).then(|| (63 - self.0.leading_zeros()) as QueueId)
    }
    /// The lowest queue from `from` on, or else the lowest of all.
    #[inline]
    pub fn next_from(self, from: QueueId) -> Option<QueueId> {
        // Shifting down and up clears the lower bits; a shift by 64 would overflow.
        let above = if from as usize >= MAX_QUEUES { 0 } else { self.0 >> from << from };
        QueueSet(above).first().or_else(|| self.first())
    }
    /// The queues in rising order.
    pub fn iter(self) -> impl Iterator<Item = QueueId> {
        let mut rest = self;
        std::iter::from_fn(move || {
            let queue = rest.first()?;
            rest.remove(queue);
            Some(queue)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_from_wraps_round() {
        let mut set = QueueSet::EMPTY;
        assert_eq!(set.next_from(3), None);
        for queue in [2, 5, 63] {
            set.insert(queue);
        }
        assert_eq!(set.next_from(0), Some(2));
        assert_eq!(set.next_from(5), Some(5));
        assert_eq!(set.next_from(6), Some(63));
        assert_eq!(set.next_from(64), Some(2));
        set.remove(63);
        assert_eq!(set.next_from(6), Some(2));
        assert_eq!((set.len(), QueueSet::EMPTY.len()), (2, 0));
        assert_eq!(set.iter().collect::<Vec<_>>(), [2, 5]);
    }
}
