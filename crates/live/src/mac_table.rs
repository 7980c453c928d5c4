//! MAC table: ports of addresses, learnt from the frames that they send (IEEE 802.1D, section 7.8) or
//! fixed.

use std::collections::HashMap;
use switchbed_units::{Span, Time};
use switchbed_wire::Mac;

/// Time without a frame after which an address is forgotten (802.1D, table 7-5).
pub const AGEING: Span = Span::from_ms(300_000);
/// Addresses learnt at most, each port its share of them: a flood of source addresses must not take
/// all memory, nor the other ports' places.
pub const LIMIT: usize = 8192;

/// Addresses and their ports. All VLANs share the table.
#[derive(Clone, Debug)]
pub struct MacTable {
    set: HashMap<Mac, u16>,
    learnt: HashMap<Mac, (u16, Time)>,
    /// How many of them are behind each port.
    behind: Vec<usize>,
    learns: bool,
    /// When the table was last searched for what can be forgotten.
    swept: Time,
}

/// The table is searched this often at most, so that a flood does not buy a search a frame.
const SWEEP: Span = Span::from_ms(1000);

impl MacTable {
    /// Makes a table of fixed addresses. It learns others at `ports` ports if `learns` is set.
    pub fn new(set: impl IntoIterator<Item = (Mac, u16)>, ports: usize, learns: bool) -> MacTable {
        MacTable {
            set: set.into_iter().collect(),
            learnt: HashMap::new(),
            behind: vec![0; ports],
            learns,
            swept: Time::ZERO,
        }
    }

    /// Learns from a frame of this address that has come in.
    pub fn heard(&mut self, now: Time, source: Mac, port: u16) {
        if !self.learns || source.is_group() {
            return;
        }
        match self.learnt.get_mut(&source) {
            Some((known, heard)) if *known == port => {
                *heard = now;
                return;
            }
            // The address has moved: to a port whose share is full it is as unknown as a new one.
            Some(_) => self.forget(source),
            None => {}
        }
        if self.has_space(now, port) {
            self.learnt.insert(source, (port, now));
            self.behind[usize::from(port)] += 1;
        }
    }

    fn forget(&mut self, station: Mac) {
        if let Some((port, _)) = self.learnt.remove(&station) {
            self.behind[usize::from(port)] -= 1;
        }
    }

    /// Whether a port may have another station; a full share is searched for what has aged.
    fn has_space(&mut self, now: Time, port: u16) -> bool {
        let share = (LIMIT / self.behind.len()).max(1);
        let full = |behind: &[usize]| behind[usize::from(port)] >= share;
        if full(&self.behind) && now.since(self.swept) >= SWEEP {
            self.swept = now;
            let behind = &mut self.behind;
            self.learnt.retain(|_, &mut (port, heard)| {
                let keeps = now.since(heard) < AGEING;
                behind[usize::from(port)] -= usize::from(!keeps);
                keeps
            });
        }
        !full(&self.behind)
    }

    /// The port of a station, if it is known.
    pub fn port(&self, now: Time, station: Mac) -> Option<u16> {
        let set = self.set.get(&station).copied();
        set.or_else(|| {
            let &(port, heard) = self.learnt.get(&station)?;
            (now.since(heard) < AGEING).then_some(port)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Mac = Mac([2, 0, 0, 0, 0, 1]);

    #[test]
    fn a_station_moves_with_its_frames_and_is_forgotten() {
        let mut table = MacTable::new([], 8, true);
        let at = |s: u64| Time::ZERO + Span::from_ms(s * 1000);
        assert_eq!(table.port(at(0), A), None);
        table.heard(at(0), A, 3);
        table.heard(at(1), A, 4);
        assert_eq!(table.port(at(300), A), Some(4));
        assert_eq!(table.port(at(301), A), None);
        table.heard(at(302), Mac::BROADCAST, 1);
        assert_eq!(table.port(at(302), Mac::BROADCAST), None, "a group sends nothing");
    }

    #[test]
    fn what_is_set_is_not_learnt() {
        let mut table = MacTable::new([(A, 1)], 8, true);
        table.heard(Time::ZERO, A, 2);
        assert_eq!(table.port(Time::ZERO, A), Some(1));
        let mut deaf = MacTable::new([], 8, false);
        deaf.heard(Time::ZERO, A, 2);
        assert_eq!(deaf.port(Time::ZERO, A), None);
    }

    fn station(i: u32) -> Mac {
        let [a, b, c, d] = i.to_be_bytes();
        Mac([2, 0, a, b, c, d])
    }

    #[test]
    fn a_flood_of_sources_is_bounded_and_ages_out() {
        let mut table = MacTable::new([], 1, true);
        for i in 0..LIMIT as u32 + 100 {
            table.heard(Time::ZERO, station(i), 0);
        }
        assert_eq!(table.learnt.len(), LIMIT);
        assert_eq!(table.port(Time::ZERO, station(LIMIT as u32 + 50)), None);
        table.heard(Time::ZERO + AGEING, Mac([2, 1, 0, 0, 0, 0]), 0);
        assert_eq!((table.learnt.len(), &table.behind[..]), (1, &[1][..]));
    }

    #[test]
    fn a_port_that_floods_leaves_the_others_their_share() {
        let mut table = MacTable::new([], 4, true);
        let share = LIMIT as u32 / 4;
        (0..2 * LIMIT as u32).for_each(|i| table.heard(Time::ZERO, station(i), 3));
        assert_eq!(table.learnt.len(), share as usize);
        let mine = |i: u32| station(1 << 30 | i);
        (0..share).for_each(|i| table.heard(Time::ZERO, mine(i), 0));
        assert!((0..share).all(|i| table.port(Time::ZERO, mine(i)) == Some(0)));
        // Whom the flooding port takes over is unknown there, and has its place again at once.
        table.heard(Time::ZERO, mine(7), 3);
        assert_eq!(table.port(Time::ZERO, mine(7)), None);
        table.heard(Time::ZERO, mine(7), 0);
        assert_eq!(table.port(Time::ZERO, mine(7)), Some(0));
        // A station that moves takes its place along.
        table.heard(Time::ZERO, mine(7), 1);
        assert_eq!(table.behind, [share as usize - 1, 1, 0, share as usize]);
    }
}
