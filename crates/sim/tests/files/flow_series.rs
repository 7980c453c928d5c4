//! `measure.flow_series`: windows and rates that are worked out by hand.

use std::path::Path;
use switchbed_scenario::plans_of;
use switchbed_sim::table::{Table, Values};
use switchbed_sim::{Progress, Results, run};

/// A host that sends to another, 4 ms away and back, with these sections and keys of the series.
fn text(sections: &str, series: &str) -> String {
    format!(
        "host.profile = \"ideal\"\n[topology]\nkind = \"star\"\nhosts = 2\nrate = \"100Gbps\"\n\
         delay = \"1ms\"\n[switch]\nbuffer = \"10MB\"\n[scheme]\nname = \"none\"\n{sections}\n\
         [[traffic]]\nkind = \"long-lived\"\nfrom = \"0\"\nto = 1\n[measure]\nflow_series = {{ {series} }}\n\
         [run]\nuntil = \"23ms\"\n"
    )
}

fn results(text: &str) -> Results {
    let plans = plans_of("flows.toml", text, Path::new(""), &[], None);
    let plans = plans.unwrap_or_else(|mistake| panic!("{mistake}"));
    run(&plans[0].scenario, &Progress::new()).expect("runs")
}

fn series(of: &Results) -> &Table {
    let table = of.monitors.iter().find(|(name, _)| *name == "flow_series");
    &table.expect("a table").1
}

fn floats<'a>(of: &'a Table, column: &str) -> &'a [f64] {
    let found = of.columns.iter().find(|of| of.name == column).expect("a column");
    let Values::F64(values) = &found.values else { panic!("{column}") };
    values
}

#[test]
fn slow_start_doubles_up_to_the_threshold_and_then_adds_a_packet_a_round_trip() {
    // The handshake takes 4 ms; samples are in the middle of round trips, and between them.
    let transport = "[transport]\nkind = \"reno\"\ninitial_window = 10\ninitial_ssthresh = 40";
    let results = results(&text(transport, "every = \"2ms\""));
    let table = series(&results);
    let cwnd = floats(table, "cwnd_packets");
    // At 6, 10, 14, 18 and 22 ms. A round of 40 ACKs adds the sum of their 1/cwnd, just under a packet.
    let middle: Vec<f64> = cwnd.iter().copied().skip(2).step_by(2).map(f64::round).collect();
    assert_eq!(middle, [10.0, 20.0, 40.0, 41.0, 42.0]);
    assert_eq!(floats(table, "ssthresh_packets")[10], 40.0);
    let Values::U64(flight) = &table.columns[4].values else { panic!("in flight") };
    let mss = 1460;
    assert_eq!((flight[2], flight[4], flight[6]), (10 * mss, 20 * mss, 40 * mss));
    let srtt = floats(table, "srtt_s");
    assert!(srtt[0].is_nan() && (srtt[10] - 4e-3).abs() < 1e-5, "{srtt:?}");
    // Ten packets are acknowledged between 8 and 10 ms.
    let delivered = floats(table, "delivered_bps");
    assert!((delivered[4] - 10.0 * mss as f64 * 8.0 / 2e-3).abs() < 1e-3, "{delivered:?}");
    assert!(floats(table, "pacing_bps").iter().all(|rate| rate.is_nan()));
}

#[test]
fn a_queue_pair_has_its_lines_rate_until_something_cuts_it() {
    let results = results(&text("[transport]\nkind = \"dcqcn\"", "every = \"5ms\", rows = [0]"));
    let table = series(&results);
    assert_eq!(table.rows(), 4);
    assert!(floats(table, "pacing_bps").iter().all(|&rate| rate == 100e9));
    assert!(floats(table, "cwnd_packets").iter().all(|cwnd| cwnd.is_nan()));
}

#[test]
fn keys_choose_flows_and_are_refused_by_name() {
    for (keys, rows) in
        [("rows = [1]", 0), ("classes = [0]", 4), ("traffic = [0], classes = [3]", 0)]
    {
        let of = results(&text("", &format!("every = \"5ms\", {keys}")));
        assert_eq!(series(&of).rows(), rows, "{keys}");
    }
    for (keys, says) in [
        ("every = \"0s\"", "measure.flow_series.every"),
        ("every = \"1ms\", traffic = [1]", "there is no traffic 1: the last is 0"),
        ("every = \"1ms\", rows = []", "measure.flow_series.rows"),
        ("rows = [1]", "every"),
    ] {
        let refused = plans_of("flows.toml", &text("", keys), Path::new(""), &[], None);
        let said = refused.expect_err(keys).to_string();
        assert!(said.contains(says) && said.starts_with("flows.toml:"), "{keys}: {said}");
    }
}
