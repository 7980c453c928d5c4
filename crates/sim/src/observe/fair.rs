//! Rate of each class under max-min fair sharing of the network, for comparison with its goodput.
//!
//! Counted are flows that send as long as they run, and on–off sources as demands of their
//! offered rate; flows of a size come and go, and claim nothing. Weights and caps are those of
//! the scheme, where it has any.

use crate::ids::{HostId, LinkId};
use crate::ports::PortInfo;
use crate::timeline::initial_shares;
use crate::topology::{Graph, Hop, keys};
use std::collections::BTreeMap;
use switchbed_qdisc::schemes::fairness::{Party, Share, Shares};
use switchbed_scenario::protocols::Protocols;
use switchbed_scenario::traffic::FlowStart;
use switchbed_scenario::{OnOff, Scenario, Traffic};
use switchbed_units::{Rate, Time};

/// A flow that claims a part of every link of its path.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The links, each with the part of the flow that takes it.
    pub links: Vec<(LinkId, f64)>,
    /// Weight against other flows, over 0.
    pub weight: f64,
    /// The most that it can use, in bits per second.
    pub limit_bps: f64,
}

/// The weighted max-min fair allocation, by progressive filling (Bertsekas and Gallager, Data
/// Networks, section 6.5.2): all rise together, by weight, until a link is full or a limit is
/// reached, which fixes those that it concerns. In bits per second, as `capacity` is.
pub(crate) fn max_min(capacity: impl Fn(LinkId) -> f64, claims: &[Claim]) -> Vec<f64> {
    let mut shares = vec![f64::NAN; claims.len()];
    // The rest of each link, and the weights of the claims that still rise.
    let mut links: BTreeMap<LinkId, (f64, f64)> = BTreeMap::new();
    for claim in claims {
        for &(link, part) in &claim.links {
            links.entry(link).or_insert_with(|| (capacity(link), 0.0)).1 += claim.weight * part;
        }
    }
    while shares.iter().any(|share| share.is_nan()) {
        let level_of = |claim: &Claim| {
            // Rounding may leave a full link a little below zero.
            let level = |(link, _): &(LinkId, f64)| (links[link].0 / links[link].1).max(0.0);
            let full = claim.links.iter().map(level).fold(f64::INFINITY, f64::min);
            full.min(claim.limit_bps / claim.weight)
        };
        let rising = || claims.iter().zip(&shares).filter(|(_, share)| share.is_nan());
        let level = rising().map(|(claim, _)| level_of(claim)).fold(f64::INFINITY, f64::min);
        // Claims whose own level that is; a little more, for the sums are not exact.
        let fixed: Vec<bool> = claims
            .iter()
            .zip(&shares)
            .map(|(claim, share)| share.is_nan() && level_of(claim) <= level * (1.0 + 1e-12))
            .collect();
        for (i, claim) in claims.iter().enumerate().filter(|&(i, _)| fixed[i]) {
            shares[i] = level * claim.weight;
            for (link, part) in &claim.links {
                let left = links.get_mut(link).expect("a link of a claim");
                *left = (left.0 - shares[i] * part, left.1 - claim.weight * part);
            }
        }
    }
    shares
}

/// Fair shares over time of the classes that send.
#[derive(Debug)]
pub(crate) struct FairShares {
    seed: u64,
    protocols: Option<Protocols>,
    rates: Vec<Rate>,
    party: Party,
    shares: Shares,
    /// By row; on–off sources have rows of their own, from the other end.
    flows: BTreeMap<u64, Flow>,
    /// When sources begin and end, the latest first.
    sources: Vec<(Time, u64, Option<Flow>)>,
    /// Something has changed since it was last allocated.
    changed: bool,
    /// Payload rate of every class, as things are.
    present_bps: Box<[f64; 256]>,
    /// Up to when `bits` is counted.
    since: Time,
    /// Payload that every class would have had so far.
    bits: Box<[f64; 256]>,
}

/// Flow that takes part in the sharing.
#[derive(Clone, Debug)]
struct Flow {
    class: u8,
    links: Vec<(LinkId, f64)>,
    /// Demand in bit/s on the wire.
    limit_bps: f64,
    /// Payload over what is on the wire.
    payload: f64,
}

impl FairShares {
    /// Makes the shares of a scenario, whose on–off sources are known beforehand.
    pub(crate) fn of(scenario: &Scenario, graph: &Graph, ports: &[PortInfo]) -> FairShares {
        let Scenario { scheme, traffic, run, .. } = scenario;
        let protocols = Protocols::of(scenario);
        let shares = scheme.each().iter().find_map(|choice| choice.scheme.shares());
        let party = shares.map_or(Party::Flow, |(party, _)| party);
        let rates = ports.iter().map(|port| port.cable.rate).collect();
        let mut shares = FairShares::new(rates, party, initial_shares(scenario));
        shares.seed = run.seed;
        for (place, entry) in traffic.iter().enumerate() {
            let Traffic::OnOff(sources) = &entry.source else { continue };
            let OnOff { from, to, burst, rate, classes, start, stagger, .. } = sources;
            let stop = Time::ZERO + sources.stop();
            for (k, (&src, &class)) in from.iter().zip(classes.iter().cycle()).enumerate() {
                let pair = u64::from(src) << 32 | u64::from(to.0);
                let key = keys(run.seed, pair, u64::from(class) << 32)[0];
                let (src, hop) = (HostId(src), Hop { dst: HostId(to.0), key });
                let protocol = protocols.between(place as u32, class, (src, hop.dst));
                let (mss, header) = protocol.framing();
                let packets = burst.get().div_ceil(mss.get()) as f64;
                let payload = burst.as_f64() / (burst.as_f64() + packets * header.as_f64());
                // With run.ecmp_by_row each burst draws a path.
                let ways = match protocol.sprays() || run.ecmp_by_row {
                    true => graph.sprayed(src, hop),
                    false => graph.ways(src, hop),
                };
                let Some(links) = ways.shares() else { continue };
                let flow =
                    Flow { class, links, limit_bps: rate.as_bps() as f64 / payload, payload };
                let begin = Time::ZERO + *start + *stagger * k as u64;
                shares.add_source(flow, begin, stop);
            }
        }
        shares.protocols = Some(protocols);
        shares
    }

    /// Adds a flow that starts, on its way if that is known; else on that of a connection of its own.
    pub(crate) fn start(&mut self, flow: &FlowStart, known: Option<Hop>, graph: &Graph) {
        if flow.size.is_some() {
            return;
        }
        let key = flow.path.map_or(keys(self.seed, flow.row, 0)[0], |path| Hop::PINNED | path);
        let (hosts, own) = ((flow.src, flow.dst), Hop { dst: flow.dst, key });
        let hop = known.unwrap_or(own);
        let Some(protocols) = &self.protocols else { return };
        let protocol = protocols.between(flow.traffic, flow.class, hosts);
        let ways = match protocol.sprays() {
            true => graph.sprayed(flow.src, hop),
            false => graph.ways(flow.src, hop),
        };
        let Some(links) = ways.shares() else { return };
        let limit_bps = f64::INFINITY;
        let (mss, header) = protocol.framing();
        let payload = mss.as_f64() / (mss.as_f64() + header.as_f64());
        let flow_of = Flow { class: flow.class, links, limit_bps, payload };
        self.add(flow.row, flow_of, flow.start);
    }

    fn new(rates: Vec<Rate>, party: Party, shares: Shares) -> FairShares {
        FairShares {
            seed: 0,
            protocols: None,
            rates,
            party,
            shares,
            flows: BTreeMap::new(),
            sources: Vec::new(),
            changed: false,
            present_bps: Box::new([0.0; 256]),
            since: Time::ZERO,
            bits: Box::new([0.0; 256]),
        }
    }

    /// A source that offers traffic from one time to another.
    fn add_source(&mut self, flow: Flow, from: Time, until: Time) {
        // Two entries a source, its beginning and its end: both get the same row.
        let row = u64::MAX - self.sources.len() as u64 / 2;
        self.sources.push((from, row, Some(flow)));
        self.sources.push((until, row, None));
        self.sources.sort_by_key(|source| std::cmp::Reverse(source.0));
    }

    fn add(&mut self, row: u64, flow: Flow, now: Time) {
        self.change(now, |shares| drop(shares.flows.insert(row, flow)));
    }
    /// Removes a flow that is over.
    pub(crate) fn remove(&mut self, row: u64, now: Time) {
        self.change(now, |shares| drop(shares.flows.remove(&row)));
    }
    /// A link has another rate from now on.
    pub(crate) fn set_rate(&mut self, link: LinkId, rate: Rate, now: Time) {
        self.change(now, |shares| shares.rates[link.index()] = rate);
    }
    /// A class has another share from now on.
    pub(crate) fn set_share(&mut self, class: u8, share: Share, now: Time) {
        self.change(now, |shares| shares.shares.set(class, share));
    }

    /// Payload in bits that every class would have had by now.
    pub(crate) fn bits(&mut self, now: Time) -> Box<[f64; 256]> {
        self.advance(now);
        self.bits.clone()
    }

    fn change(&mut self, now: Time, what: impl FnOnce(&mut Self)) {
        self.advance(now);
        what(self);
        self.changed = true;
    }

    fn advance(&mut self, now: Time) {
        while let Some((at, row, flow)) = self.sources.pop_if(|source| source.0 <= now) {
            self.count(at);
            match flow {
                Some(flow) => self.flows.insert(row, flow),
                None => self.flows.remove(&row),
            };
            self.changed = true;
        }
        self.count(now);
    }

    fn count(&mut self, now: Time) {
        if now <= self.since {
            return;
        }
        // Changes of one instant are worth one allocation.
        if std::mem::take(&mut self.changed) {
            self.allocate();
        }
        let seconds = now.since(self.since).as_secs_f64();
        for (bits, bps) in self.bits.iter_mut().zip(self.present_bps.iter()) {
            *bits += bps * seconds;
        }
        self.since = now;
    }

    fn allocate(&mut self) {
        let mut of_class = [0_u32; 256];
        self.flows.values().for_each(|flow| of_class[usize::from(flow.class)] += 1);
        let claims: Vec<Claim> = self
            .flows
            .values()
            .map(|flow| {
                let Share { weight, cap } = self.shares.of(flow.class);
                let cap_bps = cap.map_or(f64::INFINITY, |cap| cap.as_bps() as f64);
                // A class's flows have equal parts of what the class has.
                let parts = match self.party {
                    Party::Flow => 1.0,
                    Party::Class => f64::from(of_class[usize::from(flow.class)]),
                };
                Claim {
                    links: flow.links.clone(),
                    weight: weight / parts,
                    limit_bps: flow.limit_bps.min(cap_bps / parts),
                }
            })
            .collect();
        *self.present_bps = [0.0; 256];
        let allocated = max_min(|link| self.rates[link.index()].as_bps() as f64, &claims);
        for (flow, bps) in self.flows.values().zip(allocated) {
            self.present_bps[usize::from(flow.class)] += bps * flow.payload;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use switchbed_units::Span;

    fn claim(links: &[u32], weight: f64, limit_bps: f64) -> Claim {
        Claim { links: links.iter().map(|&link| (LinkId(link), 1.0)).collect(), weight, limit_bps }
    }
    const NO: f64 = f64::INFINITY;

    #[test]
    fn a_parking_lot_is_shared_as_by_hand() {
        // A long flow over three links of 10, two short ones on the first, one on the second,
        // none on the third.
        let claims = [
            claim(&[0, 1, 2], 1.0, NO),
            claim(&[0], 1.0, NO),
            claim(&[0], 1.0, NO),
            claim(&[1], 1.0, NO),
        ];
        let third = 10.0 / 3.0;
        let close = |shares: &[f64], expected: &[f64]| {
            assert!(shares.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{shares:?}");
        };
        close(&max_min(|_| 10.0, &claims), &[third, third, third, 10.0 - third]);
        // The long one capped at 1; one short one of weight 3 against 1.
        let mut capped = claims.clone();
        capped[0].limit_bps = 1.0;
        capped[1].weight = 3.0;
        close(&max_min(|_| 10.0, &capped), &[1.0, 6.75, 2.25, 9.0]);
        close(
            &max_min(|link| if link == LinkId(2) { 0.5 } else { 10.0 }, &claims),
            &[0.5, 4.75, 4.75, 9.5],
        );
        assert!(max_min(|_| 10.0, &[]).is_empty());
        // A flow of halves over two links of 10, one of them shared with a whole flow.
        let halves = Claim { links: vec![(LinkId(0), 0.5), (LinkId(1), 0.5)], ..claims[3].clone() };
        let whole = claim(&[0], 1.0, NO);
        close(&max_min(|_| 10.0, &[halves, whole]), &[20.0 / 3.0, 20.0 / 3.0]);
    }

    proptest! {
        #[test]
        fn everybody_is_at_the_limit_or_first_on_a_full_link(
            flows in prop::collection::vec(
                (prop::collection::btree_set(0..6_u32, 1..4), 0.1..5.0, prop_oneof![Just(NO), 0.0..9.0]),
                1..20,
            ),
            capacity in prop::collection::vec(0.5..20.0, 6),
        ) {
            let claims: Vec<Claim> = flows
                .iter()
                .map(|(links, weight, limit)| {
                    claim(&links.iter().copied().collect::<Vec<_>>(), *weight, *limit)
                })
                .collect();
            let shares = max_min(|link| capacity[link.index()], &claims);
            let on = |link: LinkId| {
                claims.iter().zip(&shares).filter(move |(claim, _)| claim.links.contains(&(link, 1.0)))
            };
            let full = |link: LinkId| {
                let load: f64 = on(link).map(|(_, share)| share).sum();
                (load - capacity[link.index()]).abs() < 1e-9
            };
            for (claim, share) in claims.iter().zip(&shares) {
                prop_assert!(*share >= 0.0 && *share <= claim.limit_bps + 1e-9);
                let bottleneck = claim.links.iter().any(|&(link, _)| {
                    let most = on(link).map(|(other, s)| s / other.weight).fold(0.0, f64::max);
                    full(link) && share / claim.weight >= most - 1e-9
                });
                prop_assert!((share - claim.limit_bps).abs() < 1e-9 || bottleneck);
            }
            for link in (0..6).map(LinkId) {
                let load: f64 = on(link).map(|(_, share)| share).sum();
                prop_assert!(load <= capacity[link.index()] + 1e-9);
            }
        }
    }

    #[test]
    fn shares_follow_what_comes_and_goes() {
        let at = |s: u64| Time::ZERO + Span::from_ms(1000 * s);
        let flow = |class, limit_bps| Flow {
            class,
            links: vec![(LinkId(0), 1.0)],
            limit_bps,
            payload: 0.5,
        };
        let mut shares = FairShares::new(vec![Rate::from_bps(100)], Party::Flow, Shares::default());
        shares.add_source(flow(2, 10.0), at(3), at(4));
        shares.add(0, flow(0, f64::INFINITY), at(0));
        shares.add(1, flow(1, f64::INFINITY), at(1));
        shares.set_rate(LinkId(0), Rate::from_bps(40), at(2));
        shares.set_share(0, Share { weight: 3.0, cap: None }, at(5));
        shares.remove(1, at(6));
        let bits = shares.bits(at(7));
        // 100; 50 : 50; 20 : 20; 15 : 15 : 10; 20 : 20; 30 : 10; 40.
        assert_eq!(bits[..3], [275.0 / 2.0, 115.0 / 2.0, 10.0 / 2.0]);
    }
}
