//! The control socket: who may open it, what it answers, and what it changes.

#![cfg(target_os = "linux")]

use crate::common::{frame, live, scheme, step};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use switchbed_live::clock::Monotonic;
use switchbed_live::control::{Control, serve};
use switchbed_qdisc::units::{Rate, Time};
use switchbed_spec::Live;

/// A folder of its own for each test.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("switchbed-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn ask(stream: &UnixStream, request: &str) -> Value {
    let mut writer = stream;
    writeln!(writer, "{request}").unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}

/// `rate=N` sets the second port's rate in Mbps, `none` the scheme; all else is refused.
fn resolve(sets: &[String]) -> Result<Live, String> {
    let mut live = live(2, step(6_000));
    for set in sets {
        match set.split_once('=') {
            Some(("rate", n)) => live.port[1].rate = Rate::from_mbps(n.parse().unwrap()),
            Some(("name", name)) => live.port[1].name = name.to_owned(),
            None if set == "none" => live.scheme = scheme("none", &[]),
            _ => return Err(format!("{set} is unknown")),
        }
    }
    Ok(live)
}

#[test]
fn a_switch_that_runs_is_asked_set_and_stopped() {
    let folder = folder("control");
    let path = folder.join("sw.sock");
    let stop = AtomicBool::new(false);
    let control = Control::bind(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut forwarder, sides) =
                crate::common::forwarder(resolve(&[]).unwrap(), Monotonic::new());
            sides[0].arrive(Time::ZERO, frame(0, 1, 0, 2, 1250, 1));
            serve(&mut forwarder, &control, &resolve, &stop, |_| ()).unwrap();
        });
        let stream = UnixStream::connect(&path).unwrap();
        assert!(Control::bind(&path).is_err(), "a second switch on the same socket");
        let rate = |answer: &Value| answer["ok"]["port"][1]["rate"].clone();
        assert_eq!(rate(&ask(&stream, r#"{"show": null}"#)), "100Mbps");
        assert_eq!(rate(&ask(&stream, r#"{"set": ["rate=10"]}"#)), "10Mbps");
        assert_eq!(ask(&stream, r#"{"set": ["none"]}"#)["ok"]["scheme"]["name"], "none");
        let bad = ask(&stream, r#"{"set": ["colour=red"]}"#);
        assert_eq!(bad, json!({ "error": "colour=red is unknown" }));
        let fixed = ask(&stream, r#"{"set": ["name=other"]}"#);
        assert!(fixed["error"].as_str().unwrap().contains("cannot change"), "{fixed}");
        // What was set before stays, what was refused does not.
        let stats = ask(&stream, r#"{"stats": null}"#);
        assert_eq!(stats["ok"]["ports"][1]["rate_bps"], 10_000_000);
        assert_eq!(stats["ok"]["ports"][1]["sent_packets"], 1);
        assert_eq!(stats["ok"]["scheme"], "none");
        for nonsense in ["", "{", "[]", r#"{"set": 3}"#, r#"{"stats": {}}"#] {
            assert!(ask(&stream, nonsense)["error"].is_string(), "{nonsense}");
        }
        assert_eq!(ask(&stream, r#"{"stop": null}"#), json!({ "ok": null }));
    });
    assert!(stop.load(Relaxed));
    drop(control);
    assert!(!path.exists());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_dead_switch_leaves_its_place_and_nothing_else_does() {
    let folder = folder("stale");
    let path = folder.join("sw.sock");
    // A socket without a listener is what a killed switch leaves.
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    drop(Control::bind(&path).unwrap());
    std::fs::write(&path, "not a socket").unwrap();
    assert!(Control::bind(&path).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"not a socket");
    std::fs::remove_dir_all(folder).unwrap();
}
