//! A switch chip's memory (`chip.rs`, docs/asic.md): counted in cells, in partitions that share nothing, a packet
//! charged to the group of its input and to its queue. Either account may refuse it: it has a reserve, and
//! beyond it at most α times what its pool has left in the partition.
//!
//! Lossy traffic's groups have no threshold of their own, as shipped, only their pool. A lossless group is the
//! same account with one; it would pause where this refuses.

use super::holdings::Place;
use crate::chip::Chip;
use crate::packet::{Packet, QueueId};
use crate::random::Random;
use crate::seats::{Admission, Buffer};
use crate::view::{DropReason, View};

/// What one account may hold, in cells.
#[derive(Clone, Copy, Debug)]
struct Account {
    /// What it has for itself.
    reserve: u64,
    /// α; `None`: all that its pool has left.
    alpha: Option<f64>,
    /// What its pool shares in a partition.
    shared: u64,
}

impl Account {
    /// What of so many cells is beyond the reserve.
    fn beyond(&self, cells: u64) -> u64 {
        cells.saturating_sub(self.reserve)
    }

    /// Whether `more` fit where it holds so many and its pool has `used` taken.
    fn fits(&self, held: u64, more: u64, used: u64) -> bool {
        let (before, after) = (self.beyond(held), self.beyond(held + more));
        let free = self.shared.saturating_sub(used);
        after - before <= free && self.alpha.is_none_or(|alpha| after as f64 <= alpha * free as f64)
    }
}

/// A port of a switch with such a chip.
#[derive(Clone, Debug)]
pub struct Cells {
    cell: u32,
    parts: u32,
    group: Account,
    queue: Account,
    place: Place,
    held: Box<[u64]>,
}

impl Cells {
    /// At a port of so many queues, with another α for queues if one is given. `None` where it is not
    /// known how the chip shares its memory among lossy queues.
    pub fn of(chip: &Chip, alpha: Option<f64>, place: Place, queues: usize) -> Option<Cells> {
        let parts = chip.parts();
        let part = |cells: u64| cells / u64::from(parts);
        let alpha = alpha.or_else(|| chip.queue_alpha())?;
        let shared = part(chip.lossy_cells()?);
        Some(Cells {
            cell: chip.cell,
            parts,
            group: Account { reserve: 0, alpha: None, shared: part(chip.ingress_cells()) },
            queue: Account { reserve: chip.queue_cells(), alpha: Some(alpha), shared },
            place,
            held: vec![0; queues].into(),
        })
    }

    fn cells(&self, packet: &Packet) -> u64 {
        packet.len_bytes.div_ceil(self.cell).into()
    }

    /// A packet's input, as the switch's ports are numbered.
    fn input(&self, packet: &Packet) -> u32 {
        u32::from(packet.ingress).min(self.place.ports() as u32 - 1)
    }

    /// A port's partition: neighbours are together.
    fn part(&self, port: u32) -> usize {
        (u64::from(port) * u64::from(self.parts) / self.place.ports()) as usize
    }

    /// A packet came or went.
    fn count(&mut self, queue: QueueId, packet: &Packet, came: bool) {
        let cells = self.cells(packet);
        let after = |held: u64| if came { held + cells } else { held - cells };
        let held = self.held[usize::from(queue)];
        self.held[usize::from(queue)] = after(held);
        let (own, input) = (self.place.port(), self.input(packet));
        let change = |account: &Account, held: u64| {
            account.beyond(after(held)) as i64 - account.beyond(held) as i64
        };
        self.place.pools().queues(self.part(own), change(&self.queue, held));
        let group = self.place.pools().group(input, after);
        self.place.pools().groups(self.part(input), change(&self.group, group));
    }
}

impl Buffer for Cells {
    fn admit(
        &mut self,
        _: &View,
        queue: QueueId,
        packet: &Packet,
        _: &mut dyn Random,
    ) -> Admission {
        let cells = self.cells(packet);
        let (own, input) = (self.place.port(), self.input(packet));
        let pools = self.place.pools();
        let held = self.held[usize::from(queue)];
        let group = pools.group(input, |held| held);
        if self.queue.fits(held, cells, pools.queues(self.part(own), 0))
            && self.group.fits(group, cells, pools.groups(self.part(input), 0))
        {
            Admission::In
        } else {
            Admission::Out(DropReason::Full)
        }
    }

    fn stored(&mut self, _: &View, queue: QueueId, packet: &Packet) {
        self.count(queue, packet, true);
    }

    fn removed(&mut self, _: &View, queue: QueueId, packet: &Packet, _: DropReason) {
        self.count(queue, packet, false);
    }

    fn sent(&mut self, _: &View, queue: QueueId, packet: &Packet) {
        self.count(queue, packet, false);
    }

    fn reads_pool(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chip::{CHIPS, Ingress, Observed};
    use crate::random::NoRandom;
    use crate::units::{Bytes, Rate, Time};
    use crate::{Arena, Pool, PortState};
    use proptest::prelude::*;

    /// The ports of a switch whose buffers are asked directly.
    struct Switch {
        ports: Vec<Cells>,
        state: PortState,
        arena: Arena,
        pool: Pool,
    }

    impl Switch {
        fn new(chip: &Chip, ports: u32, queues: usize) -> Switch {
            let first = Place::first(ports, queues);
            let places = std::iter::successors(Some(first), |place| Some(place.next()));
            let port = |place| Cells::of(chip, None, place, queues).unwrap();
            Switch {
                ports: places.take(ports as usize).map(port).collect(),
                state: PortState::new(Rate::from_gbps(10), &vec![Bytes::new(1500); queues]),
                arena: Arena::new(),
                pool: Pool::new(Bytes::MAX),
            }
        }

        fn view(&self) -> View<'_> {
            View { now: Time::ZERO, port: &self.state, pool: &self.pool, arena: &self.arena }
        }

        /// Whether a packet from an input is let in.
        fn arrive(&mut self, port: usize, queue: QueueId, packet: &Packet) -> bool {
            let mut buffer = self.ports[port].clone();
            let comes = buffer.admit(&self.view(), queue, packet, &mut NoRandom) == Admission::In;
            if comes {
                buffer.stored(&self.view(), queue, packet);
            }
            self.ports[port] = buffer;
            comes
        }

        fn send(&mut self, port: usize, queue: QueueId, packet: &Packet) {
            let mut buffer = self.ports[port].clone();
            buffer.sent(&self.view(), queue, packet);
            self.ports[port] = buffer;
        }
    }

    fn packet(len_bytes: u32, ingress: u16) -> Packet {
        Packet { len_bytes, ingress, ..Packet::default() }
    }

    fn small(cells: u64, group: u64) -> Chip {
        let ingress = Ingress { size: 100 * group, xoff: None, gross: false };
        let chip = Chip { cell: 100, ports: 4, partitions: Some(1), ingress, ..CHIPS[0] };
        let (reserve, alpha) = (Some(200), Some(0));
        Chip { lossy: Some(100 * cells), queue_reserve: reserve, alpha_queue: alpha, ..chip }
    }

    #[test]
    fn a_queue_alone_drops_where_switches_were_seen_to() {
        let mut seen = 0;
        for chip in CHIPS {
            for observed in chip.observed {
                let Observed::Drop { cells } = *observed else { continue };
                let mut switch = Switch::new(chip, chip.ports, 8);
                let mut held = 0;
                while switch.arrive(0, 0, &packet(64, 1)) {
                    held += 1;
                }
                assert!((held as i64 - cells as i64).abs() <= 2, "{}: {held}", chip.name);
                seen += 1;
            }
        }
        assert_eq!(seen, 3);
    }

    #[test]
    fn packets_take_whole_cells_and_queues_their_reserve_first() {
        // 30 cells shared, two a queue for itself, α = 1: alone 2 + 15.
        let mut switch = Switch::new(&small(30, 1000), 4, 2);
        let mut take = |queue, len| switch.arrive(0, queue, &packet(len, 0));
        assert!(take(0, 1500)); // 15 cells: 13 beyond the reserve of 30 that are free
        assert!(!take(0, 401)); // five more would be 18 beyond it, where 17 are left
        assert!(take(0, 200)); // two more: 15
        assert!(!take(0, 1)); // 16, where 15 are left
        // Another queue has its own two, and with eight beyond them there are eight left.
        assert!(take(1, 900) && !take(1, 200) && take(1, 100));
    }

    #[test]
    fn partitions_share_nothing() {
        let chip = Chip { partitions: Some(2), ..small(60, 1000) };
        let mut switch = Switch::new(&chip, 4, 1);
        let mut fill = |port| {
            let mut held = 0;
            while switch.arrive(port, 0, &packet(100, port as u16)) {
                held += 1;
            }
            held
        };
        // Ports 0 and 1 are one partition: 15 of 30, then 8 of the 15 that are left.
        assert_eq!([fill(0), fill(1), fill(2), fill(3)], [17, 10, 17, 10]);
    }

    #[test]
    fn the_inputs_pool_may_refuse_what_the_queue_would_take() {
        let mut switch = Switch::new(&small(30, 10), 4, 1);
        let held = (0..20).filter(|_| switch.arrive(0, 0, &packet(100, 3))).count();
        assert_eq!(held, 10);
        assert!(!switch.arrive(1, 0, &packet(100, 2)));
        switch.send(0, 0, &packet(100, 3));
        assert!(switch.arrive(1, 0, &packet(100, 2)));
    }

    proptest! {
        /// Against sums over all that is there, anew for each arrival.
        #[test]
        fn accounts_are_what_is_there(
            steps in proptest::collection::vec((0usize..4, 0u8..3, 1u32..900, 0u16..4, any::<bool>()), 1..200),
            parts in 1u32..3,
        ) {
            let chip = Chip { partitions: Some(parts), ..small(80, 90) };
            let mut switch = Switch::new(&chip, 4, 3);
            let mut there: Vec<(usize, u8, Packet)> = Vec::new();
            let part = |port: usize| port * parts as usize / 4;
            let cells = |packet: &Packet| u64::from(packet.len_bytes.div_ceil(100));
            for (port, queue, len, input, goes) in steps {
                if goes && !there.is_empty() {
                    let (port, queue, gone) = there.remove(len as usize % there.len());
                    switch.send(port, queue, &gone);
                    continue;
                }
                let new = packet(len, input);
                let held = |p, q| -> u64 {
                    there.iter().filter(|t| (t.0, t.1) == (p, q)).map(|t| cells(&t.2)).sum()
                };
                let used: u64 = (0..4)
                    .filter(|&p| part(p) == part(port))
                    .flat_map(|p| (0..3).map(move |q| (p, q)))
                    .map(|(p, q)| held(p, q).saturating_sub(2))
                    .sum();
                let taken: u64 = there
                    .iter()
                    .filter(|t| part(t.2.ingress.into()) == part(input.into()))
                    .map(|t| cells(&t.2))
                    .sum();
                let now = held(port, queue);
                let (after, free) = ((now + cells(&new)).saturating_sub(2), 80 / u64::from(parts) - used);
                let grows = after - now.saturating_sub(2);
                let fits = grows <= free && after <= free && taken + cells(&new) <= 90 / u64::from(parts);
                prop_assert_eq!(switch.arrive(port, queue, &new), fits);
                if fits {
                    there.push((port, queue, new));
                }
            }
            for (port, queue, gone) in there {
                switch.send(port, queue, &gone);
            }
            for port in [0, 3] {
                let pools = switch.ports[port].place.pools();
                prop_assert_eq!(pools.queues(part(port), 0) + pools.groups(part(port), 0), 0);
            }
        }
    }
}
