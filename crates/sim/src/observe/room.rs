//! Room in a table that grows as long as a run lasts: so many rows, and no more.

use switchbed_units::Time;

/// Number of rows that a table may still take.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    rows: u64,
    full_at: Option<Time>,
}

impl Room {
    pub(crate) fn new(rows: u64) -> Room {
        Room { rows, full_at: None }
    }

    /// Whether so many rows more find room at `now`. Once some did not, none does.
    pub(crate) fn take(&mut self, rows: u64, now: Time) -> bool {
        if self.full_at.is_none() && rows <= self.rows {
            self.rows -= rows;
            return true;
        }
        self.full_at.get_or_insert(now);
        false
    }

    /// Returns rows of the table that are forgotten.
    pub(crate) fn give(&mut self, rows: u64) {
        self.rows += rows;
        self.full_at = None;
    }

    /// Since when it is full; `None`: all rows found room.
    pub(crate) fn full_at(&self) -> Option<Time> {
        self.full_at
    }
}
