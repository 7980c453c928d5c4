//! Loss patterns under each host profile, against times worked out by hand.

use std::path::Path;
use switchbed_qdisc::units::Span;
use switchbed_scenario::{Progress, Values, plans_of, run};

/// The FCT in picoseconds, from the SYN to the arrival of the last byte, of a flow of one packet between
/// two hosts, one of whose packets is lost: `host0`'s first is its SYN, its second the data.
fn fct(profile: &str, lost: Option<(&str, u32)>) -> u64 {
    let event = lost.map_or_else(String::new, |(port, nth)| {
        format!("[[event]]\nat = \"0us\"\nport = \"{port}\"\nlose = [{nth}]")
    });
    let text = format!(
        r#"
        host.profile = "{profile}"
        measure.fct_end = "received"
        [topology]
        kind = "star"
        hosts = 2
        rate = "10Gbps"
        delay = "25us"
        [switch]
        buffer = "300KB"
        [scheme]
        name = "none"
        [[traffic]]
        kind = "incast"
        from = "0"
        to = "1"
        sizes = "500B"
        connections = "fresh"
        {event}
        "#
    );
    let plans = plans_of("f.toml", &text, Path::new(""), &[], None);
    let plans = plans.unwrap_or_else(|mistake| panic!("{mistake}"));
    let results = run(&plans[0].scenario, &Progress::new()).expect("builds");
    let of_fct = results.flows.columns.iter().find(|column| column.name == "fct_s");
    let Some(Values::F64(found)) = of_fct.map(|column| &column.values) else {
        panic!("a column of numbers")
    };
    (found[0] * 1e12).round() as u64
}

/// What a lost SYN, and the only data lost, cost: the first timeout, and the timeout after one sample of
/// the round trip R, whose variance is R/2. It is R + 4·R/2 or the floor, whichever is longer; with the
/// floor on the variance R and that.
#[test]
fn a_packet_alone_costs_the_timer_of_its_profile() {
    let ms = |ms: u64| Span::from_ms(ms).as_ps();
    for (profile, first, later, with_rtt) in [
        ("ideal", ms(10), ms(1), false),
        ("switchbed-0.1", ms(1000), ms(200), false),
        ("ns-2-sack", ms(3000), ms(200), false),
        ("ns-2-fulltcp", ms(3000), ms(200), false),
        ("ns-3", ms(3000), ms(1000), false),
        ("ns-3-dctcp", ms(3000), ms(1000), false),
        ("linux-2.6.38", ms(3000), ms(200), true),
        ("linux-3.18", ms(1000), ms(200), true),
        ("linux-6.x", ms(1000), ms(200), true),
    ] {
        let plain = fct(profile, None);
        let cost = |lost| fct(profile, Some(lost)) - plain;
        assert_eq!(cost(("host0", 1)), first, "{profile}: a lost SYN");
        assert_eq!(cost(("host1", 1)), first, "{profile}: a lost SYN-ACK");
        // Two links of 25 us each way; a packet of 64 bytes or so takes 51 ns a link.
        let rtt = if with_rtt { 100_000_000 } else { 0 };
        let off = cost(("host0", 2)).abs_diff(later + rtt);
        assert!(off < 1_200_000, "{profile}: lost data costs {} more", cost(("host0", 2)));
    }
}
