//! `[switch]`: the keys and the value are of `qdisc`, which has them for live switches, too.

pub use switchbed_qdisc::switch::*;

use crate::queue;
use switchbed_config::key;
use switchbed_config::mistake::Mistake;
use switchbed_config::param::{Param, ParamKind, Params, SectionSpec, join};
use switchbed_config::section::Section;
use switchbed_config::tree::{Data, Node};
use switchbed_qdisc::memory::chip::Asic;
use switchbed_qdisc::memory::pfc::Pfc;
use switchbed_qdisc::port::pauses::Rule;
use switchbed_units::{Bytes, Span};

/// `[switch]`, with its `[[switch.queue]]`.
pub const SECTION: SectionSpec = SectionSpec {
    keys: &join::<{ switchbed_qdisc::switch::SECTION.keys.len() + 1 }>(&[
        switchbed_qdisc::switch::SECTION.keys,
        &[Param::optional("queue", ParamKind::Tables(queue::SECTION.keys), queue::SECTION.doc)],
    ]),
    ..switchbed_qdisc::switch::SECTION
};

/// `ports` are those of every kind of switch.
pub(crate) fn resolve(section: Section<'_>, ports: &[u32], mtu: Bytes) -> Result<Switch, Mistake> {
    // The most ports: a shared memory's parts are smallest there.
    let ports = ports.iter().copied().max().unwrap_or(1);
    let queues = section.get(key!(queues))?;
    let classify: Classify = section.get(key!(classify))?;
    let discipline: Discipline = section.get(key!(discipline))?;
    let strict: u16 = section.get(key!(strict))?;
    let strict_order = section.get(key!(strict_order))?;
    let entries = queue::entries(&section, queues)?;
    let mut quantum = quantum(&section, queues)?;
    for entry in &entries {
        if let Some(own) = entry.section.maybe(QUANTUM)? {
            entry.queues.iter().for_each(|&queue| quantum[queue] = own);
        }
    }
    let mut strict_queues: Vec<bool> = (0..queues).map(|queue| queue < strict).collect();
    for entry in &entries {
        if let Some(own) = entry.section.maybe(STRICT)? {
            entry.queues.iter().for_each(|&queue| strict_queues[queue] = own);
        }
    }
    // Strict queues alone would leave the scheduler below them nothing to share.
    if strict_queues.iter().all(|strict| *strict) {
        let why = format!("of {queues} queues at least one must be below the strict ones");
        let entry = entries.iter().find(|entry| entry.section.given(STRICT).is_some());
        let of = entry.map_or(&section, |entry| &entry.section);
        return Err(of.refuse(STRICT, why));
    }
    for (i, &bytes) in quantum.iter().enumerate() {
        let own = entries.iter().find(|entry| entry.queues.contains(&i)).map(|e| &e.section);
        let section = own.filter(|own| own.given(QUANTUM).is_some()).unwrap_or(&section);
        let least = match discipline {
            // WRR counts whole packets: less than one would never let it send.
            Discipline::Wrr if !strict_queues[i] => mtu,
            _ => Bytes::new(1),
        };
        if bytes < least {
            let why = match discipline {
                Discipline::Wrr => format!("wrr needs at least a packet, {mtu}, for each queue"),
                _ => "a quantum is at least 1 byte".to_owned(),
            };
            return Err(section.refuse(QUANTUM, why));
        }
        // Quanta are 32 bits in the schedulers.
        let most = Bytes::new(u32::MAX.into());
        if bytes > most {
            return Err(section.refuse(QUANTUM, format!("it must be at most {most}")));
        }
    }
    let pfc = pfc(&section, &entries, queues, classify, mtu)?;
    let asic: Option<Asic> = section.maybe(key!(asic))?;
    let given_policy: BufferPolicy = section.get(key!(policy))?;
    // Read where it applies alone: elsewhere `close` refuses it as unknown to the choice.
    let egress_pool: Option<Bytes> =
        if asic.is_some() || pfc.is_some() || given_policy == BufferPolicy::Asic {
            section.maybe(key!(egress_pool))?
        } else {
            None
        };
    let pool: Option<Bytes> = section.maybe(key!(pool))?;
    for (key, pool) in [(key!(pool), pool), (key!(egress_pool), egress_pool)] {
        if pool.is_some_and(|pool| pool < mtu) {
            return Err(section.refuse(key, format!("it must hold a packet, {mtu}")));
        }
    }
    let memory: Option<Bytes> = if asic.is_some() { None } else { section.maybe(key!(memory))? };
    let buffer = match asic {
        Some(asic) => chips(&section, asic, egress_pool)?,
        None if pfc.is_some() || given_policy == BufferPolicy::Asic => shared_by_all(&section)?,
        None => buffer(&section, memory, ports)?,
    };
    let given = if memory.is_some() { "memory" } else { "buffer" };
    let policy = policy(&section, asic, given_policy, pfc.is_some())?;
    // Static parts divide a port's buffer among its queues.
    let parts = if policy == BufferPolicy::Static { u64::from(queues) } else { 1 };
    if buffer.get() / parts < mtu.get() {
        let whose = if parts > 1 { "each queue's part" } else { "it" };
        let whose = if memory.is_some() { "a port's part" } else { whose };
        return Err(section.refuse(given, format!("{whose} must hold a packet, {mtu}")));
    }
    if policy.shares_pool() && pool.is_none() {
        return Err(section.missing(key!(pool)));
    }
    let alpha: Option<f64> = match policy {
        BufferPolicy::Shared | BufferPolicy::Static | BufferPolicy::Lqd => None,
        BufferPolicy::Asic => section.maybe(key!(alpha))?,
        BufferPolicy::Dynamic | BufferPolicy::Fab => Some(section.get_or(key!(alpha), 1.0)?),
        BufferPolicy::Abm => Some(section.get_or(key!(alpha), 0.5)?),
        BufferPolicy::Occamy => Some(section.get_or(key!(alpha), 8.0)?),
    };
    let sharing = Sharing { asic, egress_pool, ..sharing(&section, policy)? };
    let unmarkable = section.get(key!(unmarkable))?;
    let mut switch = Switch {
        queues,
        classify,
        discipline,
        strict,
        strict_order,
        quantum,
        buffer,
        memory,
        policy,
        pool,
        alpha,
        sharing,
        unmarkable,
        pfc,
        trimming: None,
        queue: Vec::new(),
    };
    // Last, as both look at the whole switch.
    switch.trimming = crate::trimming::resolve(&section, &entries, &switch, mtu)?;
    switch.queue = queue::rules(&entries, &switch, (ports, mtu))?;
    section.close("this switch")?;
    Ok(switch)
}

/// A chip brings its policy, and so do lossless classes.
fn policy(
    section: &Section<'_>,
    asic: Option<Asic>,
    given: BufferPolicy,
    pauses: bool,
) -> Result<BufferPolicy, Mistake> {
    match (asic, given) {
        (None, BufferPolicy::Shared | BufferPolicy::Asic) if pauses => Ok(BufferPolicy::Asic),
        (None, _) if pauses => {
            let why = "switch.pfc brings its own, \"asic\": leave one of the two away";
            Err(section.refuse(key!(policy), why))
        }
        (None, _) => Ok(given),
        (Some(_), BufferPolicy::Shared | BufferPolicy::Asic) => Ok(BufferPolicy::Asic),
        (Some(Asic(chip)), _) => {
            let why = format!("asic = \"{}\" brings its own: leave one of the two away", chip.name);
            Err(section.refuse(key!(policy), why))
        }
    }
}

/// Which classes pause before they lose.
fn pfc(
    section: &Section<'_>,
    entries: &[queue::Entry<'_>],
    queues: u16,
    classify: Classify,
    mtu: Bytes,
) -> Result<Option<Pfc>, Mistake> {
    let (lossless, written) = queue::lossless(entries)?;
    let table = section.given(key!(pfc)).and_then(Node::as_table).cloned();
    let listed = table.as_ref().is_some_and(|table| table.get(Pfc::KEY.priorities).is_some());
    if let Some(entry) = written.filter(|_| listed) {
        let why = "switch.pfc.priorities lists the lossless classes: leave one of the two away";
        return Err(entry.refuse(queue::LOSSLESS, why));
    }
    // The mistake's line is the queue's that made it lossless.
    let at = written.map_or(section.at, |entry| entry.at);
    // As if the table listed them: one path for both ways to write it.
    let mut table = table.unwrap_or_default();
    let classes = lossless.iter().map(|&class| Node { at, data: Data::Whole(class as i128) });
    table.insert(Pfc::KEY.priorities, Node { at, data: Data::List(classes.collect()) });
    let node = Node { at, data: Data::Table(table) };
    let path = section.key(key!(pfc));
    let by_queue = Section::open(section.origin, &path, Pfc::TABLE, Some(&node), Some(mtu))?;
    let inner = match lossless.is_empty() {
        true => section.inner(key!(pfc))?,
        false => Some(by_queue),
    };
    let Some(inner) = inner else { return Ok(None) };
    let pfc = Pfc::from_values(&mut inner.values()?);
    let shortest = Span::from_us(1);
    for (key, time) in
        [(Pfc::KEY.detection_time, pfc.detection_time), (Pfc::KEY.deadlock_time, pfc.deadlock_time)]
    {
        if time < shortest {
            return Err(inner.refuse(key, format!("it must be at least {shortest}")));
        }
    }
    if let Some(poll) = pfc.poll {
        if poll == Span::ZERO {
            return Err(inner.refuse(Pfc::KEY.poll, "a time over 0 is needed"));
        }
        if poll > pfc.detection_time {
            let why = format!(
                "the watchdog looks every {poll}, and detection_time is {}: it must be as long at least",
                pfc.detection_time
            );
            return Err(inner.refuse(Pfc::KEY.poll, why));
        }
    } else if pfc.poll_rule != Rule::Broadcom {
        let why = "it is the rule of looks that come every so often: give poll, such as \"200ms\"";
        return Err(inner.refuse(Pfc::KEY.poll_rule, why));
    }
    let share = pfc.pauses_share();
    // Frames sent again at half of each pause would alone fill the line.
    if share >= 1.0 && !pfc.priorities.is_empty() {
        let why = format!(
            "pause frames of {} classes, each sent again after half of its quanta, would take {share:.3} times \
             what a line carries: at least {}",
            pfc.priorities.len(),
            2 * pfc.priorities.len() + 1
        );
        return Err(inner.refuse(Pfc::KEY.quanta, why));
    }
    if classify != Classify::Class {
        let why = "switch.pfc pauses classes, which must be queues: it must be \"class\"";
        return Err(section.refuse(key!(classify), why));
    }
    if pfc.threshold.is_some() && pfc.alpha.is_some() {
        return Err(
            inner.refuse(Pfc::KEY.threshold, "alpha follows what is left: write one of them")
        );
    }
    if pfc.over_subscription.is_some() && pfc.headroom_pool.is_some() {
        let why = "headroom_pool says how much all groups share: write one of them";
        return Err(inner.refuse(Pfc::KEY.over_subscription, why));
    }
    let (rates, delays) = (pfc.headroom_rates.len(), pfc.headroom_delays.len());
    for (key, count) in [
        (Pfc::KEY.headroom_sizes, pfc.headroom_sizes.len()),
        (Pfc::KEY.headroom_delays, if delays == 0 { rates } else { delays }),
    ] {
        if count != rates {
            let why = format!("one for each of headroom_rates is needed, and these are {rates}");
            return Err(inner.refuse(key, why));
        }
    }
    let twice = |nth: &usize| pfc.priorities[..*nth].contains(&pfc.priorities[*nth]);
    if let Some(nth) = (0..pfc.priorities.len()).find(twice) {
        // Each listing would pause, count and reserve headroom anew.
        let why = format!("class {} is named twice", pfc.priorities[nth]);
        return Err(inner.refuse(Pfc::KEY.priorities, why));
    }
    match pfc.priorities.iter().find(|&&class| u16::from(class) >= queues) {
        _ if pfc.priorities.is_empty() => {
            return Err(
                inner.refuse(Pfc::KEY.priorities, "it lists no class: leave switch.pfc away")
            );
        }
        Some(class) => {
            let why = format!("class {class} has no queue of its own: switch.queues is {queues}");
            return Err(inner.refuse(Pfc::KEY.priorities, why));
        }
        None => {}
    }
    Ok(Some(pfc))
}

/// Memory that a chip's lossy queues share. It counts as the memory of every port, since no port has
/// a part of its own.
fn chips(
    section: &Section<'_>,
    Asic(chip): Asic,
    egress_pool: Option<Bytes>,
) -> Result<Bytes, Mistake> {
    // Egress limits are in cells on the chip.
    let Some(cells) = egress_pool.map(|pool| chip.cells(pool.get())).or(chip.lossy_cells()) else {
        let why = "how it shares its memory is not known: write switch.egress_pool, or another chip \
                   (switchbed asic list)";
        return Err(section.refuse(key!(asic), why));
    };
    let memory = Bytes::new(cells * u64::from(chip.cell));
    match section.maybe::<Bytes>(key!(buffer))? {
        Some(buffer) if buffer != memory => {
            let why = format!("asic = \"{}\" has {memory}: leave one of the two away", chip.name);
            Err(section.refuse(key!(buffer), why))
        }
        _ => Ok(memory),
    }
}

/// Memory that lossless groups share with the rest. It counts as the memory of every port, since no
/// port has a part of its own.
fn shared_by_all(section: &Section<'_>) -> Result<Bytes, Mistake> {
    let (pool, buffer) = (section.maybe(key!(pool))?, section.maybe::<Bytes>(key!(buffer))?);
    let like = || buffer.map_or("\"12MB\"".into(), |all| format!("\"{all}\" in place of buffer"));
    let pool: Bytes = pool.ok_or_else(|| section.missing_like(key!(pool), &like()))?;
    match buffer {
        Some(buffer) if buffer != pool => {
            let why = format!("all share switch.pool, {pool}: leave it away");
            Err(section.refuse(key!(buffer), why))
        }
        _ => Ok(pool),
    }
}

/// Reads the keys that only some policies use.
fn sharing(section: &Section<'_>, policy: BufferPolicy) -> Result<Sharing, Mistake> {
    let mut sharing = Sharing::default();
    if policy == BufferPolicy::Abm || policy == BufferPolicy::Fab {
        sharing.young = section.maybe(key!(young))?;
        if policy == BufferPolicy::Fab {
            sharing.young.get_or_insert(Bytes::new(22_500));
        }
        if sharing.young.is_some() {
            sharing.alpha_young = Some(section.get_or(key!(alpha_young), 64.0)?);
        }
    }
    if policy == BufferPolicy::Abm {
        let saturation = section.get_or(key!(saturation), Bytes::new(28_000))?;
        if saturation == Bytes::ZERO {
            return Err(section.refuse(key!(saturation), "it must be at least 1 byte"));
        }
        let interval = section.get_or(key!(drain_interval), Span::from_us(30))?;
        if interval == Span::ZERO {
            return Err(section.refuse(key!(drain_interval), "it must be longer than 0"));
        }
        (sharing.saturation, sharing.drain_interval) = (Some(saturation), Some(interval));
    }
    if policy == BufferPolicy::Occamy {
        sharing.expulsion = section.maybe(key!(expulsion))?;
    }
    Ok(sharing)
}

/// A port's memory: given, or the least that a port has of its switch's.
fn buffer(section: &Section<'_>, memory: Option<Bytes>, ports: u32) -> Result<Bytes, Mistake> {
    let given: Option<Bytes> = section.maybe(key!(buffer))?;
    let Some(memory) = memory else { return given.ok_or_else(|| section.missing(key!(buffer))) };
    let part = Bytes::new(memory.get() / u64::from(ports));
    match given {
        Some(buffer) if buffer != part => {
            let why = format!("switch.memory gives a port {part}: write one of them");
            Err(section.refuse(key!(buffer), why))
        }
        _ => Ok(part),
    }
}

/// Of `[switch]` and of its `[[switch.queue]]`.
const QUANTUM: &str = queue::SECTION.key("quantum");
const STRICT: &str = queue::SECTION.key("strict");

/// A quantum for each queue.
fn quantum(section: &Section<'_>, queues: u16) -> Result<Vec<Bytes>, Mistake> {
    let node = section.node(key!(quantum)).ok_or_else(|| section.missing(key!(quantum)))?;
    let Data::List(_) = node.data else {
        let one = section.read(&ParamKind::Size, &node, "quantum")?;
        return Ok(vec![one; usize::from(queues)]);
    };
    let each = section.list(key!(quantum))?.unwrap_or_default();
    if each.len() != usize::from(queues) {
        let why = format!("it lists {} for {queues} queues: write one for each", each.len());
        return Err(section.refuse(key!(quantum), why));
    }
    Ok(each)
}
