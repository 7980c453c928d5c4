//! Values that may be null, but not absent, in what is read back: serde takes an absent one for null.

use serde::{Deserialize, Deserializer};

/// Reads a value or null.
pub(crate) fn nullable<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(from)
}
