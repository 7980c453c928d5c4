//! The control socket: who may open it, what it answers, and what it changes.

#![cfg(target_os = "linux")]

use crate::common::{frame, live, scheme, step};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use switchbed_live::clock::Monotonic;
use switchbed_live::control::{Control, serve};
use switchbed_scenario::Live;
use switchbed_units::{Rate, Time};

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
fn resolve(sets: &[String]) -> Result<(Live, Vec<String>), String> {
    let (mut live, mut notes) = (live(2, step(6_000)), Vec::new());
    for set in sets {
        match set.split_once('=') {
            Some(("rate", n)) => live.port[1].rate = Rate::from_mbps(n.parse().unwrap()),
            Some(("name", name)) => live.port[1].name = name.to_owned(),
            None if set == "none" => {
                live.scheme = scheme("none", &[]);
                notes.push("none of it is left".to_owned());
            }
            _ => return Err(format!("{set} is unknown")),
        }
    }
    Ok((live, notes))
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
                crate::common::forwarder(resolve(&[]).unwrap().0, Monotonic::new());
            sides[0].arrive(Time::ZERO, frame(0, 1, 0, 2, 1250, 1));
            serve(&mut forwarder, &control, &resolve, &stop, |_| ()).unwrap();
        });
        let stream = UnixStream::connect(&path).unwrap();
        assert!(Control::bind(&path).is_err(), "a second switch on the same socket");
        let rate = |answer: &Value| answer["ok"]["port"][1]["rate"].clone();
        assert_eq!(rate(&ask(&stream, r#"{"show": null}"#)), "100Mbps");
        assert_eq!(rate(&ask(&stream, r#"{"set": ["rate=10"]}"#)), "10Mbps");
        let none = ask(&stream, r#"{"set": ["none"]}"#);
        assert_eq!(none["ok"]["scheme"]["name"], "none");
        assert_eq!(none["notes"], json!(["none of it is left"]));
        // What was said is not said again.
        assert_eq!(ask(&stream, r#"{"set": ["rate=10"]}"#)["notes"], json!([]));
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

/// Runs a switch, and something beside it.
fn beside(name: &str, act: impl FnOnce(&Path)) {
    let folder = folder(name);
    let path = folder.join("sw.sock");
    let control = Control::bind(&path).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut forwarder, _) =
                crate::common::forwarder(resolve(&[]).unwrap().0, Monotonic::new());
            serve(&mut forwarder, &control, &resolve, &stop, |_| ()).unwrap();
        });
        act(&path);
        stop.store(true, Relaxed);
    });
    drop(control);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn who_says_nothing_delays_nobody() {
    beside("idle", |path| {
        let idle: Vec<UnixStream> = (0..20).map(|_| UnixStream::connect(path).unwrap()).collect();
        let mut half = &idle[0];
        half.write_all(br#"{"stats""#).unwrap();
        let stream = UnixStream::connect(path).unwrap();
        assert!(ask(&stream, r#"{"stats": null}"#)["ok"].is_object());
        // The idle ones were not hung up on first: they can still be heard out.
        assert!(ask(half, ": null}")["ok"].is_object());
    });
}

#[test]
fn connections_and_requests_are_bounded() {
    beside("many", |path| {
        let first = UnixStream::connect(path).unwrap();
        let rest: Vec<UnixStream> = (0..100).map(|_| UnixStream::connect(path).unwrap()).collect();
        assert!(ask(&rest[99], r#"{"show": null}"#)["ok"].is_object());
        let mut end = Vec::new();
        assert_eq!((&first).read_to_end(&mut end).unwrap(), 0, "hung up on");
        let mut endless = UnixStream::connect(path).unwrap();
        let sent = (0..1000).find(|_| endless.write_all(&[b'['; 4096]).is_err());
        assert!(sent.is_some(), "4 MB without an end of line");
    });
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
