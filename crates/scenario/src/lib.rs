//! A scenario file, from text to results: parse ([`tree`]) → resolve → expand → build →
//! run one. What the command line and Python share.

mod expand;
mod mistake;
mod read;
mod resolve;
mod schema;
mod section;
mod tree;
mod write;

pub use expand::{Plan, plans, plans_of};
pub use mistake::Mistake;
pub use schema::schema;
pub use write::to_toml;
