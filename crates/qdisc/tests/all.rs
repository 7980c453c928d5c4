//! The port's tests: one program, which links once.

mod closed_forms;
mod codel;
mod conformance;
mod e_ecn;
mod fairness;
mod fq_codel;
mod fq_pie;
mod golden;
mod hcf;
mod pausing;
mod promises;
mod qcn;
mod shared_memory;
mod trimming;
mod wfq;
