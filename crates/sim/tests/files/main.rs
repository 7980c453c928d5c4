//! Tests of runs of scenario files: one program, which links once.

mod bbr;
mod collectives;
mod counters;
mod division;
mod ends;
mod failures;
mod homes;
mod limits;
mod meaning;
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
mod stacks;
mod timers;
mod topologies;
mod trimming;
mod unordered;
mod warnings;
