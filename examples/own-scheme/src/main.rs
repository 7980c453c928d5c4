//! Adds a scheme of its own to Switchbed's and runs a scenario file with it:
//! `cargo run -p own-scheme -- examples/own-scheme/waiting.toml [KEY=VALUE...]`.

use std::path::Path;
use std::process::ExitCode;
use switchbed_qdisc::schemes::register;
use switchbed_scenario::plans;
use switchbed_sim::{Progress, run};

fn main() -> ExitCode {
    match runs() {
        Ok(()) => ExitCode::SUCCESS,
        Err(line) => {
            eprintln!("{line}");
            ExitCode::from(2)
        }
    }
}

/// Every run of the file, a line each.
fn runs() -> Result<(), String> {
    own_scheme::SCHEMES.iter().try_for_each(register)?;
    let mut words = std::env::args().skip(1);
    let file = words.next().ok_or("own-scheme FILE [KEY=VALUE...]")?;
    let sets: Vec<String> = words.collect();
    for plan in plans(Path::new(&file), &sets, None).map_err(|mistake| mistake.to_string())? {
        let results =
            run(&plan.scenario, &Progress::new()).map_err(|why| format!("{file}: {why}"))?;
        let summary = results.summary;
        let fct = summary.fct.all.p99_us.map_or("-".to_owned(), |us| format!("{us:.0} us"));
        println!(
            "{}: {} flows, {} marks, FCT {fct} (p99)",
            plan.scenario.scheme.label, summary.flows.finished, summary.marks
        );
    }
    Ok(())
}
