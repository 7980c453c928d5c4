//! A choice for each flowlet: packets of a flow that follow each other closely keep their port. The table has as many
//! entries as a switch's memory; flows that a hash leads to one entry share it, as in real switches.

use super::{Header, Ports, Router};
use crate::ids::{PortId, SwitchId};
use crate::topology::Set;
use switchbed_units::{Span, Time};

/// An entry: when its last packet came, and by which port that left. Before the first, none did.
type Entry = Option<(Time, PortId)>;

/// A table of flowlets.
pub(super) struct Flowlets {
    gap: Span,
    entries: Box<[Entry]>,
    switch: SwitchId,
}

impl Flowlets {
    pub(super) fn new(gap: Span, entries: u32, switch: SwitchId) -> Flowlets {
        Flowlets { gap, entries: vec![None; entries as usize].into(), switch }
    }

    /// With this choice of a flowlet's port.
    pub(super) fn choosing<T: Router>(self, each: T) -> ByFlowlet<T> {
        ByFlowlet { table: self, each }
    }

    /// A flow's entry: the finalizer of MurmurHash3 under the switch.
    fn entry(&mut self, flow: u32) -> &mut Entry {
        let mut h = flow ^ self.switch.0.wrapping_mul(0x9e37_79b9);
        h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
        h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
        h ^= h >> 16;
        let place = (u64::from(h) * self.entries.len() as u64) >> 32;
        &mut self.entries[place as usize]
    }
}

/// A choice for each flowlet.
pub(super) struct ByFlowlet<T> {
    table: Flowlets,
    each: T,
}

impl<T: Router> Router for ByFlowlet<T> {
    fn choose(&mut self, header: Header, set: Set<'_>, ports: &mut dyn Ports, now: Time) -> PortId {
        if set.len() == 1 {
            return self.each.choose(header, set, ports, now);
        }
        let gap = self.table.gap;
        let entry = self.table.entry(header.flow);
        let kept = entry.filter(|&(last, port)| now.since(last) < gap && set.contains(port));
        // Still asked, though with one port: the inner choice counts the packet.
        let among = kept.map_or(set, |(_, PortId(port))| Set::Run(port, 1));
        let port = self.each.choose(header, among, ports, now);
        *entry = Some((now, port));
        port
    }
}

#[cfg(test)]
mod tests {
    use super::super::spray::Random;
    use super::super::tests::{Held, packet, rng, us};
    use super::*;
    use std::collections::BTreeSet;

    fn table(entries: u32) -> ByFlowlet<Random> {
        Flowlets::new(Span::from_us(50), entries, SwitchId(3)).choosing(Random { rng: rng() })
    }

    #[test]
    fn a_gap_begins_a_flowlet_and_nothing_else_does() {
        let mut router = table(512);
        let mut at = |now| router.choose(packet(9), Set::Run(0, 16), &mut Held(Vec::new()), now);
        let first = at(us(0));
        // Each 49 us after the last.
        assert!((1..20).all(|nth| at(us(49 * nth)) == first));
        let ports: BTreeSet<u32> = (0..40).map(|nth| at(us(2_000 + 50 * nth)).0).collect();
        assert!(ports.len() > 10, "{ports:?}");
    }

    #[test]
    fn a_port_that_does_not_lead_there_is_chosen_anew() {
        let mut router = table(1);
        let mut held = Held(Vec::new());
        let first = router.choose(packet(1), Set::Run(0, 2), &mut held, us(0));
        assert!(first.0 < 2);
        let other = router.choose(packet(2), Set::Ports(&[4, 7]), &mut held, us(1));
        assert!(other == PortId(4) || other == PortId(7));
    }

    #[test]
    fn flows_share_entries_as_often_as_chance_has_it() {
        // n flows in m entries use m (1 - (1 - 1/m)^n) of them on average: 100 of 512 use 91.0.
        let (n, m) = (100, 512.0_f64);
        let expected = m * (1.0 - libm::pow(1.0 - 1.0 / m, f64::from(n)));
        let used = |first: u32| {
            let mut table = Flowlets::new(Span::from_us(50), 512, SwitchId(first % 7));
            (0..n as u32).for_each(|flow| {
                *table.entry((first + flow).wrapping_mul(2_654_435_761)) = Some((us(1), PortId(0)));
            });
            table.entries.iter().flatten().count() as f64
        };
        let mean = (0..200).map(|nth| used(nth * 1_000)).sum::<f64>() / 200.0;
        // A standard deviation of one table is 2.7; of the mean of 200, 0.19.
        assert!((mean - expected).abs() < 0.8, "{mean} instead of {expected}");
    }
}
