//! The receiving half of a connection: order, delayed ACKs, SACK blocks, ECN echo.
//!
//! Opening of the receive window where the buffer tunes itself, as in Linux. The window grows by
//! two packets for each that arrives (`tcp_grow_window`), as far as the buffer has space besides
//! data out of order (`tcp_space`). The buffer follows what the application, which reads at once,
//! has read in a round trip (`tcp_rcv_space_adjust` since 4.10; Linux 2.6 and 3 grow in steps of
//! 1.5 and 2).

use super::pace::Pace;
use super::{Config, Flags, MAX_SACKS, SackBlock, Segment, accurate};
use crate::transport::ranges::Ranges;
use switchbed_units::{Span, Time};

/// The receiving half of a connection.
///
/// An ACK covers up to `ack_every` segments and waits at most `ack_delay`; out of order,
/// twice, or filling a hole, data is acknowledged at once (RFC 5681, section 4.2). For
/// DCTCP a change of the mark is too, after what came before it (RFC 8257, section 3.2).
#[derive(Clone, Debug)]
pub struct Receiver {
    /// All before has come (RCV.NXT).
    next: u64,
    /// When a delayed ACK is due.
    deadline: Time,
    /// The time stamp that the next ACK echoes (RFC 7323, section 4.3).
    echo: Time,
    /// The ACK of what came before the mark changed, if it is still owed: offset, echo.
    owed_ack: u64,
    owed_echo: Time,
    /// Data that came out of order.
    beyond: Option<Box<Beyond>>,
    /// When to acknowledge, where that is as in Linux.
    pace: Option<Box<Pace>>,
    /// Segments not yet acknowledged.
    unacked: u16,
    /// Packets that came with a mark, as accurate ECN counts them.
    marked: u16,
    /// An ACK is to go out now.
    ack_now: bool,
    /// A SYN-ACK is to go out.
    syn_ack: bool,
    /// The connection has no ECN, whatever the settings are.
    no_ecn: bool,
    /// ACKs carry ECE: the last segment's mark (DCTCP), or a mark since the last CWR. With accurate
    /// ECN, the last segment's mark.
    ece: bool,
}

/// `owed_ack` when nothing is owed.
const NOTHING: u64 = u64::MAX;
/// `deadline` between its expiry and the ACK that follows from that.
const EXPIRED: Time = Time::ZERO;

impl Default for Receiver {
    fn default() -> Self {
        Receiver::new()
    }
}

impl Receiver {
    /// Nothing has come yet.
    pub fn new() -> Receiver {
        Receiver {
            next: 0,
            deadline: Time::NEVER,
            echo: Time::ZERO,
            owed_ack: NOTHING,
            owed_echo: Time::ZERO,
            beyond: None,
            pace: None,
            unacked: 0,
            marked: 0,
            ack_now: false,
            syn_ack: false,
            no_ecn: false,
            ece: false,
        }
    }

    /// Bytes that have come in order.
    pub fn received(&self) -> u64 {
        self.next
    }

    /// Bytes below an offset that have come beyond a gap.
    pub(crate) fn came_beyond(&self, offset: u64) -> u64 {
        self.beyond.as_ref().map_or(0, |beyond| beyond.ranges.bytes_below(offset))
    }

    /// When [`Receiver::on_timeout`] is due.
    pub fn next_timeout(&self) -> Option<Time> {
        (self.deadline != Time::NEVER).then_some(self.deadline)
    }

    /// A SYN or data came; `ce`: with a congestion mark.
    #[inline]
    pub fn on_segment(&mut self, config: &Config, segment: &Segment, ce: bool, now: Time) {
        if segment.flags.contains(Flags::SYN) {
            // Time stamp and answer; a mark on a SYN says nothing of data's path.
            (self.syn_ack, self.echo) = (true, segment.stamp);
            self.no_ecn = segment.flags.contains(Flags::NO_ECN);
            self.ece = config.accurate && ce;
            if config.paced_acks {
                self.pace(config).opened(now);
            }
            return;
        }
        if segment.flags.contains(Flags::NO_ECN) {
            self.no_ecn = true;
        } else {
            self.note_mark(config, segment, ce);
        }
        // RFC 7323, section 4.3: an ACK echoes the stamp of the first segment that it covers, and never
        // that of one beyond a gap.
        if self.unacked == 0 && segment.offset <= self.next {
            self.echo = segment.stamp;
        }
        self.unacked = self.unacked.saturating_add(1);
        if segment.offset == self.next && self.beyond.is_none() {
            self.next += segment.len as u64;
        } else {
            self.out_of_order(config, segment);
        }
        if config.paced_acks {
            self.pace_acks(config, segment, now);
        } else if u32::from(self.unacked) >= config.ack_every {
            self.ack_now = true;
        } else if self.deadline == Time::NEVER {
            self.deadline = now + config.ack_delay;
        }
    }

    /// Several segments came as one: they are acknowledged at once, with one ACK.
    pub fn on_merged(&mut self, config: &Config, segment: &Segment, ce: bool, now: Time) {
        self.on_segment(config, segment, ce, now);
        self.ack_now = true;
    }

    /// A segment came whose last byte is a FIN; `hurry`: it is acknowledged at once.
    ///
    /// The FIN in order ends what the receiver has to report: holes, repeated data and quick ACKs
    /// (`tcp_fin`). The delay of its ACK is that of the data before; without any it is none.
    pub fn on_fin(&mut self, config: &Config, segment: &Segment, ce: bool, hurry: bool, now: Time) {
        let fin = segment.offset + u64::from(segment.len) - 1;
        if segment.len > 1 || fin != self.next {
            let (owed, known) = (self.ack_now, fin < self.next);
            let gaps = self.beyond.as_ref().is_some_and(|beyond| !beyond.ranges.is_empty());
            self.on_segment(config, segment, ce, now);
            // Beyond a gap it waits, and one that came before says nothing new.
            if known || self.next <= fin {
                return;
            }
            self.ack_now = owed || gaps;
        } else {
            self.echo = if self.unacked == 0 { segment.stamp } else { self.echo };
            self.next += 1;
        }
        self.beyond = None;
        self.ack_now |= hurry || !config.paced_acks;
        if !self.ack_now {
            let (next, deadline) = (self.next, self.deadline);
            let pace = self.pace(config);
            pace.calm();
            match pace.due(config, deadline, now).filter(|_| !pace.at_once(config, next)) {
                Some(due) => self.deadline = due,
                None => self.ack_now = true,
            }
        }
    }

    /// Makes an ACK go out, as for a segment that cannot be taken.
    pub fn answer(&mut self) {
        self.ack_now = true;
    }

    /// Tells that the data so far ends an application's write, as a segment's PSH does.
    pub fn on_push(&mut self, config: &Config) {
        self.ack_now |= config.ack_pushed && self.unacked > 0;
    }

    /// Data of the host's other half carries the acknowledgement: none is owed any more. Returns
    /// whether one is owed nevertheless, because it is to tell more than where the stream has come to.
    pub fn carried(&mut self, config: &Config) -> bool {
        if self.owed_ack != NOTHING || self.syn_ack || self.beyond.is_some() {
            return true;
        }
        (self.ack_now, self.unacked, self.deadline) = (false, 0, Time::NEVER);
        if let Some(pace) = &mut self.pace {
            pace.sent(config, self.next);
        }
        false
    }

    /// Whether ACKs carry ECE now.
    pub fn echoes(&self, config: &Config) -> Flags {
        self.echoed(config, self.ece)
    }

    /// The next ACK to send.
    #[inline]
    pub fn poll_transmit(&mut self, config: &Config, _now: Time) -> Option<Segment> {
        if self.owed_ack != NOTHING || self.syn_ack {
            return self.poll_special(config);
        }
        if !self.ack_now {
            return None;
        }
        // The sender counts how long it waited for ACKs that a timer held back.
        let held = self.deadline == EXPIRED;
        (self.ack_now, self.unacked, self.deadline) = (false, 0, Time::NEVER);
        let flags = self.echoed(config, self.ece).with_if(Flags::HELD, held);
        let mut ack = Segment::ack(self.next, flags, self.echo);
        if let Some(pace) = &mut self.pace {
            pace.sent(config, self.next);
            ack = self.offering(ack);
        }
        if let Some(beyond) = &mut self.beyond {
            beyond.report(&mut ack, config.sack_blocks as usize);
            if beyond.ranges.is_empty() {
                self.beyond = None;
            }
        }
        ack.marked = self.marked;
        Some(ack)
    }

    /// A delayed ACK may be due.
    pub fn on_timeout(&mut self, config: &Config, now: Time) {
        if now >= self.deadline {
            (self.ack_now, self.deadline) = (true, EXPIRED);
            if let Some(pace) = &mut self.pace {
                pace.missed(config);
            }
        }
    }

    fn pace(&mut self, config: &Config) -> &mut Pace {
        self.pace.get_or_insert_with(|| Box::new(Pace::new(config)))
    }

    /// Data came, and `pace` says when it is acknowledged.
    #[cold]
    fn pace_acks(&mut self, config: &Config, segment: &Segment, now: Time) {
        let (next, deadline) = (self.next, self.deadline);
        let waiting = self.beyond.as_ref().map_or(0, |beyond| beyond.ranges.bytes());
        let pace = self.pace(config);
        pace.came(config, now);
        pace.open(config, (next, waiting), segment.len, segment.stamp, now);
        let short = config.ack_short && segment.len < config.mss;
        if short || pace.at_once(config, next) {
            self.ack_now = true;
        } else {
            match pace.due(config, deadline, now) {
                Some(due) => self.deadline = due,
                None => self.ack_now = true,
            }
        }
    }

    /// Takes in a segment's mark, and the sender's word that it has answered earlier ones.
    #[inline]
    fn note_mark(&mut self, config: &Config, segment: &Segment, ce: bool) {
        if config.accurate {
            self.count_mark(config, segment, ce);
        } else if !config.exact_echo {
            if config.paced_acks {
                // A sender's window may be small: Linux hurries for the first mark and for CWR.
                if ce && !self.ece {
                    self.pace(config).hurry(2);
                }
                self.ack_now |= segment.flags.contains(Flags::CWR);
            }
            self.ece = ce || (self.ece && !segment.flags.contains(Flags::CWR));
        } else if ce != self.ece {
            // DCTCP's two states (RFC 8257, section 3.2): segments so far are acknowledged with the old
            // state, before the new one begins.
            if self.unacked > 0 {
                (self.owed_ack, self.owed_echo) = (self.next, self.echo);
                (self.unacked, self.deadline) = (0, Time::NEVER);
            }
            (self.ece, self.ack_now) = (ce, true);
        }
    }

    /// Counts a mark. The first after none is reported at once, others at least by twos (RFC 9768,
    /// section 3.2.2.5.1).
    fn count_mark(&mut self, config: &Config, segment: &Segment, ce: bool) {
        if ce {
            let packets = segment.len.div_ceil(config.mss).max(1);
            self.marked = self.marked.wrapping_add(packets as u16);
            self.ack_now |= !self.ece || self.unacked > 0;
        }
        self.ece = ce;
    }

    fn echoed(&self, config: &Config, ece: bool) -> Flags {
        if self.no_ecn {
            return Flags::NO_ECN;
        }
        if config.accurate {
            return accurate::ace(self.marked);
        }
        Flags::NONE.with_if(Flags::ECE, ece && config.ecn)
    }

    /// A SYN-ACK, or the ACK for what came before the mark changed.
    #[cold]
    fn poll_special(&mut self, config: &Config) -> Option<Segment> {
        if self.syn_ack {
            self.syn_ack = false;
            let flags = match config.accurate {
                _ if self.no_ecn => Flags::SYN.with(Flags::NO_ECN),
                true => accurate::syn_ack(config, self.ece),
                false => Flags::SYN.with_if(Flags::ECE, config.ecn),
            };
            return Some(self.offering(Segment::ack(self.next, flags, self.echo)));
        }
        // The mark has changed since, so the old state is the opposite of the present one.
        let ack = Segment::ack(self.owed_ack, self.echoed(config, !self.ece), self.owed_echo);
        self.owed_ack = NOTHING;
        Some(self.offering(ack))
    }

    /// An ACK with its window.
    fn offering(&mut self, mut ack: Segment) -> Segment {
        ack.len = self.pace.as_mut().map_or(0, |pace| pace.offered(ack.offset));
        ack
    }

    /// A segment that is not the next one, or comes while some are missing.
    #[cold]
    fn out_of_order(&mut self, config: &Config, segment: &Segment) {
        // RFC 5681, section 4.2: at once, whether the segment opens a gap or fills one.
        self.ack_now = true;
        let (start, end) = (segment.offset, segment.offset + segment.len as u64);
        if config.dsack {
            self.note_twice(start, end);
        }
        if start > self.next {
            self.beyond().hold(start, end);
            return;
        }
        if end <= self.next && config.paced_acks {
            self.pace(config).repeated(config);
        }
        self.next = self.next.max(end);
        if let Some(beyond) = &mut self.beyond {
            beyond.ranges.remove_below(self.next);
            // The segment may have closed a gap: all up to the next gap is in order now.
            if let Some((start, end)) = beyond.ranges.containing(self.next) {
                debug_assert_eq!(start, self.next);
                self.next = end;
                beyond.ranges.remove_below(end);
            }
            if beyond.ranges.is_empty() && beyond.twice.is_none() {
                self.beyond = None;
            }
        }
    }

    /// Notes what of a segment is here already: what is in order, or else the first part that is not, as
    /// far as parts touch (Linux's tcp_dsack_set, tcp_dsack_extend).
    fn note_twice(&mut self, start: u64, end: u64) {
        if start < self.next {
            self.beyond().twice = Some((start, end.min(self.next)));
        }
        let Some(Beyond { ranges, twice, .. }) = self.beyond.as_deref_mut() else { return };
        for (from, to) in ranges.iter().take_while(|range| range.0 < end) {
            let (from, to) = (from.max(start), to.min(end));
            match twice {
                _ if from >= to => {}
                None => *twice = Some((from, to)),
                Some(first) if from <= first.1 => first.1 = first.1.max(to),
                Some(_) => {}
            }
        }
    }

    fn beyond(&mut self) -> &mut Beyond {
        self.beyond.get_or_insert_with(|| Box::new(Beyond::new()))
    }
}

/// Data that came out of order or twice, with SACK's record of it.
#[derive(Clone, Debug)]
struct Beyond {
    ranges: Ranges,
    /// A byte in each of the blocks that changed last, the newest first.
    recent: [u64; MAX_SACKS],
    /// Start and end of data that came twice, until the next ACK reports it.
    twice: Option<(u64, u64)>,
}

impl Beyond {
    fn new() -> Beyond {
        Beyond { ranges: Ranges::default(), recent: [0; MAX_SACKS], twice: None }
    }

    /// Keeps `[start, end)`.
    fn hold(&mut self, start: u64, end: u64) {
        self.ranges.insert(start, end);
        let block = self.ranges.containing(start);
        let in_block = |at: u64| block.is_some_and(|(s, e)| s <= at && at < e);
        // The others move back one place, up to one that this block has taken in.
        let last = self.recent.iter().position(|&at| in_block(at)).unwrap_or(MAX_SACKS - 1);
        self.recent[..=last].rotate_right(1);
        self.recent[0] = start;
    }

    /// Writes up to `most` blocks into `ack`: what came twice (RFC 2883), the ones that changed last
    /// (RFC 2018, section 4), then the lowest.
    fn report(&mut self, ack: &mut Segment, most: usize) {
        if let Some((start, end)) = self.twice.take() {
            // Below the ACK, distances wrap around.
            let distance = |at: u64| at.wrapping_sub(ack.offset) as u32;
            ack.sack[0] = SackBlock { start: distance(start), end: distance(end) };
            ack.sacks = 1;
        }
        let first = ack.sacks as usize;
        let recent = self.recent.iter().filter_map(|&at| self.ranges.containing(at));
        for (start, end) in recent.chain(self.ranges.iter()) {
            let n = ack.sacks as usize;
            if n == most {
                return;
            }
            let offset = |at: u64| (at - ack.offset) as u32;
            let block = SackBlock { start: offset(start), end: offset(end) };
            // A block may have merged with one that is reported already.
            if !ack.sack[first..n].contains(&block) {
                ack.sack[n] = block;
                ack.sacks += 1;
            }
        }
    }
}

/// Window in bytes that the buffer allows at first: half of 128 KiB, the middle of Linux's
/// tcp_rmem.
const FIRST: u64 = 64 << 10;
/// Smaller segments do not open the window (`tcp_event_data_recv`).
const LEAST: u32 = 128;
/// A round trip's first bytes to be compared with: Linux's TCP_INIT_CWND, in packets.
const INITIAL: u64 = 10;

/// A receive window that opens; in bytes.
#[derive(Clone, Debug)]
pub(super) struct Opening {
    /// The window.
    window: u64,
    /// Window that the buffer allows.
    most: u64,
    /// The highest byte that has been offered; an offer is not taken back.
    edge: u64,
    /// Most bytes that were read in a round trip so far.
    read: u64,
    /// Where the round trip began, and when.
    from: u64,
    since: Time,
    /// The round trip as the receiver sees it, smoothed; zero before the first data.
    rtt: Span,
    /// Part of it that an ACK's way takes: as in the handshake, or as long as that of the first
    /// data.
    back: Span,
}

impl Opening {
    pub(super) fn new(config: &Config) -> Opening {
        let window = u64::from(config.initial_receive_bytes);
        let (zero, most) = (Span::ZERO, window.max(FIRST).min(config.receive_bytes));
        let read = window.min(INITIAL * u64::from(config.mss));
        Opening { window, most, edge: 0, read, from: 0, since: Time::ZERO, rtt: zero, back: zero }
    }

    /// Data of `len` bytes that was sent at `sent` came, all up to `next` has been read, and `waiting`
    /// bytes wait for what is missing; answers whether the window opened.
    pub(super) fn came(
        &mut self,
        config: &Config,
        (next, waiting): (u64, u64),
        len: u32,
        sent: Time,
        handshake: Option<Span>,
        now: Time,
    ) -> bool {
        self.sample(now.since(sent), handshake, now);
        self.adjust(config, next, now);
        let space = self.most.saturating_sub(waiting).saturating_sub(self.window);
        if len < LEAST.min(config.mss) || space == 0 {
            return false;
        }
        self.window += space.min(2 * u64::from(len.max(config.mss)));
        true
    }

    /// The receiver's view of the round trip, where data took `there`.
    fn sample(&mut self, there: Span, handshake: Option<Span>, now: Time) {
        if self.rtt == Span::ZERO {
            // No more than the data's, of which a timeout is none.
            self.back = handshake.map_or(there, |whole| (whole.max(there) - there).min(there));
            (self.rtt, self.since) = (there + self.back, now);
        } else {
            self.rtt = self.rtt - self.rtt / 8 + (there + self.back) / 8;
        }
    }

    /// At the end of a round trip in which more than ever was read, the buffer grows.
    fn adjust(&mut self, config: &Config, next: u64, now: Time) {
        if now.since(self.since) < self.rtt {
            return;
        }
        let read = next - self.from;
        if read > self.read {
            // `tcp_rcv_space_adjust`: rcvwin = 2·copied + 16·advmss, and twice as much more as the
            // growth.
            let twice = 2 * read + 16 * u64::from(config.mss);
            let grown = u128::from(twice) * u128::from(read - self.read) / u128::from(self.read);
            let wanted = u128::from(twice) + 2 * grown;
            self.most = self.most.max(wanted.min(config.receive_bytes.into()) as u64);
            self.read = read;
        }
        (self.from, self.since) = (next, now);
    }

    /// Returns the window that an ACK of all before `next` offers.
    pub(super) fn offered(&mut self, next: u64) -> u32 {
        // An offer is never taken back (RFC 9293, section 3.8.6: no shrinking of the window).
        self.edge = self.edge.max(next + self.window);
        (self.edge - next) as u32
    }
}
