//! The live switch's tests: one program, which links once.

mod capture;
mod common;
mod control;
mod decisions;
mod forward;
mod pausing;
mod reaction;
