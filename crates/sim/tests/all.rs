//! The simulator's tests: one program, which links once.

mod bursts;
mod capture;
mod common;
mod connections;
mod crosspoints;
mod determinism;
mod early_marking;
mod empty_network;
mod ends;
mod interference;
mod lazy;
mod md1;
mod monitors;
mod offload;
mod paths;
mod pools;
mod probes;
mod qcn;
mod red;
mod requests;
mod sawtooth;
mod shares;
mod tcp;
mod timeline;
mod traffic;
mod udp;
