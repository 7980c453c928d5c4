//! `[measure.monitors]`: what a run looks at more closely. The simulator has a file for each in
//! `observe`, with what it sees and its tables.

use super::PortNames;
use crate::run::Run;
use crate::topology::ports::{PORT, PORTS};
use switchbed_config::param::Unfit;
use switchbed_config::params;
use switchbed_units::Span;

params! {
    /// Queue lengths at every change within a window of time.
    pub struct Changes {
        /// Ports, named as in queues.
        ports: Vec<String> as PORTS;
        /// Beginning of the window.
        from: Span = "0us";
        /// End of the window.
        until: Span;
        /// A queue's slope is its growth over so long. Default: no slopes.
        slope_over: Option<Span>;
    }
}

impl Changes {
    fn check(&self, run: &Run) -> Result<(), Unfit> {
        let Changes { from, until, slope_over, .. } = *self;
        if until <= from {
            let why = format!("the window must end after it begins, {from}");
            return Err(Unfit::new(Self::KEY.until, why));
        }
        if let Some(end) = run.until
            && from >= end
        {
            let why = format!("it must be less than run.until, {end}");
            return Err(Unfit::new(Self::KEY.from, why));
        }
        match slope_over {
            Some(Span::ZERO) => {
                Err(Unfit::new(Changes::KEY.slope_over, "a time to grow in is longer than 0"))
            }
            _ => Ok(()),
        }
    }
}

params! {
    /// The longest queues after bursts, which begin with the start of a flow.
    pub struct Bursts {
        /// Ports, named as in queues.
        ports: Vec<String> as PORTS;
        /// A flow that starts so long after the one before begins a burst; others belong to
        /// the burst that is on.
        apart: Span = "100us";
    }
}

params! {
    /// Convergence of the flows over a port to equal rates.
    pub struct Convergence {
        /// The port that the flows share.
        port: String as PORT;
        /// Rates are means over so long.
        window: Span;
        /// How far off the fair share a rate may be, as a part of it.
        within: f64 = "0.1" as FRACTION;
        /// For so many windows in a row.
        windows: u64 = "3" as count(1, 1_000_000);
    }
}

impl Convergence {
    fn check(&self, _: &Run) -> Result<(), Unfit> {
        match self.window {
            Span::ZERO => Err(Unfit::new(Self::KEY.window, "a window is longer than 0")),
            _ => Ok(()),
        }
    }
}

params! {
    /// Windows, round trips and rates of flows' senders, at even times or as they change.
    pub struct FlowSeries {
        /// Interval of the samples, from the start of the run on. Default: a row for each change of window,
        /// threshold, pacing rate, α or model, and for each round trip that is measured.
        every: Option<Span>;
        /// Only flows of these rows of the table flows.
        rows: Option<Vec<u64>>;
        /// Only flows of the traffic with these places, from 0.
        traffic: Option<Vec<u32>>;
        /// Only flows of these classes.
        classes: Option<Vec<u8>>;
    }
}

impl FlowSeries {
    fn check(&self, traffic: usize) -> Result<(), Unfit> {
        let key = Self::KEY;
        if self.every == Some(Span::ZERO) {
            return Err(Unfit::new(key.every, "an interval is longer than 0"));
        }
        let empty = [
            (key.rows, self.rows.as_ref().is_some_and(Vec::is_empty)),
            (key.traffic, self.traffic.as_ref().is_some_and(Vec::is_empty)),
            (key.classes, self.classes.as_ref().is_some_and(Vec::is_empty)),
        ];
        if let Some((key, _)) = empty.into_iter().find(|(_, empty)| *empty) {
            return Err(Unfit::new(key, "it lists nothing: leave the key away"));
        }
        let beyond = |place: &&u32| **place as usize >= traffic;
        match self.traffic.iter().flatten().find(beyond) {
            Some(place) => {
                let why = format!("there is no traffic {place}: the last is {}", traffic - 1);
                Err(Unfit::new(key.traffic, why))
            }
            None => Ok(()),
        }
    }

    /// Whether a flow is among those that are sampled.
    pub fn has(&self, row: u64, traffic: u32, class: u8) -> bool {
        // A list that is not given bounds nothing.
        self.rows.as_ref().is_none_or(|rows| rows.contains(&row))
            && self.traffic.as_ref().is_none_or(|places| places.contains(&traffic))
            && self.classes.as_ref().is_none_or(|classes| classes.contains(&class))
    }
}

params! {
    /// How busy links were, interval by interval.
    pub struct LinkSeries {
        /// Length of the intervals, from the start of the run on.
        every: Span;
        /// Ports, named as in queues. Default: all, hosts' included.
        ports: Option<Vec<String>> as PORTS;
    }
}

impl LinkSeries {
    fn check(&self) -> Result<(), Unfit> {
        match (self.every, &self.ports) {
            (Span::ZERO, _) => Err(Unfit::new(Self::KEY.every, "an interval is longer than 0")),
            (_, Some(ports)) if ports.is_empty() => {
                Err(Unfit::new(Self::KEY.ports, "it lists nothing: leave the key away"))
            }
            _ => Ok(()),
        }
    }
}

params! {
    /// Times that data packets waited at ports, by the hosts that they go between.
    pub struct Waits {
        /// Ports, named as in queues. Default: all ports of switches.
        ports: Option<Vec<String>> as PORTS;
        /// Waits of packets that came within so long are summed.
        every: Span = "10us";
    }
}

impl Waits {
    fn check(&self) -> Result<(), Unfit> {
        match (self.every, &self.ports) {
            (Span::ZERO, _) => Err(Unfit::new(Self::KEY.every, "an interval is longer than 0")),
            (_, Some(ports)) if ports.is_empty() => {
                Err(Unfit::new(Self::KEY.ports, "it lists nothing: leave the key away"))
            }
            _ => Ok(()),
        }
    }
}

params! {
    /// The monitors of a scenario; none of them unless it asks.
    #[derive(Default)]
    pub struct Monitors {
        /// Queue lengths at every change within a window of time: the table changes.
        changes: Option<Changes>;
        /// The longest queue from each burst of flow starts to the next: the table bursts.
        bursts: Option<Bursts>;
        /// How soon each flow over a port has its fair share, an equal part of what they all get
        /// there: the tables convergence and rates.
        convergence: Option<Convergence>;
        /// Windows, round trips and rates of flows' senders, at even times or as they change: the
        /// table flow_series.
        flow_series: Option<FlowSeries>;
        /// How busy links were, interval by interval: the table link_series.
        link_series: Option<LinkSeries>;
        /// Times that data packets waited at ports, by the hosts that they go between: the table waits.
        waits: Option<Waits>;
        /// Ports whose lines' idle time is counted while a sender has data for them that it has
        /// not sent yet: underflow_s in the table ports.
        underflow: PortNames;
    }
}

impl Monitors {
    /// Whether they go with the rest of the scenario, which has so many entries of traffic.
    ///
    /// # Errors
    /// The monitor, and its first key that does not.
    pub fn check(&self, run: &Run, traffic: usize) -> Result<(), (&'static str, Unfit)> {
        let changes = self.changes.iter().try_for_each(|changes| changes.check(run));
        changes.map_err(|unfit| (Self::KEY.changes, unfit))?;
        let convergence = self.convergence.iter().try_for_each(|of| of.check(run));
        convergence.map_err(|unfit| (Self::KEY.convergence, unfit))?;
        let flow_series = self.flow_series.iter().try_for_each(|of| of.check(traffic));
        flow_series.map_err(|unfit| (Self::KEY.flow_series, unfit))?;
        let link_series = self.link_series.iter().try_for_each(LinkSeries::check);
        link_series.map_err(|unfit| (Self::KEY.link_series, unfit))?;
        let waits = self.waits.iter().try_for_each(Waits::check);
        waits.map_err(|unfit| (Self::KEY.waits, unfit))
    }

    /// Whether senders are followed change by change.
    pub fn follows_senders(&self) -> bool {
        self.flow_series.as_ref().is_some_and(|of| of.every.is_none())
    }
}
