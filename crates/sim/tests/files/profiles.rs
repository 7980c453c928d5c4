//! Loss patterns under each host profile, against times worked out by hand.

use std::path::Path;
use switchbed_scenario::plans_of;
use switchbed_sim::table::Values;
use switchbed_sim::{Progress, run};
use switchbed_units::Span;

/// The FCT in picoseconds, from the SYN to the arrival of the last byte, of a flow of one packet between
/// two hosts, one of whose packets is lost: `host0`'s first is its SYN, its second the data.
fn fct(profile: &str, bytes: &str, lost: Option<(&str, &[u32])>) -> u64 {
    let event = lost.map_or_else(String::new, |(port, nth)| {
        format!("[[event]]\nat = \"0us\"\nport = \"{port}\"\nlose = {nth:?}")
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
        sizes = "{bytes}"
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
        let plain = fct(profile, "500B", None);
        let cost = |port, nth| fct(profile, "500B", Some((port, &[nth]))) - plain;
        assert_eq!(cost("host0", 1), first, "{profile}: a lost SYN");
        assert_eq!(cost("host1", 1), first, "{profile}: a lost SYN-ACK");
        // Two links of 25 us each way; a packet of 64 bytes or so takes 51 ns a link.
        let rtt = if with_rtt { 100_000_000 } else { 0 };
        let off = cost("host0", 2).abs_diff(later + rtt);
        assert!(off < 1_200_000, "{profile}: lost data costs {} more", cost("host0", 2));
    }
}

/// A link's times in nanoseconds at 10 Gbps: a full packet `p`, an ACK or SYN `a`, an ACK with a SACK block
/// `s`. Two links each way, of 25 us.
struct Times {
    p: f64,
    a: f64,
    s: f64,
}

impl Times {
    fn of(payload: u64, header: u64) -> Times {
        let ns = |bytes: u64| bytes as f64 * 0.8;
        Times { p: ns(payload + header), a: ns(header), s: ns(header + 10) }
    }
    /// A handshake.
    fn h(&self) -> f64 {
        100e3 + 4.0 * self.a
    }
    /// From a packet's sending to its ACK.
    fn r(&self) -> f64 {
        100e3 + 2.0 * (self.p + self.a)
    }
    /// The same, with a SACK block.
    fn r_sack(&self) -> f64 {
        100e3 + 2.0 * (self.p + self.s)
    }
    /// From a packet's sending to its arrival.
    fn d(&self) -> f64 {
        50e3 + 2.0 * self.p
    }
}

/// RFC 6298's smoothed RTT after a handshake's and these samples.
fn srtt(handshake: f64, samples: impl IntoIterator<Item = f64>) -> f64 {
    samples.into_iter().fold(handshake, |srtt, sample| srtt + (sample - srtt) / 8.0)
}

/// Ten full packets: all arrive, the fifth is lost, the last is lost.
fn ten_packets(profile: &str) -> (Times, [f64; 3]) {
    let (payload, header) = match profile {
        "ideal" | "switchbed-0.1" => (1460, 40),
        "ns-2-sack" => (1000, 40),
        "ns-2-fulltcp" => (536, 40),
        "ns-3" => (536, 54),
        _ => (1448, 52),
    };
    let t = Times::of(payload, header);
    let (ms, p, h, r, d) = (1e6, t.p, t.h(), t.r(), t.d());
    // A window of ten: the nth packet leaves at h + (n - 1) p. The eighth is the third duplicate for the
    // fifth, and the ninth's ACK starts the timer of the last.
    let at_once = [h + 9.0 * p + d, h + 7.0 * p + t.r_sack() + d];
    let ninth = h + 8.0 * p + r;
    let times = match profile {
        "ideal" => [at_once[0], at_once[1], ninth + ms + d],
        "switchbed-0.1" => [at_once[0], at_once[1], ninth + 200.0 * ms + d],
        // A window of two: 3 to 6 leave from h + r on, 7 and 8 at h + 2r with the ACK of 3, 9 and 10 with
        // that of 4. Of the second round the fifth is lost: 6, 7 and 8 are the duplicates.
        "ns-2-sack" | "ns-2-fulltcp" => [
            h + 2.0 * r + 3.0 * p + d,
            h + 2.0 * r + p + t.r_sack() + d,
            h + 2.0 * r + 2.0 * p + r + 200.0 * ms + d,
        ],
        // Segments 1, 3, 5 on are acknowledged at once, so the ninth, too; the timer, a second, runs
        // from that ACK.
        "ns-3" | "ns-3-dctcp" => [at_once[0], at_once[1], ninth + 1000.0 * ms + d],
        // A window of three, and ACKs of a packet each: 4 to 9 leave from h + r on, 10 with the ACK of 4.
        // The eighth is three above the fifth. Two of the second round leave with each ACK, so that their
        // round trips grow by a packet time.
        "linux-2.6.38" => {
            let samples = [0, 1, 2, 0, 1, 1, 2, 2, 3].map(|n| r + f64::from(n) * p);
            let timeout = srtt(h, samples) + 200.0 * ms;
            [h + 2.0 * r + d, h + r + 4.0 * p + t.r_sack() + d, h + r + 5.0 * p + r + timeout + d]
        }
        // A probe for a packet alone would wait two round trips and 200 ms; the timer is sooner.
        _ => {
            let samples = (0..9).map(|n| r + f64::from(n) * p);
            [at_once[0], at_once[1], ninth + srtt(h, samples) + 200.0 * ms + d]
        }
    };
    (t, times)
}

#[test]
fn windows_and_losses_take_what_was_worked_out_under_each_profile() {
    for profile in [
        "ideal",
        "switchbed-0.1",
        "ns-2-sack",
        "ns-2-fulltcp",
        "ns-3",
        "ns-3-dctcp",
        "linux-2.6.38",
        "linux-3.18",
        "linux-6.x",
    ] {
        let (t, times) = ten_packets(profile);
        let payload = (t.p - t.a) / 0.8;
        // The first packet of host0 is its SYN.
        for (lost, worked_out) in [&[][..], &[6], &[11]].into_iter().zip(times) {
            let bytes = format!("{}B", 10.0 * payload.round());
            let found = fct(profile, &bytes, Some(("host0", lost)).filter(|_| !lost.is_empty()));
            let off = found as f64 / 1e3 - worked_out;
            assert!(off.abs() < 10.0, "{profile}, {lost:?}: {found} ps, {off:.3} ns off");
        }
    }
}
