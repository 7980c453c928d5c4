//! The registry: every scheme by name, its seats, its parameters, its source, and how
//! to build a port of it.

use serde::Serialize;
use std::collections::BTreeMap;
use switchbed_qdisc::units::{Bytes, Rate, Span};

/// A scheme as a scenario asks for it, its parameters resolved.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SchemeChoice {
    /// A name of the registry.
    pub name: String,
    /// What plots and tables call it.
    pub label: String,
    /// Every parameter, those not given at their defaults.
    pub params: BTreeMap<String, Value>,
}

/// A parameter's value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Value {
    /// A number without a unit.
    Number(f64),
    /// A size.
    Bytes(Bytes),
    /// A time.
    Span(Span),
    /// A rate.
    Rate(Rate),
    /// One of a list of words.
    Word(String),
}
