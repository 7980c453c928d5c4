//! The scenario's tests: one program, which links once.

mod before;
mod counters;
mod division;
mod ends;
mod events;
mod every_scheme;
mod expansion;
mod interference;
mod lazy;
mod limits;
mod live;
mod memory;
mod mistakes;
mod mixed;
mod observers;
mod pfc;
mod population;
mod profiles;
mod python;
mod robust;
mod roce;
mod scenarios;
mod small_queues;
mod timers;
mod warmup;
mod warnings;
