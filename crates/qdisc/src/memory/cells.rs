//! A switch chip's memory (`chip.rs`, docs/asic.md): counted in cells, in partitions that share nothing, a packet
//! charged to the group of its input and to its queue. Either account may refuse it: it has a reserve, and
//! beyond it at most α times what its pool has left in the partition.
//!
//! Lossy traffic's groups have no threshold of their own, as shipped, only their pool. A lossless class's have
//! one, from which on their neighbour is paused, and space for what still comes (`lossless.rs`); they count at
//! no queue.

use super::lossless::{Lossless, Rules};
use super::of_switch::{At, Policy};
use crate::hooks::{Admission, GroupUse, Signal};
use crate::memory::chip::Chip;
use crate::memory::pfc::{Input, Pfc};
use crate::port::packet::{Packet, QueueId};
use crate::port::view::DropReason;
use switchbed_units::Bytes;

/// Limits of one account, in cells.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Account {
    /// Cells reserved for the account.
    pub(super) reserve: u64,
    /// α; `None`: all that its pool has left.
    pub(super) alpha: Option<f64>,
    /// Most cells beyond the reserve, however much is left.
    pub(super) most: u64,
    /// Cells that the account's pool shares in a partition.
    pub(super) shared: u64,
}

impl Account {
    /// Returns how many of these cells are beyond the reserve.
    pub(super) fn beyond(&self, cells: u64) -> u64 {
        cells.saturating_sub(self.reserve)
    }

    /// Whether `more` fit where it holds so many and its pool has `used` taken.
    pub(super) fn fits(&self, held: u64, more: u64, used: u64) -> bool {
        // The reserve comes first, so only the cells beyond it are charged to the pool.
        let (before, after) = (self.beyond(held), self.beyond(held + more));
        let free = self.shared.saturating_sub(used);
        let fits = |alpha: f64| after as f64 <= alpha * free as f64;
        after - before <= free && after <= self.most && self.alpha.is_none_or(fits)
    }

    /// Returns the cells that the account may hold beyond its reserve, less an offset; 0 at least.
    pub(super) fn threshold(&self, used: u64, offset: u64) -> f64 {
        let free = self.shared.saturating_sub(used) as f64;
        let may = self.alpha.map_or(free, |alpha| alpha * free).min(self.most as f64);
        (may - offset as f64).max(0.0)
    }
}

/// Memory of a switch: a chip's or none, and the shared parts that are not the chip's own.
#[derive(Clone, Copy, Debug)]
pub struct Sizes<'a> {
    /// The chip; `None`: memory without cells, partitions and reserves, whose headroom is part of `pool`.
    pub chip: Option<&'a Chip>,
    /// Memory that the inputs share, in place of the chip's.
    pub pool: Option<Bytes>,
    /// Memory that lossy queues share, in place of the chip's, or of the inputs'.
    pub egress: Option<Bytes>,
}

/// A switch's memory, in cells.
#[derive(Clone, Copy, Debug)]
struct Memory {
    /// Bytes.
    cell: u32,
    parts: u32,
    /// Cells that the inputs share, over all partitions.
    ingress: u64,
    /// Cells that lossy queues share.
    egress: u64,
    /// Reserve of a lossy queue, and its factor α of the shared cells.
    queue: (u64, f64),
    /// The same of a lossless group.
    group: (u64, f64),
    /// All headroom; `None`: enough.
    headroom: Option<u64>,
}

impl Memory {
    /// The memory of these sizes of which `apart` is headroom, with another α for queues if one is given.
    /// `None` where it is not known how a chip shares its memory among lossy queues.
    fn of(sizes: &Sizes<'_>, apart: Bytes, alpha: Option<f64>) -> Option<Memory> {
        let Some(chip) = sizes.chip else {
            return Some(Self::plain(sizes, apart, alpha));
        };
        let cells = |bytes: Bytes| chip.cells(bytes.get());
        let group = chip.alpha_group.map_or(PLAIN_ALPHA, |alpha| libm::exp2(f64::from(alpha)));
        Some(Memory {
            cell: chip.cell,
            parts: chip.parts(),
            ingress: sizes.pool.map_or_else(|| chip.ingress_cells(), cells),
            egress: sizes.egress.map(cells).or_else(|| chip.lossy_cells())?,
            // A chip whose α is unknown cannot be simulated, unless the scenario gives one.
            queue: (chip.queue_cells(), alpha.or_else(|| chip.queue_alpha())?),
            group: (chip.group_cells(), group),
            headroom: chip.ingress.xoff.map(|xoff| chip.cells(xoff)),
        })
    }

    /// One without cells, partitions and reserves.
    fn plain(sizes: &Sizes<'_>, apart: Bytes, alpha: Option<f64>) -> Memory {
        // Without a chip the headroom is cut out of the pool that the inputs share.
        let pool = sizes.pool.unwrap_or(Bytes::ZERO) - apart;
        Memory {
            cell: 1,
            parts: 1,
            ingress: pool.get(),
            egress: sizes.egress.unwrap_or(pool).get(),
            queue: (0, alpha.unwrap_or(1.0)),
            group: (0, PLAIN_ALPHA),
            headroom: None,
        }
    }
}

/// A lossless group's part of what is left (HPCC's authors' simulator).
const PLAIN_ALPHA: f64 = 0.125;

/// The links that come in at a switch, and what travels there.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// By the number that [`Packet::ingress`] has.
    pub links: &'a [Input],
    /// The longest packet.
    pub longest: Bytes,
    /// The shortest.
    pub shortest: Bytes,
}

/// The rules of lossless groups, and how many cells of the memory are apart for their headroom.
struct Apart {
    rules: Rules,
    apart: u64,
    cell: u32,
}

/// Bytes that a lossless group may hold before its neighbour is paused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupMay {
    /// Bytes reserved for the group.
    pub reserve: f64,
    /// Beyond it, so many times what is left of what is shared; `None`: all of it.
    pub alpha: Option<f64>,
    /// Beyond it at most.
    pub most: f64,
    /// Bytes that the group shares with others.
    pub shared: f64,
}

/// Headroom of a switch's lossless groups.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadroomUse {
    /// Bytes of each input's groups.
    pub each: Box<[Bytes]>,
    /// Number of lossless classes: groups of an input.
    pub classes: u64,
    /// Bytes that all groups share.
    pub pool: Bytes,
    /// Number of inputs, those with the largest headroom first, whose groups the pool holds all at once.
    pub largest: u64,
    /// Whether the pool holds all groups at once.
    pub all: bool,
}

impl GroupMay {
    /// The most that so many groups may hold each, all alike and nothing else there.
    pub fn each_of(&self, groups: f64) -> f64 {
        let free = self.shared / groups;
        // Choudhury and Hahne's fixed point: n groups at α times the rest leave S/(1 + n·α).
        let part = self.alpha.map_or(free, |alpha| alpha * self.shared / (1.0 + groups * alpha));
        self.reserve + part.min(self.most).min(free)
    }
}

/// The memory of such a chip.
#[derive(Clone, Debug)]
pub struct Cells {
    /// Bytes.
    cell: u32,
    /// Accounts of a port's lossy queues.
    accounts: Box<[Account]>,
    /// Cells of each lossy queue, by port, then by queue.
    held: Box<[u64]>,
    /// Account of an input's lossy group.
    group: Account,
    ports: Box<[PortCells]>,
    parts: Box<[Part]>,
    /// Groups that pause before they lose, if there are any.
    lossless: Option<Lossless>,
}

/// A port, both ways.
#[derive(Clone, Copy, Debug)]
struct PortCells {
    /// Partition of its cells.
    part: usize,
    /// Cells of the lossy packets that came in by it.
    group: u64,
}

/// Cells that the pools of a partition have given out.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    /// To lossy queues.
    queues: u64,
    /// To groups of inputs.
    groups: u64,
}

/// A queue's own rules, in place of what the memory gives to each.
#[derive(Clone, Copy, Debug, Default)]
pub struct Own {
    /// α.
    pub alpha: Option<f64>,
    /// Bytes for this queue alone. More than the memory reserves comes out of the shared part.
    pub reserve: Option<Bytes>,
}

/// Why a switch's memory cannot be lossless: what is left for all is less than two of the longest packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllHeadroom {
    /// Sum of all groups' headroom.
    pub headroom: Bytes,
    /// Size of the chip's memory.
    pub memory: Bytes,
}

impl Cells {
    /// Of a switch of so many ports whose queues have these rules. `None` where it is not known how the chip shares
    /// its memory among lossy queues.
    pub fn of(sizes: &Sizes<'_>, ports: usize, queues: &[Own]) -> Option<Cells> {
        Self::beside(Bytes::ZERO, sizes, ports, queues)
    }

    /// The same, with groups that pause before they lose.
    ///
    /// # Errors
    /// Nothing would be left for what is not headroom.
    pub(crate) fn lossless(
        pfc: &Pfc,
        sizes: &Sizes<'_>,
        ports: usize,
        queues: &[Own],
        inputs: Inputs,
    ) -> Result<Option<Cells>, AllHeadroom> {
        let Apart { rules, apart, .. } = Self::rules(pfc, sizes, inputs)?;
        let cells = Self::beside(Bytes::new(apart), sizes, ports, queues);
        Ok(cells.map(|cells| Cells { lossless: Some(Lossless::new(rules)), ..cells }))
    }

    /// Beside so much headroom.
    fn beside(apart: Bytes, sizes: &Sizes<'_>, ports: usize, queues: &[Own]) -> Option<Cells> {
        let given = queues.iter().find_map(|own| own.alpha).filter(|_| sizes.chip.is_some());
        Some(Self::with(&Memory::of(sizes, apart, given)?, ports, queues))
    }

    fn with(memory: &Memory, ports: usize, queues: &[Own]) -> Cells {
        let part = |cells: u64| cells / u64::from(memory.parts);
        // Reserves beyond the chip's usual ones come out of the shared part, at every port.
        let (usual, alpha) = memory.queue;
        let cells = |bytes: Bytes| bytes.get().div_ceil(memory.cell.into());
        let reserve = |own: &Own| own.reserve.map_or(usual, cells);
        let more: i64 = queues.iter().map(|own| reserve(own) as i64 - usual as i64).sum();
        let shared = memory.egress.saturating_add_signed(-more * ports as i64);
        let account = |own: &Own| Account {
            reserve: reserve(own),
            alpha: Some(own.alpha.unwrap_or(alpha)),
            most: u64::MAX,
            shared: part(shared),
        };
        let port = |port| PortCells { part: part_of(port, memory.parts, ports as u64), group: 0 };
        Cells {
            cell: memory.cell,
            accounts: queues.iter().map(account).collect(),
            held: vec![0; ports * queues.len()].into(),
            group: Account {
                reserve: 0,
                alpha: None,
                most: u64::MAX,
                shared: part(memory.ingress),
            },
            ports: (0..ports as u32).map(port).collect(),
            parts: vec![Part::default(); memory.parts as usize].into(),
            lossless: None,
        }
    }

    /// Computes the bytes that a lossless group may hold before its neighbour is paused.
    ///
    /// # Errors
    /// As [`Cells::lossless`].
    pub(crate) fn group_may(
        pfc: &Pfc,
        sizes: &Sizes<'_>,
        inputs: Inputs,
    ) -> Result<GroupMay, AllHeadroom> {
        let Apart { rules, cell, .. } = Self::rules(pfc, sizes, inputs)?;
        let slowest =
            |a: &Account, b: &Account| a.alpha.unwrap_or(0.0).total_cmp(&b.alpha.unwrap_or(0.0));
        let first = rules.accounts.iter().copied().min_by(slowest);
        let Account { reserve, alpha, most, shared } = first.unwrap_or_default();
        let cell = f64::from(cell);
        let bytes = |cells: u64| cells as f64 * cell;
        Ok(GroupMay { reserve: bytes(reserve), alpha, most: bytes(most), shared: bytes(shared) })
    }

    /// Computes the headroom of a switch's groups, and how many of them its pool has it for.
    ///
    /// # Errors
    /// As [`Cells::lossless`].
    pub(crate) fn headroom_use(
        pfc: &Pfc,
        sizes: &Sizes<'_>,
        inputs: Inputs,
    ) -> Result<HeadroomUse, AllHeadroom> {
        let Apart { rules, cell, .. } = Self::rules(pfc, sizes, inputs)?;
        let Rules { classes, headroom, pool, parts, .. } = rules;
        let (classes, ports) = (u64::from(classes.count_ones()), headroom.len() as u64);
        let mut of_parts = vec![Vec::new(); parts];
        for (input, &cells) in headroom.iter().enumerate() {
            of_parts[part_of(input as u32, parts as u32, ports)].push(cells);
        }
        // The pool of a partition serves its own inputs alone: those that need most are counted
        // first.
        let (mut largest, mut all) = (0, true);
        for mut of in of_parts {
            of.sort_unstable_by(|a, b| b.cmp(a));
            let sums = of.iter().scan(0, |sum, cells| {
                *sum += cells * classes;
                Some(*sum)
            });
            let fit = sums.take_while(|&sum| sum <= pool).count();
            all &= fit == of.len();
            largest += fit as u64;
        }
        let bytes = |cells: u64| Bytes::new(cells * u64::from(cell));
        Ok(HeadroomUse {
            each: headroom.iter().map(|&cells| bytes(cells)).collect(),
            classes,
            pool: bytes(pool * parts as u64),
            largest,
            all,
        })
    }

    fn rules(pfc: &Pfc, sizes: &Sizes<'_>, inputs: Inputs) -> Result<Apart, AllHeadroom> {
        let memory = Memory::of(sizes, Bytes::ZERO, Some(1.0));
        let memory = memory.unwrap_or_else(|| Memory::plain(sizes, Bytes::ZERO, None));
        let Inputs { links, longest, shortest } = inputs;
        let space = |&link: &Input| pfc.headroom_cells(link, longest, shortest, memory.cell);
        // Headroom of one class; each lossless class of the input needs as much.
        let headroom: Box<[u64]> = links.iter().map(space).collect();
        let classes = pfc.priorities.iter().fold(0u8, |all, class| all | 1 << class);
        let cells = |bytes: Bytes| bytes.get() / u64::from(memory.cell);
        let every = headroom.iter().sum::<u64>() * u64::from(classes.count_ones());
        // SONiC's `over_subscribe_ratio`: not every group is expected to pause at once.
        let shared = |ratio: f64| (every as f64 / ratio).ceil() as u64;
        let given = pfc.headroom_pool.map(cells).or(pfc.over_subscription.map(shared));
        let given = given.or(memory.headroom);
        let pool = given.unwrap_or(every);
        // A chip's sizes have it apart already.
        let apart = if sizes.chip.is_some() { 0 } else { pool };
        let least = 2 * longest.get().div_ceil(memory.cell.into());
        let Some(shared) = memory.ingress.checked_sub(apart).filter(|&left| left >= least) else {
            let bytes = |cells: u64| Bytes::new(cells * u64::from(memory.cell));
            return Err(AllHeadroom { headroom: bytes(pool), memory: bytes(memory.ingress) });
        };
        let part = |cells: u64| cells / u64::from(memory.parts);
        let (usual, alpha) = memory.group;
        let reserve = pfc.reserve.map_or(usual, cells);
        let alpha = match pfc.threshold {
            // A fixed threshold takes the place of the dynamic one, not both at once.
            Some(_) => None,
            None => Some(pfc.alpha.unwrap_or(alpha)),
        };
        let most = pfc.threshold.map_or(u64::MAX, cells);
        let account = |link: &Input| {
            let alpha = alpha.map(|alpha| pfc.alpha_at(alpha, link.rate));
            Account { reserve, alpha, most, shared: part(shared) }
        };
        let rules = Rules {
            classes,
            accounts: links.iter().map(account).collect(),
            offset: cells(pfc.xon_offset),
            resumes_at: pfc.xon.map(cells),
            headroom,
            // A partition has what its own groups need, where that is not given.
            pool: if given.is_some() { part(pool) } else { pool },
            parts: memory.parts as usize,
        };
        Ok(Apart { rules, apart, cell: memory.cell })
    }

    #[inline]
    fn cells(&self, packet: &Packet) -> u64 {
        // A packet takes whole cells: one of 65 bytes in cells of 64 costs 128.
        packet.len_bytes.div_ceil(self.cell).into()
    }

    /// A packet's input, as the switch's ports are numbered.
    #[inline]
    fn input(&self, packet: &Packet) -> usize {
        usize::from(packet.ingress).min(self.ports.len() - 1)
    }

    #[inline]
    fn place(&self, at: &At, queue: QueueId) -> usize {
        at.number() * self.accounts.len() + usize::from(queue)
    }

    /// The groups of a class, if it is lossless.
    #[inline]
    fn lossless_of(&mut self, class: u8) -> Option<&mut Lossless> {
        self.lossless.as_mut().filter(|lossless| lossless.has(class))
    }

    /// Whether a packet of a lossy class has space.
    fn fits(&self, at: &At, queue: QueueId, packet: &Packet) -> bool {
        let cells = self.cells(packet);
        let (own, input) = (self.ports[at.number()], self.ports[self.input(packet)]);
        let (account, held) =
            (&self.accounts[usize::from(queue)], self.held[self.place(at, queue)]);
        account.fits(held, cells, self.parts[own.part].queues)
            && self.group.fits(input.group, cells, self.parts[input.part].groups)
    }

    /// Counts a packet of a lossless class that was dropped.
    fn dropped(&mut self, packet: &Packet, why: DropReason) {
        let group = (self.input(packet) as u16, packet.class);
        if let Some(lossless) = self.lossless_of(packet.class) {
            lossless.dropped(group, why);
        }
    }

    /// A packet came or went.
    #[inline]
    fn count(&mut self, at: &At, queue: QueueId, packet: &Packet, came: bool) {
        let (cells, input, place) = (self.cells(packet), self.input(packet), self.place(at, queue));
        let part = self.ports[input].part;
        let Cells { accounts, held, group, ports, parts, lossless, .. } = self;
        // Ingress accounting alone: a lossless packet is charged to its group and to no egress
        // queue.
        if let Some(lossless) = lossless.as_mut().filter(|lossless| lossless.has(packet.class)) {
            let (group, used) = ((input as u16, packet.class), &mut parts[part].groups);
            if came {
                *used += lossless.came(group, part, cells, *used);
            } else {
                *used -= lossless.went(group, part, cells);
                lossless.resume(part, *used, |input| ports[usize::from(input)].part);
            }
            return;
        }
        let after = |held: u64| if came { held + cells } else { held - cells };
        // Only cells beyond the reserve are taken from the pool: a group within it changes nothing.
        let charge = |account: &Account, held: &mut u64, used: &mut u64| {
            let before = account.beyond(*held);
            *held = after(*held);
            *used = used.wrapping_add(account.beyond(*held)).wrapping_sub(before);
        };
        let own = ports[at.number()].part;
        charge(&accounts[usize::from(queue)], &mut held[place], &mut parts[own].queues);
        charge(group, &mut ports[input].group, &mut parts[part].groups);
        if let Some(lossless) = lossless.as_mut().filter(|_| !came) {
            // Lossless groups may take the memory that lossy traffic leaves.
            lossless.resume(part, parts[part].groups, |input| ports[usize::from(input)].part);
        }
    }
}

/// The partition of one of so many ports: neighbours are together.
fn part_of(port: u32, parts: u32, ports: u64) -> usize {
    match parts {
        1 => 0,
        _ => (u64::from(port) * u64::from(parts) / ports) as usize,
    }
}

impl Policy for Cells {
    fn admit(&mut self, at: &At, queue: QueueId, packet: &Packet) -> Admission {
        let (cells, input) = (self.cells(packet), self.input(packet));
        let part = self.ports[input].part;
        let used = self.parts[part].groups;
        let has_space = match self.lossless_of(packet.class) {
            Some(lossless) => lossless.admits((input as u16, packet.class), part, cells, used),
            None => self.fits(at, queue, packet),
        };
        if has_space { Admission::In } else { Admission::Out(DropReason::Full) }
    }

    fn full(&self, at: &At, queue: QueueId, packet: &Packet) -> bool {
        // A lossless group has headroom, which only asking for it tells.
        let lossless = self.lossless.as_ref().is_some_and(|of| of.has(packet.class));
        !lossless && !self.fits(at, queue, packet)
    }

    fn stored(&mut self, at: &At, queue: QueueId, packet: &Packet) {
        self.count(at, queue, packet, true);
    }

    fn refused(&mut self, packet: &Packet, why: DropReason) {
        self.dropped(packet, why);
    }

    fn removed(&mut self, at: &At, queue: QueueId, packet: &Packet, why: DropReason) {
        self.count(at, queue, packet, false);
        self.dropped(packet, why);
    }

    fn sent(&mut self, at: &At, queue: QueueId, packet: &Packet) {
        self.count(at, queue, packet, false);
    }

    fn passed(&mut self, at: &At, queue: QueueId, packet: &Packet) {
        // Charges of a lossy packet that are taken back at once leave no trace.
        if self.lossless.is_some() {
            self.count(at, queue, packet, true);
            self.count(at, queue, packet, false);
        }
    }

    fn signal(&mut self) -> Option<Signal> {
        self.lossless.as_mut()?.signal()
    }

    fn groups(&self) -> Vec<GroupUse> {
        self.lossless.as_ref().map_or_else(Vec::new, |lossless| lossless.uses(self.cell))
    }

    fn restart_groups(&mut self) {
        if let Some(lossless) = &mut self.lossless {
            lossless.restart();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PortState;
    use crate::memory::chip::{CHIPS, Ingress, Observed};
    use proptest::prelude::*;
    use switchbed_units::{Bytes, Rate, Time};

    /// A switch whose memory is asked directly.
    struct Switch {
        cells: Cells,
        ports: Vec<PortState>,
    }

    impl Switch {
        fn new(chip: &Chip, ports: u32, queues: usize) -> Switch {
            Switch::of(chip, ports, &vec![Own::default(); queues])
        }

        fn of(chip: &Chip, ports: u32, own: &[Own]) -> Switch {
            let sizes = Sizes { chip: Some(chip), pool: None, egress: None };
            Switch::with(Cells::of(&sizes, ports as usize, own).unwrap())
        }

        fn with(cells: Cells) -> Switch {
            let quanta = vec![Bytes::new(1500); cells.accounts.len()];
            let port = |n| PortState::new(Rate::from_gbps(10), &quanta).numbered(n);
            Switch { ports: (0..cells.ports.len() as u32).map(port).collect(), cells }
        }

        fn at<T>(&mut self, port: usize, ask: impl FnOnce(&mut Cells, &At) -> T) -> T {
            let (now, capacity, used) = (Time::ZERO, Bytes::MAX, Bytes::ZERO);
            ask(&mut self.cells, &At { now, port: &self.ports[port], capacity, used })
        }

        /// Whether a packet from an input is let in.
        fn arrive(&mut self, port: usize, queue: QueueId, packet: &Packet) -> bool {
            self.at(port, |cells, at| {
                let comes = cells.admit(at, queue, packet) == Admission::In;
                if comes {
                    cells.stored(at, queue, packet);
                }
                comes
            })
        }

        fn send(&mut self, port: usize, queue: QueueId, packet: &Packet) {
            self.at(port, |cells, at| cells.sent(at, queue, packet));
        }

        fn signal(&mut self) -> Option<Signal> {
            self.cells.signal()
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

    /// A pool without cells whose class 3 is lossless, at so many inputs with so much headroom each.
    fn lossless(chip: Option<&Chip>, pool: u64, inputs: usize, set: impl Fn(&mut Pfc)) -> Switch {
        use switchbed_config::param::{Params, Value, defaults};
        let mut values = defaults(Pfc::TABLE);
        values.insert("priorities".to_owned(), Value::List(vec![Value::Count(3)]));
        let mut pfc = Pfc::from_values(&mut values);
        set(&mut pfc);
        let (delay, host) = (switchbed_units::Span::from_us(1), switchbed_units::Span::ZERO);
        let link = Input { rate: Rate::from_gbps(100), delay, host };
        let links = vec![link; inputs];
        let (longest, shortest) = (Bytes::new(100), Bytes::new(64));
        let inputs_of = Inputs { links: &links, longest, shortest };
        let given = chip.is_none().then(|| Bytes::new(pool));
        let sizes = Sizes { chip, pool: given, egress: None };
        let own = Own { alpha: chip.map(|_| 1.0), ..Own::default() };
        let cells = Cells::lossless(&pfc, &sizes, inputs, &[own], inputs_of).unwrap();
        Switch::with(cells.unwrap())
    }

    fn of_class(class: u8, len_bytes: u32, ingress: u16) -> Packet {
        Packet { class, ..packet(len_bytes, ingress) }
    }

    #[test]
    fn groups_pause_where_switches_were_seen_to() {
        let mut seen = 0;
        for chip in CHIPS.iter().filter(|chip| chip.lossy.is_some()) {
            for observed in chip.observed {
                let Observed::Pause { groups, cells } = *observed else { continue };
                let mut switch = lossless(Some(chip), 0, chip.ports as usize, |_| {});
                // Alike, in turn, at neighbours: they share a partition.
                let mut held = 0;
                'filled: loop {
                    for input in 0..groups {
                        assert!(switch.arrive(0, 0, &of_class(3, 64, input as u16)));
                        if let Some(signal) = switch.signal() {
                            assert!(signal.pause);
                            break 'filled;
                        }
                    }
                    held += 1;
                }
                assert!((held as i64 - cells as i64).abs() <= 2, "{}: {held}", chip.name);
                seen += 1;
            }
        }
        assert_eq!(seen, 6);
    }

    #[test]
    fn groups_that_are_filled_alike_share_by_alpha() {
        // α·S/(1 + n·α), of 1/8, 16 and 3,487,172 bytes: 145,298.8.
        let headroom = 27_000;
        let mut switch = lossless(None, 3_487_172 + 16 * headroom, 16, |pfc| {
            pfc.headroom = Some(Bytes::new(headroom));
        });
        let mut held = [0u64; 16];
        let mut paused = [false; 16];
        while paused.iter().any(|paused| !paused) {
            for input in 0..16u16 {
                if !paused[usize::from(input)] {
                    assert!(switch.arrive(usize::from(input), 0, &of_class(3, 64, input)));
                    held[usize::from(input)] += 64;
                }
                while let Some(signal) = switch.signal() {
                    paused[usize::from(signal.input)] = signal.pause;
                }
            }
        }
        for held in held {
            assert!((held as f64 - 145_298.8).abs() <= 2.0 * 64.0, "{held}");
        }
    }

    #[test]
    fn groups_that_are_filled_one_by_one_halve_what_is_left() {
        // α = 1: half, a quarter, an eighth of 240,087 cells, as Tomahawk 5's published sequence.
        let mut switch = lossless(None, 240_087 + 5 * 10, 5, |pfc| {
            (pfc.alpha, pfc.headroom) = (Some(1.0), Some(Bytes::new(10)));
        });
        let fill = |switch: &mut Switch, input| {
            let mut held = 0u64;
            while switch.arrive(0, 0, &of_class(3, 1, input)) && switch.signal().is_none() {
                held += 1;
            }
            // Bytes beyond the threshold are in the headroom, to which nothing is added here.
            held
        };
        let held: Vec<u64> = (0..5).map(|input| fill(&mut switch, input)).collect();
        for (held, published) in held.iter().zip([120_043, 60_022, 30_011, 15_005, 7_503]) {
            assert!(held.abs_diff(published) <= 1, "{held} for {published}");
        }
    }

    #[test]
    fn alpha_of_a_faster_input_is_what_its_rate_makes_it() {
        // α = 1/4 at 50 Gbps is 1/2 at 100: a third of 3,000 bytes alone, where 1/4 would give 600.
        for (rate, most) in [(50, 1_000), (100, 600)] {
            let mut switch = lossless(None, 3_000 + 10, 2, |pfc| {
                (pfc.alpha, pfc.alpha_rate) = (Some(0.25), Some(Rate::from_gbps(rate)));
                (pfc.headroom, pfc.headroom_pool) = (Some(Bytes::new(10)), Some(Bytes::new(10)));
            });
            let fits =
                |_: &u64| switch.arrive(0, 0, &of_class(3, 1, 0)) && switch.signal().is_none();
            assert_eq!((0..3_000).take_while(fits).count(), most);
        }
    }

    #[test]
    fn a_group_pauses_fills_its_headroom_and_resumes_under_its_threshold() {
        // 1,000 bytes shared, α = 1: 500, then 100 of headroom; it resumes 200 under the threshold.
        let mut switch = lossless(None, 1000 + 200, 2, |pfc| {
            (pfc.alpha, pfc.headroom) = (Some(1.0), Some(Bytes::new(100)));
            pfc.xon_offset = Bytes::new(200);
            pfc.headroom_pool = Some(Bytes::new(200));
        });
        let pause = |input, pause| Some(Signal { input, class: 3, pause });
        for _ in 0..5 {
            assert!(switch.arrive(0, 0, &of_class(3, 100, 0)));
        }
        assert_eq!(switch.signal(), None);
        assert!(switch.arrive(0, 0, &of_class(3, 60, 0)));
        assert_eq!(switch.signal(), pause(0, true));
        assert!(switch.arrive(0, 0, &of_class(3, 40, 0)));
        assert!(!switch.arrive(0, 0, &of_class(3, 1, 0)), "the headroom is full");
        assert_eq!(switch.signal(), None, "it has paused");
        // Another class is not lossless and has its queue's threshold, another input its own group.
        assert!(
            switch.arrive(0, 0, &of_class(0, 100, 0)) && switch.arrive(0, 0, &of_class(3, 100, 1))
        );
        // 100 of the headroom go first, then 400 - 200 under the threshold of what is left.
        switch.send(0, 0, &of_class(3, 60, 0));
        switch.send(0, 0, &of_class(3, 40, 0));
        assert_eq!(switch.signal(), None);
        switch.send(0, 0, &of_class(3, 100, 0));
        assert_eq!(switch.signal(), None, "400 held, 500 left: 300 would do");
        switch.send(0, 0, &of_class(3, 100, 0));
        assert_eq!(switch.signal(), pause(0, false), "300 held, 600 left");
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

    /// 30 cells shared, two a queue: five for queue 1 at each of four ports leave 18 to share. With α = 1
    /// queue 0 takes 2 + 9, queue 1, with α = 2, 5 + 12.
    #[test]
    fn queues_have_reserves_and_alphas_of_their_own() {
        let own = Own { alpha: Some(2.0), reserve: Some(Bytes::new(500)) };
        let one = Own { alpha: Some(1.0), ..Own::default() };
        for (queue, held) in [(0, 11), (1, 17)] {
            let mut switch = Switch::of(&small(30, 1000), 4, &[one, own]);
            let all = (0..100).take_while(|_| switch.arrive(0, queue, &packet(100, 0))).count();
            assert_eq!(all, held, "queue {queue}");
        }
    }

    /// 12 cells that lossy queues share and 20 of the inputs in place of the chip's 30 and 1000: queues that are
    /// filled one by one hold 2 + 6, 2 + 3 and 2 + 2; the fourth 2 + 1, where the inputs' 20 end, too.
    #[test]
    fn pools_of_other_sizes_take_the_place_of_the_chips() {
        let chip = small(30, 1000);
        let (pool, egress) = (Some(Bytes::new(2_000)), Some(Bytes::new(1_299)));
        let sizes = Sizes { chip: Some(&chip), pool, egress };
        let mut switch = Switch::with(Cells::of(&sizes, 4, &[Own::default()]).unwrap());
        let held: Vec<usize> = (0..4)
            .map(|port| (0..50).take_while(|_| switch.arrive(port, 0, &packet(100, 1))).count())
            .collect();
        assert_eq!(held, [8, 5, 4, 3]);
    }

    #[test]
    fn a_groups_reserve_may_be_another_than_the_chips() {
        // 500 of its own, then half of the 1,000 that are shared.
        let mut switch = lossless(None, 1_000 + 200, 2, |pfc| {
            (pfc.alpha, pfc.headroom) = (Some(1.0), Some(Bytes::new(100)));
            (pfc.reserve, pfc.headroom_pool) = (Some(Bytes::new(500)), Some(Bytes::new(200)));
        });
        let fits = |_: &u32| switch.arrive(0, 0, &of_class(3, 1, 0)) && switch.signal().is_none();
        assert_eq!((0..3_000).take_while(fits).count(), 1_000);
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
            for part in &switch.cells.parts {
                prop_assert_eq!((part.queues, part.groups), (0, 0));
            }
        }
    }

    #[test]
    fn groups_may_hold_what_dcqcns_paper_says() {
        // Zhu et al., section 4, from memory: 12 MB, 32 ports of 8 priorities, 22.4 KB of headroom each leave 24.47 KB for each
        // threshold of pausing; with β = 8, which is α = 8/256, all may hold 21.75 KB at once before any is
        // paused.
        let shared = 12e6 - 256.0 * 22_400.0;
        let may = GroupMay { reserve: 0.0, alpha: None, most: f64::MAX, shared };
        assert!((may.each_of(256.0) - 24_475.0).abs() < 1.0);
        let may = GroupMay { alpha: Some(8.0 / 256.0), ..may };
        assert!((may.each_of(256.0) - 21_755.6).abs() < 1.0);
        // Alone, a group has αS/(1 + α); a static threshold bounds it.
        assert!((may.each_of(1.0) - shared * 0.03125 / 1.03125).abs() < 1.0);
        let fixed = GroupMay { alpha: None, most: 10_000.0, reserve: 500.0, ..may };
        assert_eq!(fixed.each_of(1.0), 10_500.0);
    }
}
