//! What TCP's hosts have under way, for monitors.

use super::connection::{Connection, NOBODY};
use super::{CARD, Hosts, PLACE_BITS, PROBE, PROCESSED, SENDER};
use crate::monitors::Underway;
use crate::topology::Hop;
use std::cmp::Reverse;
use switchbed_qdisc::units::Time;

impl Hosts {
    /// The flows under way, requests apart.
    pub(crate) fn underway(&self) -> impl Iterator<Item = Underway> {
        let places = self.connections.iter().enumerate();
        places.filter(|(_, c)| c.answers == NOBODY).flat_map(|(place, connection)| {
            let received = connection.receiver.received();
            connection.flows.iter().map(move |flow| Underway {
                row: flow.record.row,
                place: place as u32,
                src: connection.src,
                hop: connection.way(),
                start: flow.record.start,
                received: received.clamp(flow.from, flow.until) - flow.from,
            })
        })
    }

    /// The host that sends a connection's data.
    pub(crate) fn source(&self, place: u32) -> u32 {
        self.connections[place as usize].src
    }

    /// The way of a connection's data, if it has some to send.
    pub(crate) fn unsent(&self, place: u32) -> Option<Hop> {
        let connection = &self.connections[place as usize];
        (connection.sender.unsent() > 0).then(|| connection.way())
    }

    /// The connection that answers the requests of this one.
    pub(crate) fn answers(&self, place: u32) -> Option<u32> {
        let answers = self.connections[place as usize].answers;
        (answers != NOBODY).then_some(answers)
    }

    /// The host whose timer is next; `None` also where no data depends on it.
    pub(crate) fn next_timer_host(&self) -> Option<u32> {
        let timer = self.timers.peek().map(|Reverse(timer)| *timer);
        let at = timer.map_or(Time::NEVER, |(at, ..)| at);
        if let Some(nics) = &self.nics
            && nics.next_timer() < at
        {
            return nics.next_host();
        }
        let (_, flow, half) = timer?;
        match half {
            CARD | PROCESSED => return Some(flow),
            PROBE => return None,
            _ => {}
        }
        let connection = &self.connections[(flow & ((1 << PLACE_BITS) - 1)) as usize];
        Some(if half == SENDER { connection.src } else { connection.dst })
    }
}

impl Connection {
    fn way(&self) -> Hop {
        Hop { dst: self.dst, key: self.keys[0] }
    }
}
