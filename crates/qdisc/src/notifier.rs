//! Notifiers, one scheme a file: what tells a packet's source of congestion.

mod af_qcn;
mod qcn;

pub use af_qcn::{AfQcn, AfQcnParams, AfQcnSettings, Rounding};
pub use qcn::{Qcn, QcnParams, QcnSettings};
