//! A log of the segments that are out: when each was sent last, and what became of it.

use crate::transport::ranges::{give_back, make_space};
use std::collections::VecDeque;
use switchbed_units::Time;

/// Fate of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The segment is on its way, as far as is known.
    Out,
    Sacked,
    /// The segment is taken for lost, and has not been sent again since.
    Lost,
}

/// A segment that is not acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    /// After its last byte.
    pub(super) end: u64,
    /// When it was sent last, and its number among all sendings.
    pub(super) at: Time,
    pub(super) nth: u64,
    fate: Fate,
    /// Whether it has been sent more than once.
    pub(super) again: bool,
    /// Whether it was taken for lost before it was sent last.
    was_lost: bool,
}

/// Segments of a log by what became of them, as Linux counts them in `tcp_info`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fates {
    pub(super) sacked: u32,
    /// Taken for lost, sent again since or not.
    pub(super) lost: u32,
    /// Sent again, and neither SACKed nor lost again.
    pub(super) retransmitted: u32,
}

/// The segments that are out, in the order of the stream.
#[derive(Clone, Debug, Default)]
pub(super) struct SentLog {
    /// Where the first begins: all before is acknowledged.
    start: u64,
    segments: VecDeque<Sent>,
    /// Bytes taken for lost and not sent again.
    lost: u64,
    /// Nothing below is taken for lost.
    lost_from: u64,
    /// Segments sent so far, however often.
    count: u64,
}

impl SentLog {
    /// New data up to `end` goes out.
    pub(super) fn push(&mut self, end: u64, at: Time) {
        self.count += 1;
        make_space(&mut self.segments);
        self.segments.push_back(Sent {
            end,
            at,
            nth: self.count,
            fate: Fate::Out,
            again: false,
            was_lost: false,
        });
    }

    /// Counts the segments by what became of them.
    pub(super) fn fates(&self) -> Fates {
        let mut fates = Fates::default();
        for segment in &self.segments {
            match segment.fate {
                Fate::Sacked => fates.sacked += 1,
                Fate::Lost => fates.lost += 1,
                Fate::Out if segment.again => {
                    fates.retransmitted += 1;
                    fates.lost += u32::from(segment.was_lost);
                }
                Fate::Out => {}
            }
        }
        fates
    }

    /// How many segments are out.
    pub(super) fn len(&self) -> usize {
        self.segments.len()
    }

    pub(super) fn first(&self) -> Option<&Sent> {
        self.segments.front()
    }

    /// The last segment that is not SACKed: start and length.
    pub(super) fn last(&self) -> Option<(u64, u64)> {
        // Segments that were SACKed have arrived: only others can be the tail that is probed.
        let nth = self.segments.iter().rposition(|segment| segment.fate != Fate::Sacked)?;
        Some((self.start_of(nth), self.segments[nth].end - self.start_of(nth)))
    }

    fn start_of(&self, nth: usize) -> u64 {
        // Segments lie one behind the other: each begins where the one before ends.
        if nth == 0 { self.start } else { self.segments[nth - 1].end }
    }

    /// The first segment that ends after `offset`.
    fn at(&self, offset: u64) -> usize {
        self.segments.partition_point(|segment| segment.end <= offset)
    }

    /// All before `una` is acknowledged; tells of each segment that is and was not SACKed before, and
    /// where it begins.
    pub(super) fn acknowledge(&mut self, una: u64, mut tell: impl FnMut(&Sent, u64)) {
        // A segment acknowledged in part stays until the rest is, too.
        while let Some(first) = self.segments.front().copied().filter(|first| first.end <= una) {
            match first.fate {
                Fate::Lost => self.lost -= first.end - self.start,
                Fate::Out => {}
                // Told as it was SACKed.
                Fate::Sacked => {
                    self.start = first.end;
                    self.segments.pop_front();
                    continue;
                }
            }
            tell(&first, self.start);
            self.start = first.end;
            self.segments.pop_front();
        }
        give_back(&mut self.segments);
    }

    /// Nothing is SACKed any more.
    pub(super) fn forget_sacks(&mut self) {
        for segment in self.segments.iter_mut().filter(|segment| segment.fate == Fate::Sacked) {
            segment.fate = Fate::Out;
        }
    }

    /// The bytes from `from` to `to` are SACKed, which they were not; tells of each segment in them, and
    /// where it begins.
    pub(super) fn sack(&mut self, from: u64, to: u64, mut tell: impl FnMut(&Sent, u64)) {
        let mut nth = self.at(from);
        while nth < self.segments.len() && self.segments[nth].end <= to {
            let start = self.start_of(nth);
            let segment = &mut self.segments[nth];
            // In whole: a block may begin within a segment.
            if start >= from && segment.fate != Fate::Sacked {
                if segment.fate == Fate::Lost {
                    self.lost -= segment.end - start;
                }
                segment.fate = Fate::Sacked;
                tell(segment, start);
            }
            nth += 1;
        }
    }

    /// Takes for lost what is on its way and of what `lost` says so; `None` ends the search.
    pub(super) fn lose(&mut self, mut lost: impl FnMut(&Sent) -> Option<bool>) {
        for nth in 0..self.segments.len() {
            if self.segments[nth].fate != Fate::Out {
                continue;
            }
            match lost(&self.segments[nth]) {
                // Segments are in the order of sending: none of the later ones is lost either.
                None => return,
                Some(false) => {}
                Some(true) => {
                    let start = self.start_of(nth);
                    self.segments[nth].fate = Fate::Lost;
                    self.lost += self.segments[nth].end - start;
                    self.lost_from = self.lost_from.min(start);
                }
            }
        }
    }

    /// Cuts segments of more than `most` bytes; those of them that are on their way are taken for lost.
    pub(super) fn cut(&mut self, most: u64) {
        let mut from = self.start;
        for segment in std::mem::take(&mut self.segments) {
            let (start, mut end, mut fate) = (from, from, segment.fate);
            from = segment.end;
            if from - start > most && fate == Fate::Out {
                fate = Fate::Lost;
                self.lost += from - start;
                self.lost_from = self.lost_from.min(start);
            }
            while end < from {
                end = (end + most).min(from);
                self.segments.push_back(Sent { end, fate, ..segment });
            }
        }
    }

    /// Nothing is taken for lost any more.
    pub(super) fn take_back(&mut self) {
        for segment in &mut self.segments {
            if segment.fate == Fate::Lost {
                segment.fate = Fate::Out;
            }
            segment.was_lost = false;
        }
        self.lost = 0;
    }

    /// Counts the segments from `from` to `to` that were sent more than once.
    pub(super) fn again(&self, from: u64, to: u64) -> u32 {
        let found = self.segments.range(self.at(from)..).take_while(|segment| segment.end <= to);
        found.filter(|segment| segment.again).count() as u32
    }

    /// Bytes taken for lost and not sent again.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// The first segment taken for lost and not sent again: start and length.
    pub(super) fn first_lost(&mut self) -> Option<(u64, u64)> {
        if self.lost == 0 {
            return None;
        }
        let mut nth = self.at(self.lost_from);
        // `lost` is not 0: one of the segments from `lost_from` on is lost.
        while self.segments[nth].fate != Fate::Lost {
            nth += 1;
        }
        self.lost_from = self.start_of(nth);
        Some((self.lost_from, self.segments[nth].end - self.lost_from))
    }

    /// The bytes from `from` to `to` are sent again.
    pub(super) fn resend(&mut self, from: u64, to: u64, at: Time) {
        self.count += 1;
        let mut nth = self.at(from);
        while nth < self.segments.len() && self.start_of(nth) < to {
            if self.segments[nth].fate == Fate::Lost {
                self.lost -= self.segments[nth].end - self.start_of(nth);
                self.segments[nth].fate = Fate::Out;
                self.segments[nth].was_lost = true;
            }
            let segment = &mut self.segments[nth];
            (segment.at, segment.nth, segment.again) = (at, self.count, true);
            nth += 1;
        }
    }
}
