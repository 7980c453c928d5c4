//! The scenario's tests: one program, which links once.

mod before;
mod by_queue;
mod events;
mod expansion;
mod live;
mod mistakes;
mod mistakes_of_hosts;
mod mistakes_of_switches;
mod python;
mod robust;
mod topologies;
