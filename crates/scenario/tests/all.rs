//! The scenario's tests: one program, which links once.

mod division;
mod events;
mod every_scheme;
mod expansion;
mod interference;
mod lazy;
mod limits;
mod live;
mod mistakes;
mod observers;
mod pfc;
mod profiles;
mod python;
mod robust;
mod roce;
mod scenarios;
mod small_queues;
mod timers;
mod warmup;
mod warnings;
