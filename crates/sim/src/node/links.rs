//! Changes of links during a run: rates, shares, failures, delays, losses.

use super::fabric::Fabric;
use super::host;
use super::link::{Line, Link, transit};
use super::{Parcel, class};
use crate::engine::{Event, Outbox};
use crate::ids::{LocalLink, NodeId, PortId, Rank, ShardId};
use crate::packet::PAUSES;
use crate::packet::losses::{Errors, Pattern};
use crate::topology::Route;
use std::sync::Arc;
use switchbed_qdisc::hooks::End;
use switchbed_qdisc::schemes::fairness::Share;
use switchbed_qdisc::{Driver, SlotId};
use switchbed_units::{Bytes, Rate, Span, Time};

impl Fabric {
    /// Changes a link's rate; a transmission under way keeps its end.
    pub(crate) fn set_rate(
        &mut self,
        link: LocalLink,
        rate: Rate,
        now: Time,
        out: &mut Outbox<Parcel>,
    ) {
        if self.switch_of(link).is_none() {
            let (host, nth) = self.host_of(link);
            self.hosts[host].set_rate(nth, rate);
        }
        self.with_line(link, now, out, |driver, line| driver.set_rate(rate, line, now));
    }

    /// Changes a class's share at every port.
    pub(crate) fn set_share(
        &mut self,
        class: u8,
        share: Share,
        now: Time,
        out: &mut Outbox<Parcel>,
    ) {
        for link in (0..self.links.len()).map(LocalLink::at) {
            self.with_line(link, now, out, |driver, line| {
                driver.set_share(class, share, line, now);
            });
        }
    }

    /// Whether a link is up.
    pub(crate) fn is_up(&self, link: LocalLink) -> bool {
        self.links[link.index()].driver.is_up()
    }

    /// Takes a link down (its port sends no more) or up again.
    pub(crate) fn set_up(
        &mut self,
        link: LocalLink,
        up: bool,
        now: Time,
        out: &mut Outbox<Parcel>,
    ) {
        if self.switch_of(link).is_none() {
            let (host, nth) = self.host_of(link);
            self.hosts[host].set_up(nth, up, &self.shared.settings, now);
        }
        self.with_line(link, now, out, |driver, _| driver.set_up(up, now));
    }

    /// Makes a link lose or mark packets by a pattern, counted from now on.
    pub(crate) fn lose(
        &mut self,
        link: LocalLink,
        pattern: Pattern,
        now: Time,
        out: &mut Outbox<Parcel>,
    ) {
        self.with_line(link, now, out, |driver, line| {
            driver.watch();
            line.cold().losses.get_or_insert_default().patterns.push(pattern);
        });
    }

    /// Cuts a link, which carries nothing from now on, or mends it. Packets that left its port
    /// before are still delivered.
    pub(crate) fn cut(&mut self, link: LocalLink, dead: bool, now: Time, out: &mut Outbox<Parcel>) {
        self.with_line(link, now, out, |driver, line| {
            driver.watch();
            line.cold().losses.get_or_insert_default().dead = dead;
        });
    }

    /// Loses a packet that is to arrive over a link of this rank: whether an event is that, and whether the packet
    /// counts, as pause frames do not.
    pub(crate) fn lose_arrival(&mut self, event: &Event, rank: Rank) -> (bool, bool) {
        let slot = SlotId::at(event.what());
        // Class 0 is a packet's arrival; the others have no slot.
        let gone =
            class(event.what()) == 0 && transit::link(self.packets.arena.cargo(slot)) == rank;
        let counts = gone && self.packets.arena.packet(slot).flow != PAUSES;
        if gone {
            self.packets.arena.free(slot);
        }
        (gone, counts)
    }

    /// The shard at a link's other end, and the rank of its packets.
    pub(crate) fn far_end(&self, link: LocalLink) -> (ShardId, Rank) {
        let channel = &self.links[link.index()].channel;
        (channel.shard, channel.rank)
    }

    /// Notes packets that were on a link as it was cut.
    pub(crate) fn note_lost(&mut self, link: LocalLink, packets: u64) {
        self.cold_links[link.index()].losses.get_or_insert_default().lost += packets;
    }

    /// Lets a switch use the port of a link, or not, and a host with several links; another host has no other.
    pub(crate) fn set_live(
        &mut self,
        link: LocalLink,
        up: bool,
        now: Time,
        out: &mut Outbox<Parcel>,
    ) {
        if let Some(switch) = self.switch_of(link) {
            let port = PortId(link.0 - self.switches[switch].first.0);
            self.lives[switch].set(port, up);
            return;
        }
        let (node, nth) = self.host_of(link);
        let Ok(home) = self.home_of(node) else { return };
        if let Some(live) = &mut self.homes[home].live {
            live.set(PortId::at(nth), up);
        }
        self.join_anew(home, now, out);
    }

    /// Connections of a host with several links wait for the cards of the links that are theirs now.
    fn join_anew(&mut self, home: usize, now: Time, out: &mut Outbox<Parcel>) {
        self.at_home(home, out, |host, net, (settings, _, log)| {
            host.join_anew(&mut host::Cx { settings, net, log }, now);
        });
    }

    /// Drops what waits at a switch's port, or at one of several of a host.
    pub(crate) fn flush(&mut self, link: LocalLink, now: Time, out: &mut Outbox<Parcel>) {
        if self.switch_of(link).is_none() && self.home_of(self.host_of(link).0).is_err() {
            return;
        }
        self.with_line(link, now, out, |driver, line| {
            for queue in 0..driver.port().state().queues() as u8 {
                while driver.port().state().queue_bytes(queue) > Bytes::ZERO {
                    let before = driver.queued();
                    driver.expel(queue, End::Head, line, now);
                    // Not every scheme lets a packet be expelled: without this the loop would not end.
                    if driver.queued() == before {
                        break;
                    }
                }
            }
        });
    }

    /// Ends the pauses of a port whose link is down. A switch whose port is up again pauses the neighbour anew, of
    /// whose pauses nothing was left.
    pub(crate) fn reset_pauses(
        &mut self,
        link: LocalLink,
        up: bool,
        now: Time,
        out: &mut Outbox<Parcel>,
    ) {
        let switch = self.switch_of(link);
        if up {
            if let Some(switch) = switch
                && let Some(pausing) = self.pausing.get_mut(switch)
            {
                pausing.repeat(PortId(link.0 - self.switches[switch].first.0), now);
            }
            return;
        }
        if switch.is_none() {
            let (host, nth) = self.host_of(link);
            self.hosts[host].unpause(nth, now);
        }
        self.with_line(link, now, out, |driver, _| driver.release(now));
    }

    /// Gives all switches other tables, and hosts with several links. Answers these hosts' nodes.
    pub(crate) fn reroute(
        &mut self,
        table: Arc<dyn Route>,
        now: Time,
        out: &mut Outbox<Parcel>,
    ) -> Vec<NodeId> {
        self.table = Some(table);
        (0..self.homes.len()).for_each(|home| self.join_anew(home, now, out));
        self.homes.iter().map(|home| NodeId::at(home.node)).collect()
    }

    /// Packets dropped, since no port was left that leads on.
    pub(crate) fn no_route(&self) -> u64 {
        self.lives.iter().map(|live| live.no_route).sum()
    }

    /// Changes a link's propagation for what leaves from now on.
    pub(crate) fn set_delay(
        &mut self,
        link: LocalLink,
        delay: Span,
        now: Time,
        out: &mut Outbox<Parcel>,
    ) {
        // Departures due by now still have the old delay.
        self.with_line(link, now, out, |_, _| {});
        self.links[link.index()].channel.delay = delay;
    }

    /// Makes a link lose at random from now on, or no more.
    pub(crate) fn set_errors(
        &mut self,
        link: LocalLink,
        errors: Option<Errors>,
        now: Time,
        out: &mut Outbox<Parcel>,
    ) {
        self.with_line(link, now, out, |driver, line| {
            driver.watch();
            line.cold().losses.get_or_insert_default().errors = errors;
        });
    }

    /// Packets that a link has lost on its line.
    pub(crate) fn lost(&self, link: LocalLink) -> u64 {
        self.cold_links[link.index()].losses.as_ref().map_or(0, |losses| losses.lost)
    }

    /// Does something to a settled link.
    pub(super) fn with_line(
        &mut self,
        link: LocalLink,
        now: Time,
        out: &mut Outbox<Parcel>,
        act: impl FnOnce(&mut Driver, &mut Line),
    ) {
        let settled = |driver: &mut Driver, line: &mut Line| {
            driver.settle(line, now);
            act(driver, line);
        };
        if let Some(switch) = self.switch_of(link) {
            let port = PortId(link.0 - self.switches[switch].first.0);
            let mut switch = self.switch(switch, out);
            switch.at(port, settled);
            // Packets that left or were dropped may let neighbours send again.
            if switch.pausing.is_some() {
                switch.listen(now);
            }
            return;
        }
        let Fabric { memories, links, cold_links, packets, shared, me, .. } = self;
        let Link { driver, channel } = &mut links[link.index()];
        let cold = (link, std::slice::from_mut(&mut cold_links[link.index()]));
        let memory = &mut memories[link.index()];
        let mut line = Line::new(cold, memory, packets, (shared, *me), out, None);
        settled(driver, line.at(0, channel));
    }
}
