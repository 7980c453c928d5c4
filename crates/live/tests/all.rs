//! The live switch's tests: one program, which links once.

mod common;
mod control;
mod decisions;
mod forward;
mod reaction;
