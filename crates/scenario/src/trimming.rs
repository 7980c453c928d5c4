//! `[switch.trimming]`: which packets are cut instead of dropped.

use crate::queue::{self, Entry};
use switchbed_config::key;
use switchbed_config::mistake::Mistake;
use switchbed_config::param::{Params, SectionSpec};
use switchbed_config::section::Section;
use switchbed_qdisc::switch::{BufferPolicy, Classify, Switch};
use switchbed_qdisc::trimming::{LEAST, TrimMode, Trimming};
use switchbed_units::Bytes;

const LIMIT: &str = queue::SECTION.key("limit");
const SECTION: SectionSpec = switchbed_qdisc::switch::SECTION;

/// Reads the table; queues of `[[switch.queue]]` may join or leave. `switch` has no trimming yet.
pub(crate) fn resolve(
    section: &Section<'_>,
    entries: &[Entry<'_>],
    switch: &Switch,
    mtu: Bytes,
) -> Result<Option<Trimming>, Mistake> {
    let inner = section.inner(key!(trimming))?;
    let mut own = Vec::new();
    for entry in entries {
        let Some(trims) = entry.section.maybe::<bool>(queue::TRIM)? else { continue };
        if trims && inner.is_none() {
            let why = "switch.trimming says how: write [switch.trimming]";
            return Err(entry.section.refuse(queue::TRIM, why));
        }
        own.extend(entry.queues.iter().map(|&queue| (queue as u8, trims)));
    }
    let Some(inner) = inner else { return Ok(None) };
    let mut trimming = Trimming::from_values(&mut inner.values()?);
    let key = Trimming::KEY;
    if trimming.size < LEAST || trimming.size > mtu {
        let why = format!("it must be from {LEAST} to a full packet, {mtu}");
        return Err(inner.refuse(key.size, why));
    }
    let queues = switch.queues;
    if trimming.queue.is_none() && switch.classify != Classify::Class {
        let word = switch.classify.word();
        let why = format!(
            "switch.classify = \"{word}\" finds no queue by the class of a trimmed packet: write it"
        );
        return Err(inner.refuse(key.queue, why));
    }
    let Some(queue) = trimming.queue_in(switch) else { return Ok(None) };
    if u16::from(queue) >= queues {
        let why = format!("there is no queue {queue}: switch.queues is {queues}");
        return Err(inner.refuse(key.queue, why));
    }
    // Each has its queue by class, unless one queue is named for all.
    let at_hosts = |class: u8| trimming.queue.unwrap_or(class);
    let taken = [Some(queue), trimming.host_dscp.map(at_hosts)];
    let lossless = |queue: u8| switch.pfc.as_ref().is_some_and(|pfc| pfc.lossless(queue));
    if lossless(queue) {
        let why = format!("queue {queue} is lossless, and trimmed packets may be dropped");
        return Err(inner.refuse(key.queue, why));
    }
    let given = trimming.queues.is_some();
    // By default all that can be trimmed: not where trimmed packets go, nor lossless ones.
    let all = (0..queues as u8).filter(|queue| !taken.contains(&Some(*queue)) && !lossless(*queue));
    let mut eligible = trimming.queues.take().unwrap_or_else(|| all.collect());
    // Entries have the last word.
    for &(queue, trims) in &own {
        eligible.retain(|other| *other != queue);
        if trims {
            eligible.push(queue);
        }
    }
    eligible.sort_unstable();
    eligible.dedup();
    let refuse = |why: String| {
        let at = entries.iter().find(|entry| entry.section.given(queue::TRIM).is_some());
        Err(match (given, at) {
            (false, Some(entry)) => entry.section.refuse(queue::TRIM, why),
            _ => inner.refuse(key.queues, why),
        })
    };
    for &queue in &eligible {
        if u16::from(queue) >= queues {
            return refuse(format!("there is no queue {queue}: switch.queues is {queues}"));
        }
        if taken.contains(&Some(queue)) {
            return refuse(format!(
                "queue {queue} is the trimmed packets': another must be trimmed"
            ));
        }
        if lossless(queue) {
            return refuse(format!("queue {queue} is lossless: it pauses before it loses"));
        }
    }
    if eligible.is_empty() {
        return refuse("no queue is trimmed: leave switch.trimming away".to_owned());
    }
    trimming.queues = Some(eligible);
    if trimming.mode == TrimMode::Htsim {
        let limited = entries.iter().find(|entry| entry.section.given(LIMIT).is_some());
        if let Some(entry) = limited {
            let why = "with switch.trimming.mode = \"htsim\" switch.buffer is each queue's limit";
            return Err(entry.section.refuse(LIMIT, why));
        }
        if switch.policy != BufferPolicy::Shared {
            let why = "it has the memory of each queue by itself: switch.policy must be \"shared\", \
                       without asic and pfc";
            return Err(inner.refuse(key.mode, why));
        }
    }
    Ok(Some(trimming))
}
