//! Priority-based flow control (IEEE 802.1Q, clause 36): what `[switch.pfc]` says, what a pause frame is, and
//! how much space there must be for what still comes after one.

use crate::port::pauses::{Guard, Rule};
use switchbed_config::param::{ParamKind, count};
use switchbed_config::{params, words};
use switchbed_units::{Bytes, PS_PER_S, Rate, Span};

/// A pause frame: a MAC control frame of the least length, without preamble and gap, as all lengths are.
pub const FRAME_BYTES: u32 = 64;

/// A quantum, in bits of the port's own line.
const QUANTUM_BITS: u64 = 512;

/// How many there are.
pub const PRIORITIES: u8 = 8;

const PRIORITY: ParamKind = count(0, PRIORITIES as u64 - 1);
const RATE: ParamKind = ParamKind::Rate;
const DELAY: ParamKind = ParamKind::Time;
const SIZE: ParamKind = ParamKind::Size;

params! {
    /// Priority-based flow control on every link of the network, at switches and at hosts.
    pub struct Pfc {
        /// Classes that are lossless. Each counts at the port that it comes in on; from its threshold on
        /// that port's neighbour is paused, and what still comes has the headroom.
        priorities: Vec<u8> as List(&PRIORITY);
        /// A lossless group may hold so many times what the shared memory has left. Default: the chip's;
        /// else 1/8 (HPCC's authors' simulator).
        alpha: Option<f64> as number(0.001, 1000.0);
        /// The rate of the inputs that alpha is for: on faster ones it doubles for each doubling begun, up
        /// to 1 (HPCC's authors' simulator: their hosts' rate). Default: it is the same on all.
        alpha_rate: Option<Rate>;
        /// Size that a group may hold of the shared memory whatever is left, in place of alpha.
        threshold: Option<Bytes>;
        /// Size reserved for each group before it shares. Default: the chip's; else none.
        reserve: Option<Bytes>;
        /// Each group's space for what comes after it has paused. Default: what a full frame on its way back,
        /// the pause frame, the cable both ways, pipeline, response and two packets come to.
        headroom: Option<Bytes>;
        /// Rates of links whose groups have the space of headroom_sizes in place of headroom, as SONiC's profiles by
        /// speed and cable.
        headroom_rates: Vec<Rate> = "[]" as List(&RATE);
        /// Delays of these links, one for each rate. Default: whatever the delay is.
        headroom_delays: Vec<Span> = "[]" as List(&DELAY);
        /// Each group's space on these links, one for each rate.
        headroom_sizes: Vec<Bytes> = "[]" as List(&SIZE);
        /// All groups' headroom together. Default: the chip's; else enough for all at once.
        headroom_pool: Option<Bytes>;
        /// All groups' headroom over that of the pool that they share (SONiC: over_subscribe_ratio), in place
        /// of headroom_pool.
        over_subscription: Option<f64> as number(1.0, 1000.0);
        /// A paused group resumes once it holds this less than its threshold is then (Tomahawk 5: 14 cells;
        /// HPCC's authors' simulator: 3072 bytes).
        xon_offset: Bytes = "3072B";
        /// A paused group resumes once it holds no more than this (Spectrum). Default: xon_offset counts.
        xon: Option<Bytes>;
        /// From a pause frame's last bit to the last start of a packet at who gets it. Default: what the
        /// standards allow at the port's rate (394 quanta, 2.02 us, at 100 Gbps).
        response: Option<Span>;
        /// From the packet that crosses a threshold to the pause frame.
        pipeline: Span = "0us";
        /// For how long a pause frame pauses, in quanta of 512 bit times; it is sent again after half of it.
        quanta: u32 = "65535" as count(1, 65_535);
        /// The watchdog at switches' ports (SONiC's PFC_WD): what becomes of a class's packets once its peer
        /// has held it for the detection time.
        watchdog: Action = "off";
        /// A class that is held for so long is in a storm (SONiC: 100 ms to 5 s).
        detection_time: Span = "200ms";
        /// A storm is over so long after the last pause frame (SONiC: 100 ms to 60 s).
        restoration_time: Span = "200ms";
        /// The watchdog looks this often at what it has heard, as SONiC's does on Broadcom's chips (100 ms to 1 s,
        /// 200 ms by default): it acts late, or not at all. Default: it acts at the exact times.
        poll: Option<Span>;
        /// poll: what a look takes for a storm. broadcom: by the pause status. nvidia: by the queue's length, what it
        /// has sent and how long it was paused (sonic-swss's rules for these makers' chips).
        poll_rule: Rule = "broadcom";
        /// Paused queues that wait for each other in a circle, all for so long, are a deadlock: it is
        /// reported, and a run without run.until ends.
        deadlock_time: Span = "1ms";
    }
}

words! {
    /// Treatment of a class's packets by the watchdog in a storm.
    pub enum Action {
        /// Nothing: none looks on.
        Off = "off",
        /// Drops the packets that wait and those that come.
        Drop = "drop",
        /// Sends packets as if there were no pauses.
        Forward = "forward",
    }
}

/// The response that standards allow, in quanta, by rate in Gbps (IEEE 802.3, 31B.3.7; sonic-swss,
/// `buffer_headroom_mellanox.lua`; that of 800 Gbps is assumed there).
const RESPONSE_QUANTA: [(u64, u64); 8] =
    [(10, 67), (25, 80), (40, 118), (50, 147), (100, 394), (200, 453), (400, 905), (800, 905)];

/// How long so many quanta are at a rate.
pub fn quanta(quanta: u64, rate: Rate) -> Span {
    let bits = u128::from(quanta * QUANTUM_BITS);
    Span::from_ps((bits * u128::from(PS_PER_S) / u128::from(rate.as_bps())) as u64)
}

/// A link that comes in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Input {
    /// Rate of the link in both directions.
    pub rate: Rate,
    /// How long a bit is on the way, `host` counted.
    pub delay: Span,
    /// The part of it that is `host.delay`'s, behind the cable.
    pub host: Span,
}

impl Pfc {
    /// Returns the watchdog's settings, if it is on.
    pub fn guard(&self) -> Option<Guard> {
        let (detection, restoration) = (self.detection_time, self.restoration_time);
        let drops = self.watchdog == Action::Drop;
        let Pfc { poll, poll_rule: rule, .. } = *self;
        (self.watchdog != Action::Off).then_some(Guard {
            drops,
            detection,
            restoration,
            poll,
            rule,
        })
    }

    /// Whether a class is lossless.
    pub fn lossless(&self, class: u8) -> bool {
        self.priorities.contains(&class)
    }

    /// α of an input of a rate, where that of slow ones is `alpha` (HPCC's authors' simulator,
    /// `pfc_a_shift` in scratch/third.cc).
    pub fn alpha_at(&self, alpha: f64, rate: Rate) -> f64 {
        let Some(slow) = self.alpha_rate else { return alpha };
        let (mut alpha, mut bps) = (alpha, rate.as_bps());
        // α doubles with each doubling of the rate begun, since a faster input fills its group
        // faster.
        while bps > slow.as_bps() && alpha < 1.0 {
            alpha = (2.0 * alpha).min(1.0);
            bps /= 2;
        }
        alpha
    }

    /// The part of a line that pause frames of every class take while all are paused: each is sent again
    /// after half of its quanta, of which it takes one itself.
    pub fn pauses_share(&self) -> f64 {
        // A quantum is 512 bit times, a frame of 64 bytes just one.
        let frame_quanta = f64::from(FRAME_BYTES) * 8.0 / QUANTUM_BITS as f64;
        // A frame is repeated after half of its pause, so there are two in each.
        2.0 * frame_quanta * self.priorities.len() as f64 / f64::from(self.quanta)
    }

    /// How long a pause frame pauses, at a rate.
    pub fn lasts(&self, rate: Rate) -> Span {
        quanta(self.quanta.into(), rate)
    }

    /// From a pause frame's last bit to the last start of a packet, at a rate.
    pub fn response(&self, rate: Rate) -> Span {
        // Rates between two rows, such as 30 Gbps, have the allowance of the next faster one.
        let gbps = rate.as_bps().div_ceil(1_000_000_000);
        let allowed = RESPONSE_QUANTA.iter().find(|&&(up_to, _)| gbps <= up_to);
        let (_, allowed) = allowed.unwrap_or(&RESPONSE_QUANTA[RESPONSE_QUANTA.len() - 1]);
        // Faster than 800 Gbps: the last row in quanta, thus a shorter time.
        self.response.unwrap_or_else(|| quanta(*allowed, rate))
    }

    /// Bytes that can still come in on a link after the packet that crosses its threshold, that packet
    /// counted, where the longest packets have `mtu` bytes: the pause frame may have to wait for a full
    /// frame, it and the packets are on the cable, its receiver takes its time to respond, and has a
    /// packet under way then.
    pub fn needed_headroom(&self, input: Input, mtu: Bytes) -> Bytes {
        let terms = self.headroom_terms(input, mtu);
        terms.iter().fold(Bytes::ZERO, |sum, &(_, bytes)| sum + bytes)
    }

    /// Space that the file gives each group of a link; `None`: what the link needs.
    pub fn given_headroom(&self, link: Input) -> Option<Bytes> {
        let delays = self.headroom_delays.iter().map(Some).chain(std::iter::repeat(None));
        let mut rows = self.headroom_rates.iter().zip(delays).zip(&self.headroom_sizes);
        let fits = |&((rate, delay), _): &((&Rate, Option<&Span>), &Bytes)| {
            *rate == link.rate && delay.is_none_or(|delay| *delay + link.host == link.delay)
        };
        rows.find(fits).map(|(_, &size)| size).or(self.headroom)
    }

    /// The terms of [`Pfc::needed_headroom`], named.
    pub fn headroom_terms(&self, input: Input, mtu: Bytes) -> [(&'static str, Bytes); 7] {
        let Input { rate, delay, .. } = input;
        let sent = |time: Span| {
            let bits = u128::from(time.as_ps()) * u128::from(rate.as_bps());
            // Rounded up: a bit that is on its way needs space.
            Bytes::new(bits.div_ceil(8 * u128::from(PS_PER_S)) as u64)
        };
        // Sums of time are converted and then subtracted, so that no term is rounded up on its own.
        let (cable, piped) = (delay * 2, delay * 2 + self.pipeline);
        let all = piped + self.response(rate);
        [
            ("crossing", mtu),
            ("waiting", mtu),
            ("pause_frame", Bytes::new(FRAME_BYTES.into())),
            ("cable", sent(cable)),
            ("pipeline", sent(piped) - sent(cable)),
            ("response", sent(all) - sent(piped)),
            ("under_way", mtu),
        ]
    }

    /// Each group's space for what comes after a pause, in cells. A packet takes whole cells: the shortest
    /// waste the most.
    pub fn headroom_cells(&self, input: Input, mtu: Bytes, least: Bytes, cell: u32) -> u64 {
        let cell = u64::from(cell);
        match self.given_headroom(input) {
            Some(headroom) => headroom.get() / cell,
            None => {
                let needed = u128::from(self.needed_headroom(input, mtu).get());
                // A length of zero would divide by zero below.
                let least = least.get().max(1);
                // The shortest, or the shortest that just needs another cell.
                let just = least.saturating_sub(1).div_ceil(cell) * cell + 1;
                let cells = |len: u64| {
                    (needed * u128::from(len.div_ceil(cell))).div_ceil(u128::from(len)) as u64
                };
                cells(least).max(cells(just))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchbed_config::param::{Params, Value, defaults};

    fn pfc() -> Pfc {
        let mut values = defaults(Pfc::TABLE);
        values.insert("priorities".to_owned(), Value::List(vec![Value::Count(3)]));
        Pfc::from_values(&mut values)
    }

    #[test]
    fn links_of_a_rate_and_delay_have_headroom_of_their_own() {
        let of = |gbps, us, host| Input {
            rate: Rate::from_gbps(gbps),
            delay: Span::from_us(us + host),
            host: Span::from_us(host),
        };
        let link = |gbps, us| of(gbps, us, 0);
        let pfc = Pfc {
            headroom: Some(Bytes::new(1_000)),
            headroom_rates: vec![Rate::from_gbps(25), Rate::from_gbps(100), Rate::from_gbps(100)],
            headroom_delays: [1, 1, 2].map(Span::from_us).to_vec(),
            headroom_sizes: [2_000, 3_000, 4_000].map(Bytes::new).to_vec(),
            ..pfc()
        };
        let cells = |link| pfc.headroom_cells(link, Bytes::new(9_100), Bytes::new(64), 100);
        assert_eq!([link(25, 1), link(100, 1), link(100, 2)].map(cells), [20, 30, 40]);
        assert_eq!([link(25, 2), link(400, 1)].map(cells), [10, 10]);
        // A cable is as long whatever host it leads to.
        assert_eq!([of(100, 2, 7), of(100, 1, 1), of(25, 0, 1)].map(cells), [40, 30, 10]);
        // Without delays the rate alone decides.
        let any = Pfc { headroom_delays: Vec::new(), headroom: None, ..pfc.clone() };
        assert_eq!(any.given_headroom(link(100, 7)), Some(Bytes::new(3_000)));
        assert_eq!(any.given_headroom(link(10, 7)), None);
    }

    #[test]
    fn quanta_are_512_bit_times() {
        // 65,535 quanta: 335.5 us at 100G, 83.9 us at 400G.
        assert_eq!(quanta(65_535, Rate::from_gbps(100)), Span::from_ps(335_539_200));
        assert_eq!(quanta(65_535, Rate::from_gbps(400)), Span::from_ps(83_884_800));
        // 394 quanta at 100G are 25,216 bytes.
        assert_eq!(pfc().response(Rate::from_gbps(100)), Span::from_ps(2_017_280));
        assert_eq!(pfc().response(Rate::from_gbps(1)), quanta(67, Rate::from_gbps(1)));
    }

    #[test]
    fn alpha_doubles_with_the_rate_as_in_the_authors_simulator() {
        let by = Pfc { alpha_rate: Some(Rate::from_gbps(100)), ..pfc() };
        for (gbps, alpha) in
            [(25, 0.125), (100, 0.125), (200, 0.25), (400, 0.5), (800, 1.0), (3200, 1.0)]
        {
            assert_eq!(by.alpha_at(0.125, Rate::from_gbps(gbps)), alpha, "{gbps}");
            assert_eq!(pfc().alpha_at(0.125, Rate::from_gbps(gbps)), 0.125);
        }
        // 100 is over 40 and 50 is, 25 is not: a doubling that has begun counts.
        let from_40 = Pfc { alpha_rate: Some(Rate::from_gbps(40)), ..pfc() };
        assert_eq!(from_40.alpha_at(0.125, Rate::from_gbps(100)), 0.5);
        // An alpha over 1 stays.
        assert_eq!(by.alpha_at(8.0, Rate::from_gbps(800)), 8.0);
    }

    #[test]
    fn pause_frames_of_two_quanta_fill_the_line() {
        assert_eq!(Pfc { quanta: 2, ..pfc() }.pauses_share(), 1.0);
        assert_eq!(Pfc { quanta: 200, ..pfc() }.pauses_share(), 0.01);
    }

    #[test]
    fn headroom_by_hand() {
        // 100G and 1 us: 2 us on the cable are 25,000 bytes, three packets of 1048, a frame of 64.
        let input = Input { rate: Rate::from_gbps(100), delay: Span::from_us(1), host: Span::ZERO };
        let at_once = Pfc { response: Some(Span::ZERO), ..pfc() };
        let needed = at_once.needed_headroom(input, Bytes::new(1048));
        assert_eq!(needed, Bytes::new(25_000 + 3 * 1048 + 64));
        // 394 quanta more.
        let needed = pfc().needed_headroom(input, Bytes::new(1048));
        assert_eq!(needed, Bytes::new(25_000 + 25_216 + 3 * 1048 + 64));
        let terms: Vec<u64> =
            pfc().headroom_terms(input, Bytes::new(1048)).iter().map(|term| term.1.get()).collect();
        assert_eq!(terms, [1048, 1048, 64, 25_000, 0, 25_216, 1048]);
        // 64-byte packets in cells of 192 bytes: three times as much.
        let cells = at_once.headroom_cells(input, Bytes::new(1048), Bytes::new(64), 192);
        assert_eq!(cells, 28_208_u64.div_ceil(64));
        // 193 bytes just need a second cell, 192 do not.
        let cells = at_once.headroom_cells(input, Bytes::new(1048), Bytes::new(192), 192);
        assert_eq!(cells, (2 * 28_208_u64).div_ceil(193));
    }
}
