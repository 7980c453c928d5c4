//! Small packets at even intervals that come back at once, as `ping`'s; no flows. The simulator's hosts
//! send them (`sim/node/host/probes.rs`).

use super::flow::{Begun, Wrong};
use super::keys::check_classes;
use super::{Around, Expected, HostSet, Hosts, OneHost, Site, Source};
use switchbed_config::param::Unfit;
use switchbed_config::params;
use switchbed_units::{Bytes, Span};

params! {
    /// Small packets at even intervals that come back at once.
    pub struct Probe {
        /// Sending hosts.
        from: HostSet = "all";
        /// The host that sends back.
        to: OneHost;
        /// Length on the wire, there and back (84 bytes: what ping sends).
        size: Bytes = "84B";
        /// From one to the next.
        every: Span;
        /// Each is probed, and so its queue.
        classes: Vec<u8> = "[0]";
        /// When the first is sent.
        start: Span = "0us";
        /// None is sent from then on. Default: at the end of the run. (Probes
        /// alone keep no run going, unless stop or until in [run] says how long.)
        stop: Option<Span>;
    }
}

impl Source for Probe {
    fn complete(&mut self, site: &Site<'_>) -> Result<(), Unfit> {
        self.from.name_others(self.to, site)?;
        if self.size == Bytes::ZERO || self.size > site.mtu {
            let why = format!("a probe is one packet of at most host.mtu, {}", site.mtu);
            return Err(Unfit::new(key!(size), why));
        }
        if self.every == Span::ZERO {
            return Err(Unfit::new(key!(every), "probes are some time apart"));
        }
        check_classes(&self.classes, site)?;
        self.stop = self.stop.or(site.run.until);
        match self.stop {
            Some(end) if self.start >= end => {
                let why = format!("the first probe would be sent after the end, {end}");
                Err(Unfit::new(key!(start), why))
            }
            _ => Ok(()),
        }
    }
    fn flows(&self, hosts: Hosts, _: u64, _: usize) -> Result<Begun, Wrong> {
        hosts.many_to_one(&self.from, self.to)?;
        let in_range = (1..=u64::from(u32::MAX)).contains(&self.size.get());
        match !in_range || self.every == Span::ZERO || self.classes.is_empty() {
            true => Err("a probe needs a size, an interval and a class".into()),
            false => Ok(Begun::new(Vec::new().into_iter(), 0)),
        }
    }
    fn expected(&self, around: &Around<'_>) -> Expected {
        let lasts_s = self.stop.map_or(0.0, |stop| stop.as_secs_f64().min(around.until_s));
        let each = (lasts_s - self.start.as_secs_f64()).max(0.0) / self.every.as_secs_f64();
        let probes = each * (self.from.len() * self.classes.len()) as f64;
        Expected { probes, lasts_s, ..Expected::default() }
    }
    fn classes(&self) -> u16 {
        self.classes.iter().copied().max().map_or(0, u16::from)
    }

    fn asks(&self) -> bool {
        true
    }
    fn never_ends(&self) -> bool {
        self.stop.is_none()
    }
}
