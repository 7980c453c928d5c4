//! A scenario file, from text to results: parse ([`tree`]) → resolve → expand → build →
//! run one. What the command line and Python share.

mod expand;
mod mistake;
mod read;
mod resolve;
mod results;
mod run;
mod schema;
mod section;
mod summary;
mod table;
mod tree;
mod warnings;
mod write;

pub use expand::{Plan, plans, plans_of};
pub use mistake::Mistake;
pub use results::Results;
pub use run::{Progress, run};
pub use schema::schema;
pub use summary::{SCHEMA_VERSION, Summary};
pub use table::{Column, Table, Values};
pub use write::to_toml;
