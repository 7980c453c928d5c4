//! The tables of a scenario file.

use switchbed_sim::measure;
use switchbed_spec::{
    Section, deploy, event, host, reaction, roce, run, scheme, switch, topology, traffic, transport,
};

/// In the order in which a reader wants them. Beside these a file has `title` and `[compare]`.
pub const SECTIONS: &[Section] = &[
    topology::SECTION,
    switch::SECTION,
    scheme::SECTION,
    deploy::SECTION,
    host::SECTION,
    transport::SECTION,
    roce::SECTION,
    reaction::SECTION,
    traffic::SECTION,
    event::SECTION,
    measure::SECTION,
    run::SECTION,
];
