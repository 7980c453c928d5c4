//! Keys of configuration files: name, kind, default and meaning, declared once with the struct that
//! holds them ([`param`]); a name that was meant ([`near`]); a file's text ([`text`]).

#![forbid(unsafe_code)]
#![deny(unreachable_pub)]

pub mod near;
pub mod param;
pub mod text;
