//! (placeholder)

pub mod random;
pub mod tcp;
pub mod traffic;
