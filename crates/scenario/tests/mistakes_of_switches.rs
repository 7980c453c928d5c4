//! Mistakes in schemes' parameters and in switches, as `mistakes.rs` has them.

use crate::mistakes::{FABRIC, STAR, read, refused};
use switchbed_scenario::scheme::Value;
use switchbed_scenario::to_toml;
use switchbed_units::{Bytes, Span};

#[test]
fn reds_thresholds_must_be_in_order() {
    let red = |kmin| {
        STAR.replace("name = \"per-queue\"", "name = \"red\"")
            .replace("threshold = \"65pkt\"", &format!("kmin = \"{kmin}\"\nkmax = \"20pkt\""))
    };
    assert_eq!(
        read(&red("40pkt"), &[]).unwrap_err(),
        "f.toml:13: scheme.params.kmin is \"40pkt\": it must not be over kmax, 30KB"
    );
    assert!(read(&red("20pkt"), &[]).is_ok());
    let plan = read(&red("20pkt").replace("kmin = \"20pkt\"\n", ""), &[]).unwrap().remove(0);
    assert_eq!(plan.scenario.scheme.params()["kmin"], Value::Bytes(Bytes::new(15_000)));
}

/// The star with this scheme and these parameters, which begin on line 13.
fn with_scheme(name: &str, params: &str) -> String {
    STAR.replace("name = \"per-queue\"", &format!("name = \"{name}\""))
        .replace("threshold = \"65pkt\"", params)
}

#[test]
fn cedms_thresholds_and_weight() {
    refused(
        &with_scheme("cedm", "k1 = \"20pkt\"\nk2 = \"40pkt\""),
        r#"
k1 = "20pkt" -> 
    12: scheme.params.k1 is missing: write k1 = "65pkt"
k2 = "40pkt" -> 
    12: scheme.params.k2 is missing: write k2 = "65pkt"
40pkt -> 19pkt
    14: scheme.params.k2 is "19pkt": it must not be under k1, 30KB
20pkt -> 201pkt
    13: scheme.params.k1 is "201pkt": it is over the buffer, 300KB, and so never reached
40pkt -> 201pkt
    14: scheme.params.k2 is "201pkt": it is over the buffer, 300KB, and so never reached
k2 -> senders = 1\nk2
    14: scheme.params.senders is 1: it must be a whole number from 2 to 1000000
k2 -> w_s = 0\nk2
    14: scheme.params.w_s is 0: it must be from 0.000001 to 1
k2 -> burst = "64KB"\nk2
    14: scheme.params.burst is "64KB": it is for k2, which is given: write one of them
k2 = "40pkt" -> senders = 6\nburst = "64KB"
    15: scheme.params.burst is "64KB": k2 = k1 + (senders - 1) times burst comes to 350KB, over the buffer, 300KB, and so is never reached
"#,
    );
}

#[test]
fn cedms_settings_follow_from_the_bursts() {
    let params = |sets: &[&str]| {
        let text = with_scheme("cedm", "k1 = \"20pkt\"\nburst = \"28333B\"");
        read(&text, sets).unwrap().remove(0).scenario.scheme.params()
    };
    // Section IV-C: N = 2 and five packets of decrease give 0.129, and K2 = K1 + (N - 1)·B.
    let two = params(&[]);
    assert_eq!(two["k2"], Value::Bytes(Bytes::new(30_000 + 28_333)));
    assert!(matches!(two["w_s"], Value::Number(w) if (w - 0.129_449).abs() < 1e-6), "{two:?}");
    let four = params(&["scheme.params.senders=4", "scheme.params.decrease=2"]);
    assert_eq!(four["k2"], Value::Bytes(Bytes::new(30_000 + 3 * 28_333)));
    assert_eq!(four["w_s"], Value::Number(0.5));
}

#[test]
fn e_ecn_needs_to_know_how_far_ahead() {
    let text = with_scheme("e-ecn", "threshold = \"60pkt\"\nt_a = \"300us\"");
    refused(
        &text,
        r#"
t_a = "300us" -> 
    12: scheme.params.t_a is missing: write t_a = "10us"
t_a -> base_rtt = "100us"\nt_a
    14: scheme.params.base_rtt is "100us": it is for t_a, which is given: write one of them
t_a -> t_i = "1pkt"\nt_a
    14: scheme.params.t_i is "1pkt": that is a size, a time is needed, such as "85.2us"
t_a -> t_i_packets = 0\nt_a
    14: scheme.params.t_i_packets is 0: it must be from 0.001 to 1000000
60pkt -> 201pkt
    13: scheme.params.threshold is "201pkt": it is over the buffer, 300KB, and so never reached
"#,
    );
    let rtts = text.replace("t_a = \"300us\"", "base_rtt = \"85.2us\"\nt_a_rtts = 5");
    let choice = read(&rtts, &[]).unwrap().remove(0).scenario.scheme;
    assert_eq!(choice.params()["t_a"], Value::Span(Span::from_us(426)));
}

#[test]
fn s_ecns_slope_is_a_rate() {
    let text = with_scheme("s-ecn", "slope = \"5Gbps\"");
    refused(
        &text,
        r#"
5Gbps -> 5KB
    13: scheme.params.slope is "5KB": that is a size, a rate is needed, such as "10Gbps"
5Gbps -> 0Gbps
    13: scheme.params.slope is "0Gbps": a rate must be greater than 0
slope = -> threshold = "65pkt"\nslope =
    13: scheme.params.threshold is no parameter of s-ecn, which takes slope, slope_share, t_i or t_i_packets
"#,
    );
    assert!(read(&text.replace("slope = \"5Gbps\"", ""), &[]).is_ok());
    let dequeue = with_scheme("per-queue-dq", "threshold = \"65pkt\"\nmark_at = \"enqueue\"");
    assert_eq!(
        read(&dequeue, &[]).unwrap_err(),
        "f.toml:14: scheme.params.mark_at is no parameter of per-queue-dq, which takes threshold"
    );
}

/// Values that a file leaves to be worked out are written out as results, and read again as these.
#[test]
fn settings_that_were_worked_out_are_read_again_as_such() {
    for (name, params) in [
        ("cedm", "k1 = \"20pkt\"\nburst = \"28333B\"\nsenders = 3"),
        ("e-ecn", "threshold = \"60pkt\"\nbase_rtt = \"85.2us\""),
        ("s-ecn", ""),
        ("red", "kmax = \"50pkt\""),
    ] {
        let scenario = read(&with_scheme(name, params), &[]).unwrap().remove(0).scenario;
        let text = to_toml(&scenario);
        assert_eq!(read(&text, &[]).unwrap()[0].scenario, scenario, "{text}");
    }
}

#[test]
fn switches_that_differ() {
    let entry = "[[deploy]]\nswitches = \"leaf0-1\"\nscheme = \"oq\"\nmemory = \"2MB\"\n[compare]";
    let text = FABRIC.replace("[compare]", entry);
    refused(
        &text,
        r#"
leaf0-1 -> leaf0-4
    20: deploy.switches is "leaf0-4": the topology has leaf0 to leaf3 or spine0 to spine1: write a tier, a switch, a range or a list of these
leaf0-1 -> leaf1-0
    20: deploy.switches is "leaf1-0": the topology has leaf0 to leaf3 or spine0 to spine1: write a tier, a switch, a range or a list of these
"leaf0-1" -> 3
    20: deploy.switches is 3: the topology has leaf0 to leaf3 or spine0 to spine1: write a tier, a switch, a range or a list of these
"leaf0-1" -> ["leaf", "leaf2"]
    20: deploy.switches.1 is "leaf2": leaf2 is named twice
"leaf0-1" -> []
    20: deploy.switches is []: at least one switch is needed
memory = "2MB" -> fraction = 1.5
    22: deploy.fraction is 1.5: it must be from 0 to 1
2MB -> 8KB
    22: deploy.memory is "8KB": a port's part must hold a packet, 1.5KB
scheme = "oq"\nmemory = "2MB" -> 
    19: deploy.scheme is missing: write scheme = "cqrd"
scheme = "oq" -> scheme = "op"
    21: deploy.scheme.name is "op": there is no such scheme; did you mean "oq"?
scheme = "oq" -> scheme = { name = "cedm", params = { k1 = "9KB", k2 = "8KB" } }
    21: deploy.scheme.params.k2 is "8KB": it must not be under k1, 9KB
scheme = "oq" -> scheme = { name = "cedm", params = { k3 = "9KB" } }
    21: deploy.scheme.params.k3 is no parameter of cedm: did you mean k1?
memory = "2MB" -> [[deploy]]\nswitches = "leaf1"\nscheme = "cq"
    23: deploy.1.switches is "leaf1": leaf1 is named twice
"#,
    );
    let plans = read(&text, &["compare.deploy.scheme=[cq, hcf]", "deploy.fraction=0.5"]).unwrap();
    assert_eq!(plans.len(), 2 * 2 * 2);
    let deploy = &plans[0].scenario.deploy[0];
    assert_eq!(
        (deploy.switches.as_slice(), deploy.memory),
        (&["leaf0".to_owned()][..], Some(Bytes::new(2_000_000)))
    );
    assert_eq!(deploy.scheme.as_ref().unwrap().name(), "cq");
    assert!(read(&text, &["deploy.fraction=0"]).unwrap()[0].scenario.deploy.is_empty());
    let again = read(&to_toml(&plans[0].scenario), &[]).unwrap().remove(0).scenario;
    assert_eq!(again, plans[0].scenario);
}

#[test]
fn a_switch_s_memory_is_divided_among_its_ports() {
    let text = STAR.replace("buffer = \"300KB\"", "memory = \"2.7MB\"");
    refused(
        &text,
        r#"
65pkt -> 201pkt
    13: scheme.params.threshold is "201pkt": it is over the buffer, 300KB, and so never reached
2.7MB -> 13KB
    9: switch.memory is "13KB": a port's part must hold a packet, 1.5KB
memory = "2.7MB" -> memory = "2.7MB"\nbuffer = "200KB"
    10: switch.buffer is "200KB": switch.memory gives a port 300KB: write one of them
"#,
    );
    let scenario = read(&text, &[]).unwrap().remove(0).scenario;
    assert_eq!(scenario.switch.buffer, Bytes::new(300_000));
    let again = read(&to_toml(&scenario), &[]).unwrap().remove(0).scenario;
    assert_eq!(again, scenario);
}

#[test]
fn crosspoints_must_fit() {
    let cq = |name| with_scheme(name, "ecn_threshold = 0.4").replace("300KB", "36KB");
    refused(
        &cq("cq"),
        r#"
36KB -> 13KB
    11: scheme.name is "cq": a port's 13KB are 1.444KB for each of its queues under cq, on a switch of 9 ports, and a packet has 1.5KB
0.4 -> 1.5
    13: scheme.params.ecn_threshold is 1.5: it must be from 0 to 1
hosts = 9 -> hosts = 65
    11: scheme.name is "cq": a switch of 65 ports needs 65 queues a port, and a port has at most 64: cqrd-configured can have fewer
ecn_threshold = 0.4 -> cell = "0B"
    13: scheme.params.cell is "0B": a cell has at least 1 byte
ecn_threshold = 0.4 -> cell = "5KB"
    11: scheme.name is "cq": a port's 36KB are 0B for each of its queues under cq, on a switch of 9 ports, and a packet has 1.5KB
"#,
    );
    let hcf = with_scheme("hcf", "bins = 20");
    refused(
        &hcf,
        r#"
bins = 20 -> bins = 0
    13: scheme.params.bins is 0: it must be a whole number from 1 to 1000000
bins = 20 -> credits = 0
    13: scheme.params.credits is 0: it must be a whole number from 1 to 1000000
300KB -> 2KB
    11: scheme.name is "hcf": a port's 2KB are 1KB for each of its queues under hcf, on a switch of 9 ports, and a packet has 1.5KB
"#,
    );
    let configured = with_scheme("cqrd-configured", "queues = 8");
    refused(
        &configured,
        r#"
queues = 8 -> queues = 65
    13: scheme.params.queues is 65: it must be a whole number from 1 to MAX_QUEUES
queues = 8 -> kmin = 0.5\nkmax = 0.25
    13: scheme.params.kmin is 0.5: it must not be over kmax, 0.25
"#,
    );
    assert!(read(&configured.replace("hosts = 9", "hosts = 65"), &[]).is_ok());
}

#[test]
fn what_reads_the_pool_needs_one() {
    let pool = STAR.replace("name = \"per-queue\"", "name = \"per-pool\"");
    assert_eq!(
        read(&pool, &[]).unwrap_err(),
        "f.toml:11: scheme.name is \"per-pool\": it reads the switch's shared memory: write \
         switch.pool"
    );
    assert!(read(&pool, &["switch.pool=2MB"]).is_ok());
    assert!(read(&pool, &["switch.pool=2MB", "scheme.params.threshold=1MB"]).is_ok());
    let dynamic = STAR.replace("queues = 2", "queues = 2\npolicy = \"dynamic\"");
    assert!(read(&dynamic, &[]).unwrap_err().contains("switch.pool is missing"));
    assert!(read(&dynamic, &["switch.pool=2MB", "switch.alpha=0.5"]).is_ok());
    assert!(read(STAR, &["switch.alpha=0.5"]).unwrap_err().contains("does not apply"));
}

#[test]
fn a_chip_brings_its_memory() {
    let bare = STAR.replace("buffer = \"300KB\"\n", "");
    assert_ne!(bare, STAR);
    let with = |more: &str| read(&bare.replace("queues = 2", &format!("queues = 2\n{more}")), &[]);
    assert!(with("asic = \"tomahawk-3\"").is_ok());
    assert!(with("asic = \"tomahawk-3\"\nalpha = 0.5").is_ok());
    // As it is written when resolved: 151,426 cells of 254 bytes.
    assert!(with("asic = \"tomahawk-3\"\npolicy = \"asic\"\nbuffer = \"38462204B\"").is_ok());
    let refused = |more| with(more).unwrap_err();
    assert!(refused("asic = \"tomahawk-33\"").contains("tomahawk-2, tomahawk-3, "));
    assert!(refused("asic = \"spectrum-5\"").contains("is not known: write switch.egress_pool"));
    assert!(refused("asic = \"tomahawk\"\npolicy = \"dynamic\"").contains("brings its own"));
    assert!(refused("asic = \"tomahawk\"\nbuffer = \"300KB\"").contains("leave one of the two"));
    assert!(with("asic = \"tomahawk\"\npool = \"3MB\"\negress_pool = \"2MB\"").is_ok());
    assert!(with("policy = \"asic\"\npool = \"3MB\"").is_ok());
    let said = refused("policy = \"asic\"\nbuffer = \"400KB\"");
    assert!(
        said.ends_with("switch.pool is missing: write pool = \"400KB\" in place of buffer"),
        "{said}"
    );
    let small = refused("asic = \"tomahawk\"\negress_pool = \"100B\"");
    assert!(small.contains("switch.egress_pool is \"100B\": it must hold a packet"), "{small}");
    let other =
        refused("policy = \"dynamic\"\npool = \"3MB\"\nbuffer = \"3MB\"\negress_pool = \"3MB\"");
    assert!(other.contains("egress_pool does not apply"), "{other}");
}

#[test]
fn a_lossless_queue_of_a_chip_holds_what_the_inputs_do() {
    let chip = "queues = 2\nasic = \"tomahawk\"\npool = \"3MB\"\negress_pool = \"1MB\"";
    let chip = STAR.replace("buffer = \"300KB\"\n", "").replace("queues = 2", chip);
    let over = |size: &str| format!("scheme.params.threshold={size}");
    // Egress: 4,807 cells of 208 bytes.
    assert!(read(&chip, &[&over("2MB")]).unwrap_err().contains("over the buffer, 999.856KB"));
    let lossless = ["switch.pfc.priorities=[1]", "switch.pfc.headroom_pool=1MB"];
    let with = |size: &str| read(&chip, &[lossless[0], lossless[1], &over(size)]);
    assert!(with("4MB").is_ok());
    assert!(with("4001KB").unwrap_err().contains("over the buffer, 4MB"));
}

#[test]
fn headroom_by_links_has_a_size_for_each_rate() {
    let text = STAR.replace("buffer = \"300KB\"\n", "pool = \"1MB\"\n");
    let base =
        ["switch.queues=2", "switch.pfc.priorities=[1]", "switch.pfc.headroom_rates=[\"10Gbps\"]"];
    let with = |more: &[&str]| read(&text, &[&base[..], more].concat());
    let sized = "switch.pfc.headroom_sizes=[\"30KB\"]";
    assert!(with(&[sized]).is_ok(), "{:?}", with(&[sized]).err());
    assert!(with(&[sized, "switch.pfc.headroom_delays=[\"1us\"]"]).is_ok());
    for (more, key) in [
        (vec![], "headroom_sizes"),
        (vec!["switch.pfc.headroom_sizes=[\"30KB\", \"40KB\"]"], "headroom_sizes"),
        (vec![sized, "switch.pfc.headroom_delays=[\"1us\", \"2us\"]"], "headroom_delays"),
    ] {
        let why = with(&more).unwrap_err();
        assert!(why.contains(key) && why.contains("one for each of headroom_rates"), "{why}");
    }
}
