//! Cells held by a switch's lossless groups: an account for each input and class (docs/pfc.md). A
//! group fills its reserve, then its part of the shared memory, then its headroom. As the last
//! begins, the neighbour that the packets come from is paused. It resumes once the group is below
//! its limit by the resume offset.
//!
//! Once a group has something in its headroom all goes there until that is empty again, and what leaves
//! comes from there first. Charging each packet by the threshold of its time instead lets a group
//! that has paused take shared memory again as others leave, and its headroom is then not what it was made for.

use super::cells::Account;
use crate::hooks::{GroupUse, Signal};
use crate::memory::pfc::PRIORITIES;
use crate::port::view::DropReason;
use std::collections::VecDeque;
use switchbed_units::Bytes;

/// An input's class.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    /// Cells, headroom counted.
    held: u64,
    headroom: u64,
    paused: bool,
    /// Most cells outside the headroom and in it.
    most: (u64, u64),
    /// Packets lost for want of space, and dropped for other reasons.
    drops: (u64, u64),
}

impl Group {
    fn note(&mut self) {
        let (shared, headroom) = (self.held - self.headroom, self.headroom);
        self.most = (self.most.0.max(shared), self.most.1.max(headroom));
    }
}

/// A switch's, all in cells.
#[derive(Clone, Debug)]
pub(super) struct Lossless {
    /// A bit for each class that is.
    classes: u8,
    /// By input.
    accounts: Box<[Account]>,
    /// A paused group resumes this far under its threshold, or at a number.
    offset: u64,
    resumes_at: Option<u64>,
    /// Cells of headroom that each input's groups have for arrivals after a pause.
    headroom: Box<[u64]>,
    /// Cells of headroom that are left, by partition.
    pool: Box<[u64]>,
    groups: Box<[Group]>,
    /// Groups whose neighbours are paused, in the order of the pauses.
    paused: Vec<(u16, u8)>,
    signals: VecDeque<Signal>,
}

/// Settings that all groups of a switch share.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub(super) classes: u8,
    pub(super) accounts: Box<[Account]>,
    pub(super) offset: u64,
    pub(super) resumes_at: Option<u64>,
    /// By input.
    pub(super) headroom: Box<[u64]>,
    /// All headroom of a partition.
    pub(super) pool: u64,
    pub(super) parts: usize,
}

impl Lossless {
    pub(super) fn new(rules: Rules) -> Lossless {
        let Rules { classes, accounts, offset, resumes_at, headroom, pool, parts } = rules;
        let groups = vec![Group::default(); headroom.len() * usize::from(PRIORITIES)].into();
        let (pool, paused, signals) = (vec![pool; parts].into(), Vec::new(), VecDeque::new());
        Lossless { classes, accounts, offset, resumes_at, headroom, pool, groups, paused, signals }
    }

    /// Returns whether a class is lossless.
    #[inline]
    pub(super) fn has(&self, class: u8) -> bool {
        // A DSCP of 8 or more is no priority (802.1Q has 3 bits), and would shift beyond the mask.
        class < PRIORITIES && self.classes >> class & 1 == 1
    }

    fn account(&self, input: u16) -> Account {
        self.accounts[usize::from(input)]
    }

    fn group(&mut self, input: u16, class: u8) -> &mut Group {
        &mut self.groups[usize::from(input) * usize::from(PRIORITIES) + usize::from(class)]
    }

    /// Whether so many cells more still are the group's and its part of what is shared, of which its
    /// partition has `used`.
    fn shares(&mut self, input: u16, class: u8, cells: u64, used: u64) -> bool {
        let account = self.account(input);
        let group = self.group(input, class);
        // With something in its headroom a group shares no more, even if the shared part has space again.
        group.headroom == 0 && account.fits(group.held, cells, used)
    }

    /// Whether a packet of so many cells has space; if that is headroom, or there is none, its neighbour is
    /// to be paused.
    pub(super) fn admits(
        &mut self,
        (input, class): (u16, u8),
        part: usize,
        cells: u64,
        used: u64,
    ) -> bool {
        if self.shares(input, class, cells, used) {
            return true;
        }
        let group = self.group(input, class);
        // Signalled once: the switch repeats the frame itself while the pause lasts.
        if !std::mem::replace(&mut group.paused, true) {
            self.paused.push((input, class));
            self.signals.push_back(Signal { input, class, pause: true });
        }
        // Checked even where the pause went out before: the neighbour's packets on the cable still
        // come.
        let headroom = self.group(input, class).headroom;
        headroom + cells <= self.headroom[usize::from(input)] && cells <= self.pool[part]
    }

    /// A packet that was let in is there: how much more of what is shared is taken.
    pub(super) fn came(
        &mut self,
        (input, class): (u16, u8),
        part: usize,
        cells: u64,
        used: u64,
    ) -> u64 {
        let account = self.account(input);
        // Computed again: `admits` answers a question, and only what is stored may be charged.
        let shares = self.shares(input, class, cells, used);
        let group = self.group(input, class);
        group.held += cells;
        if !shares {
            group.headroom += cells;
        }
        group.note();
        if shares {
            // Cells within the reserve take nothing of what is shared.
            return account.beyond(group.held) - account.beyond(group.held - cells);
        }
        self.pool[part] -= cells;
        0
    }

    /// A packet is gone: how much less of what is shared is taken.
    pub(super) fn went(&mut self, (input, class): (u16, u8), part: usize, cells: u64) -> u64 {
        let account = self.account(input);
        let group = self.group(input, class);
        // Headroom is given back first.
        let of_headroom = cells.min(group.headroom);
        // The shared part of the group, before: what is in its headroom is not charged to the pool.
        let before = account.beyond(group.held - group.headroom);
        group.held -= cells;
        group.headroom -= of_headroom;
        let after = account.beyond(group.held - group.headroom);
        self.pool[part] += of_headroom;
        before - after
    }

    /// A packet was dropped.
    pub(super) fn dropped(&mut self, (input, class): (u16, u8), why: DropReason) {
        let drops = &mut self.group(input, class).drops;
        match why {
            DropReason::Full => drops.0 += 1,
            _ => drops.1 += 1,
        }
    }

    /// Returns each group's use since the last restart, in bytes of cells.
    pub(super) fn uses(&self, cell: u32) -> Vec<GroupUse> {
        let priorities = usize::from(PRIORITIES);
        let bytes = |cells: u64| Bytes::new(cells * u64::from(cell));
        let each = |(nth, group): (usize, &Group)| {
            let (shared, headroom) = (bytes(group.most.0), bytes(group.most.1));
            let (lost, dropped) = group.drops;
            let (input, class) = ((nth / priorities) as u16, (nth % priorities) as u8);
            GroupUse { input, class, shared, headroom, lost, dropped }
        };
        let all = self.groups.iter().enumerate().map(each);
        all.filter(|of| self.has(of.class)).collect()
    }

    /// Begins the counts of all groups again.
    pub(super) fn restart(&mut self) {
        for group in &mut self.groups {
            (group.most, group.drops) = ((0, 0), (0, 0));
            group.note();
        }
    }

    /// Groups whose neighbours may send again, where a partition has so much taken of what is shared.
    pub(super) fn resume(&mut self, part: usize, used: u64, part_of: impl Fn(u16) -> usize) {
        let mut nth = 0;
        while let Some(&(input, class)) = self.paused.get(nth) {
            let (account, offset, resumes_at) = (self.account(input), self.offset, self.resumes_at);
            let group = self.group(input, class);
            let below = match resumes_at {
                Some(most) => group.held <= most,
                // Without the headroom, which is empty where this counts.
                None => account.beyond(group.held) as f64 <= account.threshold(used, offset),
            };
            if part_of(input) == part && group.headroom == 0 && below {
                group.paused = false;
                // The next group is at this place now: `nth` stays.
                self.paused.remove(nth);
                self.signals.push_back(Signal { input, class, pause: false });
            } else {
                nth += 1;
            }
        }
    }

    /// Returns the next pause or resume for a neighbour.
    pub(super) fn signal(&mut self) -> Option<Signal> {
        self.signals.pop_front()
    }
}
