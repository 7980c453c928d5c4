//! The scenario's tests: one program, which links once.

mod before;
mod events;
mod expansion;
mod live;
mod mistakes;
mod python;
mod robust;
