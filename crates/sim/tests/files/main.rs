//! Tests of runs of scenario files: one program, which links once.

mod collectives;
mod counters;
mod division;
mod ends;
mod every_scheme;
mod failures;
mod flow_series;
mod interference;
mod lazy;
mod limits;
mod memory;
mod mixed;
mod observers;
mod pfc;
mod population;
mod profiles;
mod programs;
mod roce;
mod routing;
mod scenarios;
mod small_queues;
mod timers;
mod topologies;
mod trimming;
mod warmup;
mod warnings;
