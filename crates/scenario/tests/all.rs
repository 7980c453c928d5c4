//! The scenario's tests: one program, which links once.

mod before;
mod by_queue;
mod events;
mod expansion;
mod live;
mod mistakes;
mod python;
mod robust;
