//! `[[host]]`: which hosts an entry is for, and what is wrong with one.

use super::mistakes::{STAR, refused};
use std::collections::BTreeSet;
use std::path::Path;
use switchbed_scenario::transport::LossDetection;
use switchbed_scenario::{Scenario, Transport, plans_of, to_toml};
use switchbed_units::ids::HostId;
use switchbed_units::{Bytes, Span};

fn stacked(hosts: &str) -> String {
    format!("{STAR}{hosts}")
}

fn read(text: &str, sets: &[&str]) -> Vec<Scenario> {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let plans = plans_of("f.toml", text, Path::new("."), &sets, None);
    let plans = plans.unwrap_or_else(|mistake| panic!("{mistake}"));
    plans.into_iter().map(|plan| plan.scenario).collect()
}

const TWO: &str = r#"[[host]]
delay = "2us"
[[host]]
hosts = "0-3"
transport = { kind = "cubic" }
"#;

#[test]
fn what_is_wrong_with_an_entry() {
    refused(
        &stacked(TWO),
        r#"
hosts = "0-3" -> hosts = "0-9"
    27: host.1.hosts is "0-9": the topology has hosts 0 to 8
hosts = "0-3" -> hosts = "leaf"
    27: host.1.hosts is "leaf": hosts are written as "all", 3, "0-7" or a list of these
hosts = "0-3" -> 
    26: host.1 names no hosts: write hosts or share; one entry is for all others, and it is there already
hosts = "0-3" -> share = 0.01
    27: host.1.share is 0.01: of 9 hosts it is none: write 0.056 or more
hosts = "0-3" -> hosts = "0-3"\nlabel = " "
    28: host.1.label is " ": results name hosts by it: write a name
hosts = "0-3" -> share = 1.5
    27: host.1.share is 1.5: it must be from 0 to 1
hosts = "0-3" -> hosts = "0-3"\nmtu = "9000B"
    28: host.1.mtu is "9000B": all hosts have one mtu, 1.5KB
hosts = "0-3" -> hosts = "0-3"\nprofile = "linux-3.81"
    28: host.1.profile is "linux-3.81": there is no such host profile; did you mean "linux-3.18"?
hosts = "0-3" -> hosts = "0-3"\nrto_min = "1ms"
    28: host.1.rto_min is unknown: did you mean transport.rto_min?
kind = "cubic" -> kind = "cubik"
    28: host.1.transport.kind is "cubik": it must be dctcp, ecn-star, ecn*, reno, cubic, prague, bbr, bbr3, udp, dcqcn, timely, hpcc, swift, roce, nscc, rccc or nscc-rccc; did you mean "cubic"?
kind = "cubic" -> kind = "udp"
    28: host.1.transport is a table: udp is no TCP, which belongs to traffic: write traffic.transport = "udp"
kind = "cubic" -> kind = "cubic", g = 0.5
    28: host.1.transport.g does not apply to kind = "cubic"
kind = "cubic" } -> kind = "cubic" }\n[[host]]\nhosts = [3, 4]
    30: host.2.hosts is [3,4]: host3 is in host.1 already: no host is in two entries
kind = "cubic" } -> kind = "cubic" }\n[[host]]\nshare = 0.8
    30: host.2.share is 0.8: it is 7 of 9 hosts, and other entries leave 5: shares add up to 1 at most
"2us" -> "2us"\ntransport = "reno"
    26: host.0.transport is "reno": the entry is for all other hosts, whose transport is [transport]'s: write hosts or share, or [transport]
"2us" -> { kind = "uniform", min = "3us", max = "2us" }
    25: host.delay.min is "3us": it must be at most max, 2us
"2us" -> { kind = "gamma", mean = "2us" }
    25: host.delay.kind is "gamma": it must be uniform, normal, log-normal or choice
"2us" -> { kind = "choice", values = [] }
    25: host.delay.values is []: at least one value is needed
"2us" -> { kind = "choice", values = ["1us", "2us"], weights = [1] }
    25: host.delay.weights is [1]: each of the 2 values needs one
"2us" -> { kind = "log-normal", mean = "6s", sigma = 1 }
    25: host.delay.mean is "6s": it must be at most 5s
"2us" -> { kind = "normal", mean = "1us", deviation = "1us", sigma = 2 }
    25: host.delay.sigma does not apply to kind = "normal", which takes kind, mean or deviation
"#,
    );
}

#[test]
fn both_forms_in_one_file_are_refused() {
    for hosts in ["[host]\n[[host]]\nshare = 0.5\n", "[[host]]\nshare = 0.5\n[host]\n"] {
        let mistake = plans_of("f.toml", &stacked(hosts), Path::new("."), &[], None).unwrap_err();
        assert!(mistake.to_string().contains("write all as [[host]]"), "{mistake}");
    }
}

/// Drawn by the seed: as many as the share is of all, others with another seed, more of the same with a
/// greater share, and the same for every scheme.
#[test]
fn a_share_is_drawn_by_the_seed() {
    let members = |sets: &[&str]| -> Vec<BTreeSet<u32>> {
        let text = stacked("[[host]]\nshare = 0.3\ntransport = \"cubic\"\n")
            .replace("hosts = 9", "hosts = 40");
        let of = |scenario: Scenario| scenario.host.others[0].hosts.iter().copied().collect();
        read(&text, sets).into_iter().map(of).collect()
    };
    let mut drawn = BTreeSet::new();
    for seed in 1..=20 {
        let seed = format!("seed={seed}");
        let [third] = &members(&[&seed])[..] else { panic!() };
        assert_eq!(third.len(), 12);
        let half = &members(&[&seed, "host.share=0.5"])[0];
        assert!(half.len() == 20 && third.is_subset(half));
        let all = &members(&[&seed, "host.0.share=1"])[0];
        assert_eq!(all.len(), 40);
        let none = &members(&[&seed, "host.share=0"])[0];
        assert!(none.is_empty());
        let schemes = members(&[&seed, "compare.scheme=[per-queue, none]"]);
        assert!(schemes.len() == 2 && schemes[0] == schemes[1]);
        drawn.insert(third.clone());
    }
    assert!(drawn.len() > 15, "{}", drawn.len());
}

#[test]
fn shares_do_not_overlap_and_may_be_of_some_hosts() {
    let text = stacked(
        "[[host]]\nhosts = 8\nprofile = \"ideal\"\n[[host]]\nshare = 0.4\n[[host]]\nhosts = \"0-7\"\nshare = 0.5\n",
    );
    let scenario = &read(&text, &[])[0];
    let [named, share, part] = &scenario.host.others[..] else { panic!() };
    assert_eq!((&named.hosts[..], share.hosts.len(), part.hosts.len()), (&[8][..], 4, 4));
    assert!(part.hosts.iter().chain(&share.hosts).collect::<BTreeSet<_>>().len() == 8);
}

/// Keys of an entry lie over the file's, and these over the entry's profile; all is written and read again.
#[test]
fn keys_lie_over_each_other() {
    let text = stacked(
        "[[host]]\ndelay = \"2us\"\njitter = \"1us\"\n[[host]]\nhosts = 0\nprofile = \"linux-3.18\"\n\
         jitter = \"5us\"\n[[host]]\nhosts = \"1-2\"\ntransport = { rto_min = \"7ms\" }\nlabel = \"quick\"\n\
         [[host]]\nshare = 0.2\ndelay = { kind = \"choice\", values = [\"1us\", \"9us\"] }\n",
    );
    let scenario = &read(&text, &[])[0];
    let [old, quick, slow] = &scenario.host.others[..] else { panic!() };
    assert_eq!(old.host.profile, "linux-3.18");
    assert_eq!(old.host.jitter, Span::from_us(5));
    assert_eq!(old.host.delay, scenario.host.usual.delay, "as [host] has it");
    assert_eq!(old.transport.control.word(), "dctcp", "as [transport] has it");
    assert_eq!(old.transport.rto_min, scenario.transport.rto_min);
    assert_ne!(old.transport.slow_start, scenario.transport.slow_start, "as its profile has it");
    assert_eq!(quick.transport.rto_min, Span::from_ms(7));
    assert_eq!((old.label.as_str(), quick.label.as_str()), ("linux-3.18", "quick"));
    assert_eq!((scenario.host.label.as_str(), slow.label.as_str()), ("linux-6.x", "linux-6.x (2)"));
    let delays = scenario.delays();
    for &host in &slow.hosts {
        let delay = delays.of(HostId(host));
        assert!([Span::from_us(1), Span::from_us(9)].contains(&delay), "{delay}");
    }
    let again = &read(&to_toml(scenario), &[])[0];
    assert!(again == scenario, "{}", to_toml(scenario));
}

#[test]
fn overrides_reach_the_entry_that_they_name() {
    let text = stacked(TWO);
    let scenario =
        &read(&text, &["host.delay=3us", "host.1.delay=4us", "host.transport.kind=reno"])[0];
    let delays = scenario.delays();
    assert_eq!(delays.of(HostId(8)), Span::from_us(3));
    assert_eq!(delays.of(HostId(0)), Span::from_us(4));
    assert_eq!(scenario.host.others[0].transport.control.word(), "reno");
    let scenario = &read(STAR, &["host=[{ hosts = \"0-1\", delay = \"9us\" }]"])[0];
    assert_eq!(scenario.delays().of(HostId(1)), Span::from_us(9));
    let compared = read(&text, &["compare.host.1.transport.kind=[reno, cubic]"]);
    assert_eq!(compared.len(), 2);
}

/// Of a host's transport, by its keys.
fn transport(keys: &str) -> Transport {
    let text = stacked(&format!(
        "[[host]]\nhosts = 0\nprofile = \"linux-6.x\"\ntransport = {{ {keys} }}\n"
    ));
    read(&text, &[])[0].host.others[0].transport.clone()
}

#[test]
fn both_ends_agree_on_what_both_have() {
    let dctcp = transport("kind = \"dctcp\", ack_every = 2");
    assert!(dctcp.toward(&dctcp) == dctcp, "one with itself changes nothing");
    assert_eq!(dctcp.loss_detection, LossDetection::Rack);
    let plain = transport(
        "kind = \"reno\", ecn = false, sack_blocks = 0, ack_every = 1, mss = \"536B\", \
                           receive_window = 20, loss_detection = \"dupthresh\", tail_loss_probe = false",
    );
    let both = dctcp.toward(&plain);
    // The sender's control and timers; the receiver's ACKs and window; what only one has, neither uses.
    assert_eq!(both.control.word(), "dctcp");
    assert_eq!(both.rto_min, dctcp.rto_min);
    assert_eq!((both.ack_every, both.receive_window), (1, 20));
    assert_eq!((both.ecn, both.sack_blocks, both.mss), (false, 0, Bytes::new(536)));
    assert_eq!((both.loss_detection, both.tail_loss_probe), (LossDetection::Dupthresh, false));
    assert!(both.check().is_ok());
    let back = plain.toward(&dctcp);
    assert_eq!((back.control.word(), back.ack_every, back.ecn), ("reno", 2, false));
    // RFC 9331, section 4.3: ECT(1) only with a receiver that has accurate ECN.
    let (prague, cubic) =
        (transport("kind = \"prague\""), transport("kind = \"cubic\", ecn = true"));
    assert!(!prague.toward(&cubic).ecn && cubic.toward(&prague).ecn && prague.toward(&prague).ecn);
    assert!(dctcp.echoes_exactly() && !cubic.echoes_exactly() && !prague.echoes_exactly());
}
