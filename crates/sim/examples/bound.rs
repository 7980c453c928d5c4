//! How many times as fast as one thread so many could be at most, by how evenly the work of each
//! window is divided: `bound FILE SHARDS [KEY=VALUE...]`. The run itself takes one thread.

#![allow(missing_docs)]

use std::path::Path;
use switchbed_scenario::build::Nothing;
use switchbed_scenario::plans;
use switchbed_sim::Division;
use switchbed_sim::{Simulation, Status};

fn main() {
    let mut words = std::env::args().skip(1);
    let (file, shards) = (words.next(), words.next());
    let (Some(file), Some(Ok(shards))) = (file, shards.map(|word| word.parse::<usize>())) else {
        eprintln!("bound FILE SHARDS [KEY=VALUE...]");
        std::process::exit(2);
    };
    let sets: Vec<String> = words.collect();
    let plans = plans(Path::new(&file), &sets, None).unwrap_or_else(|mistake| panic!("{mistake}"));
    let division = Division { threads: 1, shards, worthwhile: 0 };
    let run = Simulation::with(&plans[0].scenario, &Nothing, division);
    let mut run = run.unwrap_or_else(|error| panic!("{error}"));
    while run.advance(100_000) == Status::Running {}
    println!("{}", run.bound());
}
