//! TCP behind rate limiters: where the scheme notifies, a connection whose rate is limited
//! sends when its network card asks it.

use super::{Hosts, PLACE_BITS, SENDER};
use crate::network::{Delivery, Network};
use crate::nic::Nics;
use crate::notification;
use crate::topology::Hop;

impl Hosts {
    /// Network cards that limit rates. ACKs are not limited.
    pub fn set_nics(&mut self, nics: Nics) {
        self.nics = Some(nics);
    }

    /// The network cards, where rates are limited.
    pub fn nics(&mut self) -> Option<&mut Nics> {
        self.nics.as_mut()
    }

    /// A notification has arrived. Those about ACKs, whose sources are not limited, end here.
    #[cold]
    pub(super) fn notified(&mut self, delivery: Delivery, net: &mut Network) {
        let Delivery { at: now, host, slot } = delivery;
        let feedback = notification::feedback(net.segment(slot));
        net.free(slot);
        let place = feedback.flow.0 & ((1 << PLACE_BITS) - 1);
        let generation = (feedback.flow.0 >> PLACE_BITS) as u8;
        if let (Some(nics), Some(connection)) =
            (&mut self.nics, self.connections.get(place as usize))
            && (connection.generation, connection.src) == (generation, host)
        {
            nics.notify(connection.group, feedback.quantized, now);
        }
    }

    /// A network card may send.
    #[cold]
    pub(super) fn fire_nic(&mut self, net: &mut Network) {
        let Hosts { nics, connections, timers, config, .. } = self;
        let Some(nics) = nics else { return };
        let now = nics.next_timer();
        let mut silent = Vec::new();
        nics.fire(net, |place, now| {
            let connection = &mut connections[place as usize];
            let Some(segment) = connection.sender.poll_transmit(config, now) else {
                connection.joined = false;
                silent.push(place);
                return None;
            };
            if let Some(due) = connection.sender.next_timeout() {
                connection.arm(SENDER, due, place, timers);
            }
            let packet = connection.packet(&segment, connection.class, place, config);
            Some((packet, segment, Hop { dst: connection.dst, key: connection.keys[0] }))
        });
        for place in silent {
            self.finish(place, now);
        }
    }
}
