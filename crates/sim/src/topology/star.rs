//! Hosts on one switch; host h on port h.

use super::{Graph, Hop, Route, access};
use crate::ids::{HostId, PortId, SwitchId};
use std::sync::Arc;
use switchbed_qdisc::units::{Rate, Span};

struct Star;

impl Route for Star {
    #[inline]
    fn route(&self, hop: Hop, _: SwitchId) -> PortId {
        PortId(hop.dst.0)
    }
}

pub(super) fn graph(hosts: u32, rate: Rate, delay: Span) -> Graph {
    let (up, down) =
        (0..hosts).map(|host| access(HostId(host), SwitchId(0), (rate, delay))).unzip();
    Graph { hosts: up, switches: vec![("switch".into(), down)], route: Arc::new(Star) }
}
