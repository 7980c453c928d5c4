//! Stands in for `switchbed_scenario` until it can run: the same names, made-up numbers.

use serde_json::{Value, json};
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

pub struct Mistake(String);
impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub struct Plan {
    pub settings: Vec<(String, Value)>,
    pub scenario: Value,
    flows: u64,
    pause_ms: u64,
    seed: u64,
    factor: f64,
}

#[derive(Default)]
pub struct Progress {
    pub flows_done: AtomicU64,
    pub flows_total: AtomicU64,
    pub now_ps: AtomicU64,
    pub events: AtomicU64,
    pub packet_hops: AtomicU64,
    cancelled: AtomicBool,
}
impl Progress {
    pub fn cancel(&self) {
        self.cancelled.store(true, Relaxed);
    }
}

pub struct Column {
    pub name: &'static str,
    pub unit: &'static str,
    pub meaning: &'static str,
    pub values: Values,
}
#[allow(dead_code)]
pub enum Values {
    U32(Vec<u32>),
    U64(Vec<u64>),
    F64(Vec<f64>),
    MaybeF64(Vec<Option<f64>>),
    Bool(Vec<bool>),
    Text(Vec<String>),
}

pub struct Results {
    pub summary: Value,
    pub flows: Vec<Column>,
    pub queues: Vec<Column>,
    pub series: Option<Vec<Column>>,
    pub warnings: Vec<String>,
    pub finished: bool,
}

pub fn plans(file: &Path, sets: &[String], seed: Option<u64>) -> Result<Vec<Plan>, Mistake> {
    let name = file.display();
    let text = std::fs::read_to_string(file)
        .map_err(|e| Mistake(format!("{name}: cannot read the scenario: {e}")))?;
    let number = |key: &str, default: u64| -> u64 {
        let set = sets.iter().filter_map(|s| s.strip_prefix(key)?.strip_prefix('=')).next_back();
        let mut line = text.lines().filter_map(|l| l.strip_prefix(key)?.trim().strip_prefix('='));
        set.or(line.next_back()).and_then(|v| v.trim().parse().ok()).unwrap_or(default)
    };
    for set in sets {
        if !["flows", "pause_ms", "seeds"].contains(&set.split('=').next().unwrap_or("")) {
            return Err(Mistake(format!("--set {set}: unknown key")));
        }
    }
    if let Some(n) = text.lines().position(|l| l.starts_with("qeue")) {
        return Err(Mistake(format!(
            "{name}:{}: unknown key `qeue`; did you mean `queue`?",
            n + 1
        )));
    }
    let plan = |settings: Vec<(String, Value)>, seed: u64, factor: f64| Plan {
        scenario: json!({"title": "shim", "run": {"seed": seed, "until": null}}),
        settings,
        flows: number("flows", 100),
        pause_ms: number("pause_ms", 0),
        seed,
        factor,
    };
    if !text.contains("[compare]") {
        return Ok(vec![plan(vec![], seed.unwrap_or(1), 1.0)]);
    }
    let mut all = Vec::new();
    for (scheme, factor) in [("per-queue", 1.0), ("per-queue-min", 0.9), ("mq-ecn", 0.8)] {
        for load in [0.5, 0.8] {
            for s in 1..=number("seeds", 2) {
                let settings = vec![
                    ("scheme".to_string(), json!(scheme)),
                    ("load".to_string(), json!(load)),
                    ("seed".to_string(), json!(s)),
                ];
                all.push(plan(settings, s, factor * load));
            }
        }
    }
    Ok(all)
}

pub fn run(plan: &Plan, progress: &Progress) -> Results {
    progress.flows_total.store(plan.flows, Relaxed);
    let mut finished = true;
    for i in 0..20 {
        std::thread::sleep(Duration::from_millis(plan.pause_ms) / 20);
        progress.flows_done.store(plan.flows * (i + 1) / 20, Relaxed);
        progress.now_ps.store((i + 1) * 1_000_000_000, Relaxed);
        progress.events.store((i + 1) * 1000, Relaxed);
        progress.packet_hops.store((i + 1) * 400, Relaxed);
        if progress.cancelled.load(Relaxed) {
            finished = false;
            break;
        }
    }
    let n = plan.flows;
    let mean = 100.0 * plan.factor + plan.seed as f64;
    let class = |n: u64| json!({"n": n, "mean_us": mean, "p50_us": mean * 0.8, "p95_us": mean * 2.0, "p99_us": mean * 3.0});
    let none = json!({"n": 0, "mean_us": null, "p50_us": null, "p95_us": null, "p99_us": null});
    Results {
        summary: json!({
            "flows": {"count": n, "finished": n},
            "fct": {"all": class(n), "small": class(n / 2), "medium": class(n - n / 2), "large": none},
            "marks": 10, "drops": 2, "timeouts": 1, "packet_hops": 8000, "events": 20000,
            "seed": plan.seed, "version": env!("CARGO_PKG_VERSION"), "schema_version": 1,
        }),
        flows: vec![
            Column {
                name: "row",
                unit: "",
                meaning: "place in the flow list",
                values: Values::U64((0..n).collect()),
            },
            Column {
                name: "src",
                unit: "",
                meaning: "sending host",
                values: Values::U32(vec![0; n as usize]),
            },
            Column {
                name: "fct_s",
                unit: "s",
                meaning: "flow completion time",
                values: Values::MaybeF64(
                    (0..n).map(|i| (i % 7 != 0).then_some(i as f64 * 1e-6)).collect(),
                ),
            },
        ],
        queues: vec![
            Column {
                name: "port",
                unit: "",
                meaning: "switch and port",
                values: Values::Text(vec!["leaf0:0".into(), "leaf0:1".into()]),
            },
            Column {
                name: "mean_bytes",
                unit: "B",
                meaning: "time-weighted mean",
                values: Values::F64(vec![1.5, 2.5]),
            },
        ],
        series: None,
        warnings: vec!["these numbers are made up: the simulator is not connected yet".to_string()],
        finished,
    }
}

pub fn schema() -> String {
    json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"}).to_string()
}

pub fn schemes() -> String {
    json!([{"name": "mq-ecn", "paper": "Bai et al., NSDI 2016", "parameters": []}]).to_string()
}
