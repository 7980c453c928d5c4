//! Frames as a switch needs them: what a classifier reads of Ethernet, VLAN, IPv4 and
//! IPv6 headers ([`frame`]), the CE mark with its checksum ([`mark`]) and trimming ([`mod@trim`]); 802.1Qau's
//! messages to sources ([`cnm`]) and 802.1Qbb's pauses ([`pfc`]); packets split and joined as segmentation offload has them ([`offload`]); and
//! headers built for packet traces ([`build`]).
//!
//! Frames are untrusted: nothing here panics, whatever the bytes, and a frame whose IP
//! header contradicts itself or is cut short is one without IP, to be forwarded untouched.

#![forbid(unsafe_code)]
#![deny(unreachable_pub)]

pub mod build;
pub mod cnm;
pub mod frame;
pub mod mark;
pub mod offload;
pub mod pfc;
pub mod trim;

pub use frame::{Frame, Ip, Mac, Truncated, Version};
pub use mark::set_ce;
pub use trim::trim;
