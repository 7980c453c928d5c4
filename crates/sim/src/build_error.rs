//! Faults that keep a network from being built, or its run from ending.

use crate::transport::tcp::BadSetting;
use std::fmt;
use switchbed_scenario::build::AllHeadroom;
use switchbed_scenario::traffic::TrafficError;

/// A fault that keeps a network from being built, or its run from ending.
#[derive(Clone, Debug, PartialEq)]
pub enum BuildError {
    /// The traffic does not fit.
    Traffic(TrafficError),
    /// The transport does not fit.
    Transport(BadSetting),
    /// The hosts do not fit.
    Host(BadSetting),
    /// The headroom of lossless groups leaves no memory for anything else.
    Headroom(AllHeadroom),
    /// A port that it measures does not exist.
    Port(String),
    /// A port that an event names does not exist.
    Event(String),
    /// Fewer connections than needed can exist.
    Connections(usize),
    /// The scheme is not compiled in, and the caller brings none.
    Outside,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Traffic(error) => error.fmt(f),
            BuildError::Transport(error) => write!(f, "transport.{error}"),
            BuildError::Host(error) => write!(f, "host.{error}"),
            BuildError::Headroom(AllHeadroom { headroom, memory }) => write!(
                f,
                "switch.pfc needs {headroom} of headroom, and a switch has {memory} of memory: give it \
                 more (switch.pool), or the groups less (switch.pfc.headroom, headroom_pool)"
            ),
            BuildError::Event(name) => {
                write!(f, "event names the port `{name}`, which there is not")
            }
            BuildError::Connections(most) => write!(
                f,
                "more than {most} connections are open at a time; let flows share some \
                 (connections = \"persistent\"), or offer less"
            ),
            BuildError::Outside => f.write_str(
                "scheme.name is \"python\": its classes run in Python, which this program has not; \
                 run it by `switchbed`",
            ),
            BuildError::Port(name) => write!(
                f,
                "measure names the port `{name}`; ports are called by switch and number \
                 (`leaf0:3`, `switch:1`) or by host (`host2`)"
            ),
        }
    }
}
impl std::error::Error for BuildError {}
