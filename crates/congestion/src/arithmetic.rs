//! Whether a control computes in fractions or as Linux does.

use switchbed_config::words;

words! {
    /// How a control computes.
    pub enum Arithmetic {
        /// In fractions, as its RFC has it.
        Exact = "exact",
        /// In Linux's integers.
        Kernel = "kernel",
    }
}
