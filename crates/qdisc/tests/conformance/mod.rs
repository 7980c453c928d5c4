//! The conformance suite: what every scheme must do, whichever seats it fills.
//!
//! | file | holds |
//! | --- | --- |
//! | `registered` | every scheme of the registry, by its table of parameters |
//! | `cases` | the seats under test in all combinations, and the registered schemes |
//! | `odd` | small seats that exist for this suite: they push out, mark from inside, … |
//! | `driver` | runs a sequence of operations on two ports of one switch |
//! | `model` | what the ports must hold, kept from their answers alone |
//! | `trimmed` | ports that trim, under every scheme that leaves memory to the switch |
//! | `spy` | stands around a scheme and checks each hook's promise about its view |
//!
//! The fuzz target `port_ops` runs the same suite on sequences that it evolves.

pub mod cases;
pub mod driver;
pub mod model;
pub mod odd;
pub mod registered;
pub mod spy;
pub mod trimmed;
