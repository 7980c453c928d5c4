//! Whether a control computes in fractions or as Linux does.

use switchbed_config::words;

words! {
    /// Arithmetic that a control computes in.
    pub enum Arithmetic {
        /// In fractions, as its RFC has it.
        Exact = "exact",
        /// Integers, rounded as in Linux.
        Kernel = "kernel",
    }
}
