//! A scenario's file, or a live switch's if it names `[[port]]`, and one override, apart by a zero
//! byte: the reader never panics, says what is wrong in one line, and reads back what it writes.
//! `fuzz/corpus/scenario.tar.xz` has what it begins with.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;
use switchbed_scenario::{live_of, plans_of, to_toml};

fuzz_target!(|text: &str| {
    let (text, set) = text.split_once('\0').unwrap_or((text, ""));
    let sets: Vec<String> = (!set.is_empty()).then(|| set.to_owned()).into_iter().collect();
    if text.contains("[[port]]") {
        if let Err(mistake) = live_of("f.toml", text, &sets) {
            assert!(!mistake.to_string().contains('\n'));
        }
        return;
    }
    match plans_of("f.toml", text, Path::new("no-such-folder"), &sets, None) {
        Err(mistake) => assert!(!mistake.to_string().contains('\n')),
        Ok(plans) => {
            let written = to_toml(&plans[0].scenario);
            let again = plans_of("again", &written, Path::new(""), &[], None).unwrap();
            assert_eq!(again[0].scenario, plans[0].scenario);
        }
    }
});
