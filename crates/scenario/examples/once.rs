//! Runs the first combination of a scenario file on so many threads and prints how long that took
//! without building it: `once FILE THREADS [KEY=VALUE...]`. `validation/engines.py` times the
//! engine by it, and an older one.

#![allow(missing_docs)]

use std::path::Path;
use std::time::Instant;
use switchbed_scenario::{Progress, plans, run_on};

fn main() {
    let mut words = std::env::args().skip(1);
    let (file, threads) = (words.next(), words.next());
    let (Some(file), Some(Ok(threads))) = (file, threads.map(|word| word.parse::<usize>())) else {
        eprintln!("once FILE THREADS [KEY=VALUE...]");
        std::process::exit(2);
    };
    let sets: Vec<String> = words.collect();
    let plans = plans(Path::new(&file), &sets, None).unwrap_or_else(|mistake| panic!("{mistake}"));
    let progress = Progress::default();
    let begin = Instant::now();
    let results = run_on(&plans[0].scenario, &progress, threads);
    results.unwrap_or_else(|error| panic!("{error}"));
    let wall_s = begin.elapsed().as_secs_f64();
    let hops = progress.packet_hops.load(std::sync::atomic::Ordering::Relaxed);
    println!("{{\"wall_s\": {wall_s}, \"packet_hops\": {hops}}}");
}
