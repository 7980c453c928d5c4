//! Configuration files. Keys have name, kind, default and meaning, declared once with the struct that holds
//! them ([`param`]). A file's text ([`text`]) becomes a tree that keeps every line ([`tree`]), whose
//! sections are read by their tables of keys ([`section`], [`read`]); what is wrong is a
//! [`mistake::Mistake`] with its line, and with the name that was meant ([`similar`]). The JSON Schema
//! ([`schema`]) and the reference ([`schema::keys`]) follow from the keys.

#![forbid(unsafe_code)]
#![deny(unreachable_pub)]

pub mod mistake;
pub mod param;
pub mod read;
pub mod schema;
pub mod section;
pub mod similar;
pub mod text;
pub mod tree;

pub use schema::takes;
