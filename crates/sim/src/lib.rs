//! (placeholder)

pub mod random;
pub mod traffic;
