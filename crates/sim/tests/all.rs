//! The simulator's tests: one program, which links once.

mod bursts;
mod capture;
mod cards;
mod closed_forms;
mod common;
mod connections;
mod determinism;
mod empty_network;
mod ends;
mod interference;
mod marking;
mod monitors;
mod offload;
mod probes;
mod qcn;
mod requests;
mod shared_memory;
mod shares;
mod tcp;
mod timeline;
mod traffic;
mod udp;
