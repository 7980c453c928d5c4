//! Keys of `[transport]` and `[roce]` that have no meaning under the kind of transport that a file chose.

use crate::{Roce, Scenario, Transport};
use std::path::PathBuf;
use switchbed_config::mistake::Origin;
use switchbed_config::param::Params;
use switchbed_config::section::Section;
use switchbed_config::tree::{At, Data, Entry, Node, Table};
use switchbed_congestion::CongestionControl;
use switchbed_congestion::roce::RateControl;
use switchbed_units::Bytes;

/// Remarks on keys that a scenario's file gives and its one transport never reads.
pub(crate) fn remarks(root: &Table, scenario: &Scenario) -> Vec<String> {
    let own = |entry: &Node| entry.as_table().is_some_and(|e| e.get("transport").is_some());
    let entries = root.get("traffic").and_then(Node::as_list).unwrap_or_default();
    let by_host = root.get("host").is_some_and(|host| host.as_list().is_some());
    if entries.iter().any(own) || by_host {
        return Vec::new();
    }
    let given = |section: &str, unread: Vec<&'static str>, kind: &str| {
        let table = root.get(section)?.as_table()?;
        let given = table.entries.iter().map(|entry| entry.key.as_str());
        let given: Vec<&str> = given.filter(|key| unread.contains(key)).collect();
        let does = if given.len() == 1 { "does" } else { "do" };
        let keys =
            given.iter().map(|key| format!("{section}.{key}")).collect::<Vec<_>>().join(", ");
        (!given.is_empty()).then(|| format!("{keys} {does} nothing under {kind}"))
    };
    let control = &scenario.transport.control;
    let kind = format!("transport.kind = \"{}\"", control.word());
    let instead = if control.about().roce { ", whose keys stand in [roce]" } else { "" };
    let of_transport = given("transport", of_transport(control), &(kind + instead));
    let of_roce = scenario.roce.as_ref().and_then(|roce| {
        let kind = format!("\"{}\"", roce.control.word());
        given("roce", of_roce(&roce.control), &kind)
    });
    of_transport.into_iter().chain(of_roce).collect()
}

/// The keys of a section that are never read where its `kind` is this word.
pub(crate) fn under(section: &str, word: &str) -> Vec<&'static str> {
    match section {
        "transport" => of_kind(CongestionControl::KEY, word).map(|kind| of_transport(&kind)),
        "roce" => of_kind(RateControl::KEY, word).map(|kind| of_roce(&kind)),
        _ => None,
    }
    .unwrap_or_default()
}

/// Whether `transport.kind` of this word has its keys in `[roce]`.
pub(crate) fn is_roce(word: &str) -> bool {
    of_kind(CongestionControl::KEY, word).is_some_and(|kind: CongestionControl| kind.about().roce)
}

/// The control of this word with its defaults.
fn of_kind<T: Params>(key: &str, word: &str) -> Option<T> {
    let origin = Origin {
        file: String::new(),
        folder: PathBuf::new(),
        overrides: Vec::new(),
        home: |_| None,
    };
    let entry = Entry { key: key.to_owned(), at: At::Unwritten, value: Node::text(word) };
    let table = Data::Table(Table { entries: vec![entry] });
    let node = Node { at: At::Unwritten, data: table };
    let section = Section::open(&origin, "", T::TABLE, Some(&node), Some(Bytes::new(1500))).ok()?;
    Some(T::from_values(&mut section.values().ok()?))
}

/// The keys of `[transport]` that a control never reads.
fn of_transport(control: &CongestionControl) -> Vec<&'static str> {
    let (key, about) = (Transport::KEY, control.about());
    // Queue pairs are set up by `[roce]`. Datagrams have a length and ECN; probes beside either have ECN.
    let read: &[&str] = match (about.tcp, about.roce) {
        (true, _) => return Vec::new(),
        (false, true) => &[key.ecn],
        (false, false) => &[key.mss, key.header, key.ecn],
    };
    // The file's reader refuses parameters of other kinds.
    let chosen = CongestionControl::TABLE;
    let keys = Transport::TABLE.iter().filter(|of| chosen.iter().all(|kind| kind.name != of.name));
    keys.map(|of| of.name).filter(|name| !read.contains(name)).collect()
}

/// The keys of `[roce]` that queue pairs of a control never read.
fn of_roce(control: &RateControl) -> Vec<&'static str> {
    let (key, about) = (Roce::KEY, control.about());
    let mut unread = match about.unordered() {
        true => {
            let in_order = [key.ack_every, key.recovery, key.nack_interval];
            [&in_order[..], &[key.rto, key.rto_low, key.window]].concat()
        }
        false => vec![key.spray, key.entropies, key.ack_after, key.spray_rto, key.control_len],
    };
    if !about.nscc {
        unread.extend([key.target_delay, key.sleek]);
    }
    unread.extend((!about.credits).then_some(key.oversubscription));
    unread.extend((!about.cnp).then_some(key.cnp_class));
    unread
}

#[cfg(test)]
mod tests {
    use crate::plans_of;
    use std::path::Path;

    /// Remarks on a star of four hosts with these lines in place of its transport, under these overrides.
    fn remarks(lines: &str, sets: &[&str]) -> Vec<String> {
        let text = format!(
            "[topology]\nkind = \"star\"\nhosts = 4\nrate = \"10Gbps\"\ndelay = \"1us\"\n\
             [switch]\nbuffer = \"300KB\"\n[scheme]\nname = \"none\"\n[run]\nuntil = \"1ms\"\n{lines}\n\
             [[traffic]]\nkind = \"long-lived\"\nfrom = [0, 1]\nto = 3\n"
        );
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let plans = plans_of("star.toml", &text, Path::new(""), &sets, None).unwrap();
        plans.into_iter().flat_map(|plan| plan.remarks).collect()
    }

    #[test]
    fn keys_that_a_transport_never_reads_are_said() {
        for (lines, said) in [
            (
                "[transport]\nkind = \"dcqcn\"\nrto_min = \"10ms\"",
                "transport.rto_min does nothing under transport.kind = \"dcqcn\", whose keys stand in [roce]",
            ),
            (
                "[transport]\nkind = \"udp\"\nmss = \"1000B\"\nrto_min = \"10ms\"\nack_every = 1",
                "transport.rto_min, transport.ack_every do nothing under transport.kind = \"udp\"",
            ),
            (
                "[transport]\nkind = \"roce\"\n[roce]\nspray = \"reps\"",
                "roce.spray does nothing under \"roce\"",
            ),
            (
                "[roce]\nkind = \"nscc\"\nclasses = [0]\nrto = \"1ms\"",
                "roce.rto does nothing under \"nscc\"",
            ),
        ] {
            assert_eq!(remarks(lines, &[]), [said], "{lines}");
        }
    }

    #[test]
    fn keys_for_others_of_a_comparison_or_of_the_traffic_are_not() {
        let tcp = "[transport]\nkind = \"dctcp\"\nrto_min = \"10ms\"";
        assert!(remarks(tcp, &[]).is_empty());
        assert!(remarks(tcp, &["compare.transport.kind=[dctcp,dcqcn]"]).is_empty());
        assert_eq!(remarks(tcp, &["transport.kind=dcqcn"]).len(), 1);
        let own = format!(
            "{tcp}\n[[traffic]]\nkind = \"long-lived\"\nfrom = 2\nto = 3\ntransport = \"dctcp\""
        );
        assert!(remarks(&own, &["transport.kind=dcqcn"]).is_empty());
    }
}
