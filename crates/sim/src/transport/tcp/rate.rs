//! Delivery-rate samples (draft-cheng-iccrg-delivery-rate-estimation; Linux, `tcp_rate.c`), for controls
//! that steer by a model of the path. A sample is what arrived between a packet's departure and its
//! ACK, over the time that this took, or that sending it took where that was longer.
//!
//! The application limits what is out if, as it writes, less than a packet waits to be sent, the card
//! holds nothing, the window has space and all that was lost is sent again. Samples of what is out then
//! say so. Without RACK a packet counts as lost when it is sent again.

use super::loss::Phase;
use super::sender::Sender;
use super::{Config, Flags, Segment};
use crate::transport::ranges::{KEPT, give_back};
use std::collections::VecDeque;
use switchbed_congestion::{Connection, Delivered, LostPacket, Model, RateSample, Repair};
use switchbed_units::{Span, Time};

/// A packet that is not acknowledged, and what had arrived as it left.
#[derive(Clone, Copy, Debug)]
struct Departed {
    /// After its last byte.
    end: u64,
    at: Time,
    /// When the packet left whose arrival was the last one known then.
    first_at: Time,
    /// Packets that had arrived, and when the last ACK told so.
    delivered: u64,
    delivered_at: Time,
    app_limited: bool,
    /// Packets in the network with it, and packets lost until then.
    in_flight: u32,
    lost: u64,
    /// The packet was sent more than once.
    again: bool,
    sacked: bool,
}

/// Departures and arrivals of a connection's packets.
#[derive(Clone, Debug)]
pub(super) struct Deliveries {
    mss: u32,
    /// The packets that are out, in the order of the stream.
    out: VecDeque<Departed>,
    delivered: u64,
    delivered_at: Time,
    first_at: Time,
    /// Samples count as limited by the application until so many have arrived; 0: they do not.
    app_limited: u64,
    min_rtt_us: Option<u64>,
    /// Packets in the network after the last event.
    in_flight: u32,
    /// Packets taken for lost, now and before the ACK that is being looked at.
    lost: u64,
    lost_before: u64,
    /// All before was acknowledged by the ACK before.
    una: u64,
    /// The packet that the ACK told of, of those that left last.
    latest: Option<Departed>,
    newly: u32,
    rtt_us: Option<u64>,
    ack_delayed: bool,
    begun: bool,
}

/// Ends of segments that are taken for lost, where the control asks for them.
pub(super) struct Losses {
    ends: Option<Vec<u64>>,
}

impl Losses {
    pub(super) fn of(config: &Config) -> Losses {
        Losses { ends: config.by_model.then(Vec::new) }
    }

    #[inline]
    pub(super) fn push(&mut self, end: u64) {
        if let Some(ends) = &mut self.ends {
            ends.push(end);
        }
    }
}

fn us_between(later: Time, earlier: Time) -> u64 {
    (later.as_ps() / 1_000_000).saturating_sub(earlier.as_ps() / 1_000_000)
}

fn us(span: Span) -> u64 {
    span.as_ps() / 1_000_000
}

impl Deliveries {
    pub(super) fn new(config: &Config) -> Deliveries {
        Deliveries::of(config.mss)
    }

    fn of(mss: u32) -> Deliveries {
        Deliveries {
            mss,
            out: VecDeque::new(),
            delivered: 0,
            delivered_at: Time::ZERO,
            first_at: Time::ZERO,
            app_limited: 0,
            min_rtt_us: None,
            in_flight: 0,
            lost: 0,
            lost_before: 0,
            una: 0,
            latest: None,
            newly: 0,
            rtt_us: None,
            ack_delayed: false,
            begun: false,
        }
    }

    /// A packet goes out for the first time.
    fn depart(&mut self, packet: Departed) {
        if self.out.len() == self.out.capacity() && self.out.len() >= KEPT {
            self.merge();
            // A ring that is almost full again would soon be searched again.
            self.out.reserve_exact(self.out.capacity() / 4);
        }
        self.out.push_back(packet);
    }

    /// Packets from `from` to `end` go out again: a repaired segment may hold several, and each is in the network from
    /// now on.
    fn depart_again(&mut self, from: u64, departed: Departed) {
        let mut nth = self.out.partition_point(|packet| packet.end <= from);
        while let Some(packet) = self.out.get_mut(nth).filter(|packet| packet.end <= departed.end) {
            *packet = Departed { end: packet.end, sacked: packet.sacked, ..departed };
            nth += 1;
        }
    }

    /// Gives each run of SACKed packets one place, as Linux does (tcp_shift_skb_data): up to a receive window of them
    /// waits behind a retransmission that was lost, too. Of a SACKed packet only the end and whether it was sent again
    /// matter later.
    #[cold]
    fn merge(&mut self) {
        let mut last = 0;
        for nth in 1..self.out.len() {
            let (packet, before) = (self.out[nth], &mut self.out[last]);
            if before.sacked && packet.sacked {
                (before.end, before.again) = (packet.end, before.again || packet.again);
            } else {
                last += 1;
                self.out[last] = packet;
            }
        }
        self.out.truncate(last + 1);
    }

    /// The packet that holds the byte before `end`, and where it begins.
    fn holding(&self, end: u64, una: u64) -> Option<(u64, Departed)> {
        let nth = self.out.partition_point(|packet| packet.end < end);
        // A packet begins where the one before it ends; the first one at what is acknowledged.
        let from = if nth == 0 { una } else { self.out[nth - 1].end };
        self.out.get(nth).map(|&packet| (from, packet))
    }

    /// A packet has arrived (tcp_rate_skb_delivered).
    fn arrived(&mut self, packet: Departed) {
        self.delivered += 1;
        self.newly += 1;
        // Of several packets the one that left last makes the sample: its interval is the newest.
        if self.latest.is_none_or(|latest| (packet.at, packet.end) > (latest.at, latest.end)) {
            self.latest = Some(packet);
        }
    }

    /// All before `una` is acknowledged.
    fn acknowledged(&mut self, una: u64, now: Time) {
        let (mut again, mut packets, mut sacked) = (false, 0, false);
        let mut last = None;
        while let Some(&packet) = self.out.front().filter(|packet| packet.end <= una) {
            self.out.pop_front();
            packets += 1;
            again |= packet.again;
            sacked |= packet.sacked;
            if packet.sacked {
                continue;
            }
            if !packet.again {
                last = Some(packet);
            }
            self.arrived(packet);
        }
        give_back(&mut self.out);
        // A retransmission's ACK may be that of the first sending.
        if let (Some(packet), false) = (last, again) {
            self.rtt_us = Some(us_between(now, packet.at));
            // A lone runt, which the receiver may have waited with (FLAG_ACK_MAYBE_DELAYED).
            self.ack_delayed = packets == 1
                && !sacked
                && una - self.una < u64::from(self.mss)
                && packet.delivered + 1 == self.delivered;
        }
        self.una = una;
    }

    /// A block SACKs the bytes from `from` to `to`, of which those of `new` were not; a packet has arrived where it
    /// covers all of it.
    fn sacked(&mut self, (from, to): (u64, u64), new: (u64, u64), now: Time) {
        let mut nth = self.out.partition_point(|packet| packet.end <= new.0);
        let mut start = nth.checked_sub(1).map_or(self.una, |before| self.out[before].end);
        while let Some(packet) = self.out.get_mut(nth).filter(|packet| packet.end <= to) {
            if start >= new.1 {
                break;
            }
            let whole = start >= from;
            start = packet.end;
            if whole && !packet.sacked {
                packet.sacked = true;
                let packet = *packet;
                if !packet.again {
                    self.rtt_us = Some(us_between(now, packet.at));
                }
                self.arrived(packet);
            }
            nth += 1;
        }
    }

    /// The sample of the ACK whose arrivals have been noted (tcp_rate_gen).
    fn sample(&mut self, now: Time) -> RateSample {
        // All that was out when the application ran dry has arrived: samples count again.
        if self.app_limited > 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        if self.newly > 0 {
            self.delivered_at = now;
        }
        let delivered = self.latest.map(|latest| {
            self.first_at = latest.at;
            // The longer of the two: neither a burst of packets nor one of ACKs can raise the
            // rate.
            let sending = us_between(latest.at, latest.first_at);
            let arriving = us_between(now, latest.delivered_at);
            let packets = self.delivered - latest.delivered;
            Delivered { packets, prior: latest.delivered, interval_us: sending.max(arriving) }
        });
        if let Some(rtt) = self.rtt_us {
            self.min_rtt_us = Some(self.min_rtt_us.map_or(rtt, |least| least.min(rtt)));
        }
        // Less than the least round trip: of a retransmission that was needless.
        let least = self.min_rtt_us.unwrap_or(0);
        RateSample {
            delivered: delivered.filter(|rate| rate.interval_us >= least),
            newly: self.newly,
            losses: u32::try_from(self.lost - self.lost_before).unwrap_or(u32::MAX),
            rtt_us: self.rtt_us,
            ack_delayed: self.ack_delayed,
            prior_in_flight: self.in_flight,
            app_limited: self.latest.is_some_and(|latest| latest.app_limited),
            tx_in_flight: self.latest.map_or(0, |latest| latest.in_flight),
            lost: self.latest.map_or(0, |latest| self.lost - latest.lost),
        }
    }
}

impl Sender {
    fn rates(&mut self) -> Option<&mut Deliveries> {
        self.extras.as_mut()?.rates.as_deref_mut()
    }

    fn packets_in_flight(&self, config: &Config) -> u32 {
        let packets = self.in_flight(config).div_ceil(config.mss.into());
        u32::try_from(packets).unwrap_or(u32::MAX / 4)
    }

    /// The connection as its control sees it.
    fn connection(&self, config: &Config, now: Time) -> Option<Connection> {
        let rates = self.extras.as_ref()?.rates.as_deref()?;
        Some(Connection {
            now,
            mss: config.mss,
            srtt_us: self.srtt().map(us),
            min_rtt_us: rates.min_rtt_us,
            cwnd: self.cwnd() as u32,
            in_flight: self.packets_in_flight(config),
            delivered: rates.delivered,
            lost: rates.lost,
            delivered_at: rates.delivered_at,
            wait_us: us_between(self.paced_next(), now),
            app_limited: rates.app_limited > 0,
            repair: match self.loss.as_ref().map(|loss| loss.phase) {
                Some(Phase::Recovery) => Repair::Recovery,
                Some(Phase::Holdoff) => Repair::Timeout,
                Some(Phase::Disorder) | None => Repair::Open,
            },
        })
    }

    /// The application writes (tcp_rate_check_app_limited).
    #[cold]
    pub(super) fn look_whether_app_limited(&mut self) {
        let (unsent, cwnd, in_card) = (self.unsent(), self.cwnd(), self.waits_in_card());
        let lost = self.extras.as_ref().map_or(0, |extras| extras.log.lost());
        let Some(rates) = self.rates() else { return };
        let space = f64::from(rates.in_flight) < cwnd;
        // Less than a segment to send, none in the card, window left, and nothing to repair: only
        // the application holds it back.
        if unsent < u64::from(rates.mss) && !in_card && space && lost == 0 {
            rates.app_limited = (rates.delivered + u64::from(rates.in_flight)).max(1);
        }
    }

    /// A segment goes out, and is in the network from now on (tcp_rate_skb_sent).
    #[cold]
    pub(super) fn note_departure(&mut self, config: &Config, segment: &Segment, now: Time) {
        let (at, srtt) = (self.departs(config, now), self.srtt());
        let in_flight = self.packets_in_flight(config);
        let again = segment.flags.contains(Flags::RETRANSMIT);
        let (from, end) = (segment.offset, segment.offset + u64::from(segment.len));
        // Without RACK no rule has taken it for lost before it goes out again.
        if again && !config.rack() {
            self.lose_departed(config, end, now);
        }
        let Some(rates) = self.rates() else { return };
        let (begins, idle) = (!rates.begun, rates.in_flight == 0);
        rates.begun = true;
        if begins {
            rates.min_rtt_us = srtt.map(us);
        }
        // The first of a flight: intervals of its samples begin with it, not with the silence
        // before.
        if rates.out.is_empty() {
            (rates.first_at, rates.delivered_at) = (at, at);
        }
        let departed = Departed {
            end,
            at,
            first_at: rates.first_at,
            delivered: rates.delivered,
            delivered_at: rates.delivered_at,
            app_limited: rates.app_limited > 0,
            in_flight,
            lost: rates.lost,
            again,
            sacked: false,
        };
        if again {
            rates.depart_again(from, departed);
        } else {
            rates.depart(departed);
        }
        if let Some(conn) = self.connection(config, now) {
            if begins {
                self.window.begin(config, &conn);
            } else if idle {
                self.window.restart_model(config, conn);
            }
        }
        self.note_in_flight(config);
    }

    /// Notes what is in the network before the next ACK.
    pub(super) fn note_in_flight(&mut self, config: &Config) {
        let in_flight = self.packets_in_flight(config);
        if let Some(rates) = self.rates() {
            rates.in_flight = in_flight;
        }
    }

    /// Takes in the arrivals that an ACK tells of, before the scoreboard does.
    #[cold]
    pub(super) fn note_deliveries(&mut self, ack: &Segment, now: Time) {
        let una = self.una;
        let sacked = self.loss.as_ref().map(|loss| loss.sacked());
        let Some(rates) = self.extras.as_mut().and_then(|extras| extras.rates.as_deref_mut())
        else {
            return;
        };
        (rates.latest, rates.newly, rates.rtt_us, rates.ack_delayed) = (None, 0, None, false);
        rates.lost_before = rates.lost;
        rates.acknowledged(una, now);
        let mut blocks = ack.sack;
        // A DSACK comes first and tells of nothing new, so the blocks behind it alone.
        let blocks = &mut blocks[ack.sacks as usize - ack.sack_blocks().len()..ack.sacks as usize];
        // Packets arrive in the order of the stream here, whatever the order of the blocks.
        blocks.sort_unstable_by_key(|block| block.start);
        for block in blocks {
            let begin = (ack.offset + u64::from(block.start)).max(una);
            let (mut at, end) = (begin, ack.offset + u64::from(block.end));
            while at < end {
                // Only bytes that no earlier ACK has SACKed are arrivals of this one.
                let (from, to) = sacked.map_or((at, end), |sacked| sacked.gap_from(at));
                if from >= end {
                    break;
                }
                rates.sacked((begin, end), (from, to), now);
                at = to;
            }
        }
    }

    /// The control steers by the ACK whose arrivals have been noted.
    #[cold]
    pub(super) fn steer(&mut self, config: &Config, now: Time) {
        let Some(rates) = self.rates() else { return };
        let sample = rates.sample(now);
        let Some(conn) = self.connection(config, now) else { return };
        let steer = self.window.steer(config, conn, &sample);
        if let (true, Some(rates)) = (steer.app_limited, self.rates()) {
            rates.app_limited = (rates.delivered + u64::from(conn.in_flight)).max(1);
        }
        self.note_in_flight(config);
    }

    /// Packets have been taken for lost.
    #[inline]
    pub(super) fn tell_losses(&mut self, config: &Config, losses: Losses, now: Time) {
        for end in losses.ends.into_iter().flatten() {
            self.lose_departed(config, end, now);
        }
    }

    /// The packet that ends at `end` is taken for lost.
    #[cold]
    fn lose_departed(&mut self, config: &Config, end: u64, now: Time) {
        let una = self.una;
        let Some(rates) = self.rates() else { return };
        rates.lost += 1;
        let Some((from, packet)) = rates.holding(end, una) else { return };
        let lost = LostPacket {
            from,
            end: packet.end,
            tx_in_flight: packet.in_flight,
            lost: rates.lost - packet.lost,
            app_limited: packet.app_limited,
        };
        if let Some(conn) = self.connection(config, now) {
            self.window.lose(config, &conn, &lost);
        }
    }

    /// A repair was needless: the control begins its samples with the last arrival.
    #[cold]
    pub(super) fn tell_undone(&mut self, config: &Config) {
        let at = self.rates().map_or(Time::ZERO, |rates| rates.delivered_at);
        if let Some(conn) = self.connection(config, at) {
            self.window.undo_model(config, &conn);
        }
    }

    /// The retransmission timer has expired.
    #[cold]
    pub(super) fn tell_timeout(&mut self, config: &Config, now: Time) {
        if let Some(conn) = self.connection(config, now) {
            self.window.time_out_model(config, &conn);
        }
        self.note_in_flight(config);
    }

    /// The control's model of the path.
    pub fn model(&self, config: &Config) -> Option<Model> {
        if config.by_model { self.window.model(config) } else { None }
    }

    /// Slow start's threshold in packets; of a model's control that which it has set, if any.
    pub(crate) fn threshold(&self, config: &Config) -> Option<f64> {
        match self.model(config) {
            Some(model) => model.ssthresh.map(f64::from),
            None => Some(self.ssthresh()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::ranges::Ranges;
    use proptest::prelude::*;

    /// Bytes of the stream: the first, and the one behind the last.
    type Bytes = (u64, u64);

    /// A packet that ends at `end`, of departure `nth`.
    fn departed(end: u64, nth: u64) -> Departed {
        Departed {
            end,
            at: Time::from_ps(nth * 1_000_000),
            first_at: Time::ZERO,
            delivered: 0,
            delivered_at: Time::ZERO,
            app_limited: false,
            in_flight: nth as u32,
            lost: 0,
            again: false,
            sacked: false,
        }
    }

    /// Three packets of 1,000 bytes are out; a block SACKs bytes, of which these are new.
    fn arrived(blocks: &[(Bytes, Bytes)]) -> (u32, Vec<bool>) {
        let mut rates = Deliveries::of(1_000);
        for nth in 1..=3 {
            rates.out.push_back(Departed { at: Time::ZERO, ..departed(1_000 * nth, 0) });
        }
        for &(block, new) in blocks {
            rates.sacked(block, new, Time::from_ps(1));
        }
        (rates.newly, rates.out.iter().map(|packet| packet.sacked).collect())
    }

    #[test]
    fn a_block_over_a_part_of_a_packet_delivers_nothing() {
        // The end of a packet, its beginning, and the middle; then one in whole beside a part.
        for block in [(1_400, 2_000), (1_000, 1_999), (1_200, 1_300), (500, 1_999)] {
            assert_eq!(arrived(&[(block, block)]), (0, vec![false; 3]), "{block:?}");
        }
        assert_eq!(arrived(&[((500, 2_000), (500, 2_000))]), (1, vec![false, true, false]));
        // A later block over all of it does, though a part was SACKed before.
        let blocks = [((1_400, 2_000), (1_400, 2_000)), ((1_000, 3_000), (1_000, 1_400))];
        assert_eq!(arrived(&blocks), (1, vec![false, true, false]));
        let last = ((1_000, 3_000), (2_000, 3_000));
        assert_eq!(arrived(&[blocks[0], blocks[1], last]), (2, vec![false, true, true]));
        assert_eq!(arrived(&[((0, 3_000), (0, 3_000))]), (3, vec![true; 3]));
    }

    /// Packets' bytes in the test below.
    const PACKET: u64 = 1_000;

    /// Parts of samples and losses that depend on the packets that are out.
    fn seen(rates: &mut Deliveries, scoreboard: &Ranges, sent: u64, now: Time) -> String {
        let gaps = |end: &u64| scoreboard.containing(end - PACKET).is_none();
        let missing = (rates.una / PACKET + 1..=sent / PACKET).map(|nth| nth * PACKET).filter(gaps);
        let missing: Vec<_> = missing.map(|end| rates.holding(end, rates.una)).collect();
        format!("{:?} {missing:?} {}", rates.sample(now), rates.out.is_empty())
    }

    proptest! {
        /// A connection whose SACKed packets are merged after each step, beside one whose never are. The receiver
        /// keeps what it has SACKed.
        #[test]
        fn merged_packets_tell_what_packets_tell(
            steps in prop::collection::vec((0..6_u8, 0..40_u64, 1..6_u64), 1..120),
        ) {
            let (mut one, mut all) = (Deliveries::of(PACKET as u32), Deliveries::of(PACKET as u32));
            all.out.reserve(10_000);
            let (mut scoreboard, mut sent) = (Ranges::default(), 0);
            for (step, (kind, at, packets)) in steps.into_iter().enumerate() {
                let (una, nth) = (one.una, step as u64 + 1);
                let now = Time::from_ps(nth * 1_000_000);
                let (start, bytes) = (una + at * PACKET, packets * PACKET);
                let (news, end) = (sent.max(una), (start + bytes).min(sent));
                for rates in [&mut one, &mut all] {
                    (rates.latest, rates.newly, rates.rtt_us) = (None, 0, None);
                }
                match kind {
                    0 | 1 => {
                        for end in (1..=packets).map(|nth| news + nth * PACKET) {
                            for rates in [&mut one, &mut all] {
                                let delivered = rates.delivered;
                                rates.depart(Departed { delivered, ..departed(end, nth) });
                            }
                            sent = end;
                        }
                    }
                    2 | 3 if start < end => {
                        let (mut at, new) = (start, scoreboard.clone());
                        while at < end {
                            let gap = new.gap_from(at);
                            if gap.0 >= end {
                                break;
                            }
                            one.sacked((start, end), gap, now);
                            all.sacked((start, end), gap, now);
                            at = gap.1;
                        }
                        scoreboard.insert(start, end);
                    }
                    4 => {
                        // The first missing packets from there on.
                        let (from, to) = scoreboard.gap_from(start);
                        let end = (from + bytes).min(to).min(sent);
                        if from < end {
                            let delivered = one.delivered;
                            let again = Departed { again: true, delivered, ..departed(end, nth) };
                            one.depart_again(from, again);
                            all.depart_again(from, again);
                        }
                    }
                    _ => {
                        // An ACK covers all that the receiver holds in one piece.
                        let to = scoreboard.containing(end.max(una)).map_or(end.max(una), |held| held.1);
                        scoreboard.remove_below(to);
                        one.acknowledged(to, now);
                        all.acknowledged(to, now);
                    }
                }
                one.merge();
                prop_assert!(one.out.iter().zip(one.out.iter().skip(1)).all(|(a, b)| !(a.sacked && b.sacked)));
                prop_assert_eq!(
                    seen(&mut one, &scoreboard, sent, now),
                    seen(&mut all, &scoreboard, sent, now)
                );
            }
        }
    }

    #[test]
    fn the_ring_holds_what_is_missing_however_much_was_sacked() {
        let mut rates = Deliveries::of(PACKET as u32);
        for nth in 1..=100_000 {
            rates.depart(departed(nth * PACKET, nth));
            // All but the first packet arrives, a hundred packets later.
            if nth > 101 {
                let (from, to) = ((nth - 101) * PACKET, (nth - 100) * PACKET);
                rates.sacked((from, to), (from, to), Time::from_ps(1));
            }
        }
        assert!(rates.out.capacity() <= 200, "{}", rates.out.capacity());
        assert_eq!(rates.delivered, 99_899);
        rates.acknowledged(100_000 * PACKET, Time::from_ps(2));
        assert_eq!((rates.delivered, rates.out.len()), (100_000, 0));
    }
}
