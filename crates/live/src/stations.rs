//! Where stations are: learnt from what they send (IEEE 802.1D, section 7.8), or set.

use std::collections::HashMap;
use switchbed_qdisc::units::{Span, Time};
use switchbed_wire::Mac;

/// A station that has sent nothing for so long is forgotten (802.1D, table 7-5).
pub const AGEING: Span = Span::from_ms(300_000);
/// Stations learnt at most: a flood of source addresses must not take all memory.
pub const LIMIT: usize = 8192;

/// Stations and their ports. All VLANs share it.
#[derive(Clone, Debug, Default)]
pub struct Stations {
    set: HashMap<Mac, u16>,
    learnt: HashMap<Mac, (u16, Time)>,
    learns: bool,
    /// When the table was last searched for what can be forgotten.
    swept: Time,
}

/// The table is searched this often at most, so that a flood does not buy a search a frame.
const SWEEP: Span = Span::from_ms(1000);

impl Stations {
    /// Those that are set, and whether others are learnt.
    pub fn new(set: impl IntoIterator<Item = (Mac, u16)>, learns: bool) -> Stations {
        Stations {
            set: set.into_iter().collect(),
            learnt: HashMap::new(),
            learns,
            swept: Time::ZERO,
        }
    }

    /// A frame of this station has come in.
    pub fn heard(&mut self, now: Time, source: Mac, port: u16) {
        if !self.learns || source.is_group() {
            return;
        }
        if let Some(entry) = self.learnt.get_mut(&source) {
            *entry = (port, now);
            return;
        }
        if self.learnt.len() >= LIMIT && now.since(self.swept) >= SWEEP {
            self.swept = now;
            self.learnt.retain(|_, &mut (_, heard)| now.since(heard) < AGEING);
        }
        if self.learnt.len() < LIMIT {
            self.learnt.insert(source, (port, now));
        }
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
        let mut stations = Stations::new([], true);
        let at = |s: u64| Time::ZERO + Span::from_ms(s * 1000);
        assert_eq!(stations.port(at(0), A), None);
        stations.heard(at(0), A, 3);
        stations.heard(at(1), A, 4);
        assert_eq!(stations.port(at(300), A), Some(4));
        assert_eq!(stations.port(at(301), A), None);
        stations.heard(at(302), Mac::BROADCAST, 1);
        assert_eq!(stations.port(at(302), Mac::BROADCAST), None, "a group sends nothing");
    }

    #[test]
    fn what_is_set_is_not_learnt() {
        let mut stations = Stations::new([(A, 1)], true);
        stations.heard(Time::ZERO, A, 2);
        assert_eq!(stations.port(Time::ZERO, A), Some(1));
        let mut deaf = Stations::new([], false);
        deaf.heard(Time::ZERO, A, 2);
        assert_eq!(deaf.port(Time::ZERO, A), None);
    }

    #[test]
    fn a_flood_of_sources_is_bounded_and_ages_out() {
        let mut stations = Stations::new([], true);
        let station =
            |i: u32| Mac([2, 0, (i >> 24) as u8, (i >> 16) as u8, (i >> 8) as u8, i as u8]);
        for i in 0..LIMIT as u32 + 100 {
            stations.heard(Time::ZERO, station(i), 0);
        }
        assert_eq!(stations.learnt.len(), LIMIT);
        assert_eq!(stations.port(Time::ZERO, station(LIMIT as u32 + 50)), None);
        stations.heard(Time::ZERO + AGEING, Mac([2, 1, 0, 0, 0, 0]), 7);
        assert_eq!(stations.learnt.len(), 1);
    }
}
