#![allow(missing_docs)]
#[path = "../tests/common/mod.rs"]
mod common;
use std::time::Instant;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let s = common::fig9(&a[1], a[2].parse().unwrap(), a[3].parse().unwrap());
    let t = Instant::now();
    let (sim, recs) = common::run(&s);
    let e = t.elapsed();
    let n = sim.network();
    let f: f64 = recs.iter().map(|r| r.end.unwrap().since(r.start).as_us_f64()).sum::<f64>()
        / recs.len() as f64;
    let mut h: u64 = 0;
    for r in &recs {
        h = h.rotate_left(5) ^ r.end.unwrap().as_ps();
    }
    println!(
        "{} {} {:.1} ns/hop hops {} all {:.1} hash {:x}",
        a[1],
        a[2],
        e.as_nanos() as f64 / n.packet_hops() as f64,
        n.packet_hops(),
        f,
        h
    );
}
