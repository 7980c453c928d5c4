//! Frames of any bytes at any times through the live switch, under every scheme and every policy of
//! shared memory: nothing panics, and once all is sent nothing is left in it. Each frame is two bytes of
//! time, port and length, then its bytes; with a fourth port's number it says what the switch becomes.
#![no_main]

#[path = "../../crates/live/tests/common/mod.rs"]
mod common;

use common::{every, small};
use libfuzzer_sys::fuzz_target;
use switchbed_live::Switch;
use switchbed_scenario::Live;
use switchbed_units::{Span, Time};

const PORTS: u16 = 3;

thread_local! {
    static SETTINGS: Vec<Live> = every(PORTS as usize).into_iter().map(small).collect();
}

fuzz_target!(|bytes: &[u8]| SETTINGS.with(|settings| run(settings, bytes)));

fn run(settings: &[Live], bytes: &[u8]) {
    let mut switch = Switch::new(settings[0].clone());
    let mut now = Time::ZERO;
    let mut rest = bytes;
    while let Some((&[head, length], behind)) = rest.split_first_chunk::<2>() {
        let (frame, behind) = behind.split_at(behind.len().min(length as usize * 8));
        rest = behind;
        now += Span::from_us((head >> 2) as u64 * 10);
        match head % 4 {
            3 => switch.set(now, settings[length as usize % settings.len()].clone()),
            port => switch.receive(now, port as u16, frame),
        }
        switch.settle(now);
        switch.deliver(now, |port, _| assert!(port < PORTS));
    }
    // At once a port sends no more than its bucket allows.
    while switch.next() < Time::NEVER {
        now = now.max(switch.next());
        switch.settle(now);
        switch.deliver(now, |_, _| ());
    }
    assert_eq!(switch.stats(now).frames, 0);
}
