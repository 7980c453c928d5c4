//! A choice's parameters by type. A missing one is a mistake of the caller, who did not
//! resolve them, and panics.

use super::{SchemeChoice, Value};
use switchbed_qdisc::units::{Bytes, Rate, Span};

impl SchemeChoice {
    fn get(&self, name: &str) -> Option<&Value> {
        self.params.get(name)
    }
    fn missing(&self, name: &str) -> ! {
        panic!("scheme {}: parameter {name} was not resolved", self.name)
    }
    pub(crate) fn word(&self, name: &str) -> &str {
        match self.get(name) {
            Some(Value::Word(word)) => word,
            _ => self.missing(name),
        }
    }
    pub(crate) fn bytes(&self, name: &str) -> Bytes {
        match self.get(name) {
            Some(Value::Bytes(bytes)) => *bytes,
            _ => self.missing(name),
        }
    }
    pub(crate) fn number(&self, name: &str) -> f64 {
        match self.get(name) {
            Some(Value::Number(number)) => *number,
            _ => self.missing(name),
        }
    }
    /// A list's items.
    pub(crate) fn list(&self, name: &str) -> &[Value] {
        match self.get(name) {
            Some(Value::List(items)) => items,
            _ => self.missing(name),
        }
    }
    /// A number, or none where it is left out.
    pub(crate) fn maybe_number(&self, name: &str) -> Option<f64> {
        match self.get(name) {
            Some(Value::Number(number)) => Some(*number),
            None => None,
            _ => self.missing(name),
        }
    }
    pub(crate) fn flag(&self, name: &str) -> bool {
        match self.get(name) {
            Some(Value::Flag(flag)) => *flag,
            _ => self.missing(name),
        }
    }
    /// A time, or none where its default depends on the line.
    pub(crate) fn span(&self, name: &str) -> Option<Span> {
        match self.get(name) {
            Some(Value::Span(span)) => Some(*span),
            None => None,
            _ => self.missing(name),
        }
    }
    /// A size, or none where it is left out.
    pub(crate) fn size(&self, name: &str) -> Option<Bytes> {
        match self.get(name) {
            Some(Value::Bytes(bytes)) => Some(*bytes),
            None => None,
            _ => self.missing(name),
        }
    }
    /// A rate, or none where its default is the line's.
    pub(crate) fn rate(&self, name: &str) -> Option<Rate> {
        match self.get(name) {
            Some(Value::Rate(rate)) => Some(*rate),
            None => None,
            _ => self.missing(name),
        }
    }
    pub(crate) fn count(&self, name: &str) -> u64 {
        match self.get(name) {
            Some(Value::Count(count)) => *count,
            _ => self.missing(name),
        }
    }
}
