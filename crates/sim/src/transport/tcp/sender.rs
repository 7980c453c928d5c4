//! The sending half of a connection: the stream, the window, the timer, marks.
//!
//! Behaviour while segments are missing is in `repair`.

use super::Config;
use super::control::Window;
use super::extras::Extras;
use super::loss::Loss;
use super::rtt::Rtt;
use super::{Flags, Segment, accurate};
use crate::transport::{Counters, Tally, Wait, Waits};
use switchbed_congestion::Acked;
use switchbed_scenario::transport::{Hystart, Restart, Warm};
use switchbed_units::{Span, Time};

/// The sending half of a connection.
///
/// Cuts what is written into full segments; the rest goes out short as soon
/// as the window allows.
#[derive(Clone, Debug)]
pub struct Sender {
    /// All before is acknowledged (SND.UNA).
    pub(super) una: u64,
    /// The next byte to send (SND.NXT); behind `sent` only after a timeout.
    pub(super) nxt: u64,
    /// All before has been sent at least once.
    pub(super) sent: u64,
    /// All before has been written.
    written: u64,
    /// When the retransmission timer expires.
    pub(super) deadline: Time,
    pub(super) window: Window,
    pub(super) rtt: Rtt,
    /// The ACK of this offset is an RTT sample, of a segment sent at `timed_at`.
    pub(super) timed_end: u64,
    timed_at: Time,
    last_sent: Time,
    /// Marks cut the window again once an ACK is beyond this.
    pub(super) cut_end: u64,
    /// The repair of losses, if there are any.
    pub(super) loss: Option<Box<Loss>>,
    /// State for settings beyond RFC 5681 and 6675, where there are any.
    pub(super) extras: Option<Box<Extras>>,
    /// Counts, if there was anything to count.
    tally: Option<Box<Tally>>,
    state: State,
    /// Doublings of the RTO.
    pub(super) backoff: u8,
    /// SYNs sent.
    syns: u8,
    /// The last ACK of new data had ECE.
    ece_before: bool,
    /// The next new segment tells that the window was cut (CWR).
    pub(super) tell_cut: bool,
    /// The last cut was for a mark.
    pub(super) cut_by_mark: bool,
    /// The connection has no ECN, whatever the settings are.
    pub(super) no_ecn: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// A SYN is to be sent (as soon as there is data).
    Closed,
    /// A SYN is out.
    SynSent,
    Established,
    /// The connection has given up.
    Failed,
}

/// `timed_end` while no segment is timed.
pub(super) const UNTIMED: u64 = u64::MAX;

impl Sender {
    /// A new connection: a handshake comes before the first data.
    pub fn new(config: &Config) -> Sender {
        Sender { state: State::Closed, ..Sender::established(config) }
    }

    /// An open connection with a cold window, as after a handshake that took no time.
    pub fn established(config: &Config) -> Sender {
        Sender {
            una: 0,
            nxt: 0,
            sent: 0,
            written: 0,
            deadline: Time::NEVER,
            window: Window::new(config, config.initial_window),
            rtt: Rtt::UNKNOWN,
            timed_end: UNTIMED,
            timed_at: Time::ZERO,
            last_sent: Time::ZERO,
            cut_end: 0,
            loss: None,
            extras: Extras::new(config),
            tally: None,
            state: State::Established,
            backoff: 0,
            syns: 0,
            ece_before: false,
            tell_cut: false,
            cut_by_mark: false,
            no_ecn: false,
        }
    }

    /// An open connection that was used just before the clock started.
    pub fn warm(config: &Config, warm: &Warm) -> Sender {
        let mut sender = Sender::established(config);
        (sender.window, sender.rtt) = (Window::new(config, warm.cwnd), Rtt::of(warm.srtt));
        if let Some(extras) = &mut sender.extras {
            // The receiver's window has opened by now.
            extras.offered = config.receive_bytes;
        }
        sender
    }

    /// The application appends `bytes` to the stream.
    pub fn write(&mut self, bytes: u64) {
        if self.extras.is_some() {
            self.look_whether_app_limited();
        }
        self.written += bytes;
    }

    /// The connection draws by this key, which the run's seed and its ends give.
    pub(crate) fn keyed(&mut self, key: u32) {
        self.window.keyed(key);
        if let Some(extras) = &mut self.extras {
            extras.plb.keyed(key);
        }
    }

    /// The application takes back what has not been sent yet; returns where the stream
    /// ends now.
    pub fn truncate(&mut self) -> u64 {
        self.written = self.sent;
        self.written
    }

    /// Where the stream ends: bytes written.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Bytes acknowledged.
    pub fn acked(&self) -> u64 {
        self.una
    }
    /// Whether all that was written is acknowledged.
    pub fn idle(&self) -> bool {
        self.una == self.written
    }
    /// Returns the connection's counts so far.
    pub fn counters(&self) -> &Counters {
        self.tally.as_deref().map_or(&Counters::NONE, |tally| &tally.counters)
    }
    /// The timers that it has waited for.
    pub fn waits(&self) -> Waits {
        self.tally.as_deref().map_or_else(Waits::default, |tally| tally.waits)
    }
    /// Whether it has given up: nothing more will be sent.
    pub fn failed(&self) -> bool {
        self.state == State::Failed
    }
    /// Whether the connection was opened without ECN, though the settings ask for it.
    pub fn without_ecn(&self) -> bool {
        self.no_ecn
    }
    /// Congestion window in packets.
    pub fn cwnd(&self) -> f64 {
        self.window.cwnd()
    }
    /// Slow start's threshold in packets.
    pub fn ssthresh(&self) -> f64 {
        self.window.ssthresh()
    }
    /// DCTCP's α, the marked fraction.
    pub fn alpha(&self) -> Option<f64> {
        self.window.alpha()
    }
    /// The smoothed round-trip time, once there is a sample.
    pub fn srtt(&self) -> Option<Span> {
        self.rtt.srtt()
    }
    /// The retransmission timeout as it stands, back-off included.
    pub fn rto(&self, config: &Config) -> Span {
        self.rtt.rto(config, self.backoff)
    }
    /// Bytes thought to be in the network.
    pub fn in_flight(&self, config: &Config) -> u64 {
        match &self.loss {
            None => self.nxt - self.una,
            Some(loss) => {
                let lost = self.extras.as_ref().map_or(0, |extras| extras.log.lost());
                loss.in_flight(config, self.una, self.nxt).saturating_sub(lost)
            }
        }
    }
    /// The smaller of congestion and receive window in bytes, in whole packets.
    pub fn window(&self, config: &Config) -> u64 {
        self.window.bytes(config)
    }

    /// All before has been sent at least once.
    pub fn sent_to(&self) -> u64 {
        self.sent
    }

    /// How long ago a segment went out last.
    pub(super) fn since_sent(&self, now: Time) -> Span {
        now.since(self.last_sent)
    }

    /// The peer has no ECN.
    pub fn refuse_ecn(&mut self) {
        self.lose_ecn();
    }

    /// Bytes written and not sent yet, or to be sent again after a timeout.
    #[inline]
    pub fn unsent(&self) -> u64 {
        self.written - self.nxt
    }

    /// Returns the window that must be free before anything is sent: a packet, or LSO's segment.
    #[inline]
    fn least_burst(&self, config: &Config) -> u64 {
        if config.lso_max > 0 { self.lso_segment(config) } else { config.mss as u64 }
    }

    /// When [`Sender::on_timeout`] is due.
    pub fn next_timeout(&self) -> Option<Time> {
        (self.deadline != Time::NEVER).then_some(self.deadline)
    }

    /// An ACK or SYN-ACK came.
    #[inline(always)]
    pub fn on_segment(&mut self, config: &Config, ack: &Segment, now: Time) {
        if self.state != State::Established {
            return self.on_syn_ack(config, ack, now);
        }
        if ack.flags.contains(Flags::HELD) {
            self.note_held(config, ack, now);
        }
        // Of more than was sent there is no ACK; an old one wraps to more than that, too.
        let acked = ack.offset.wrapping_sub(self.una);
        if acked == 0 || acked > self.sent - self.una {
            return self.on_duplicate(config, ack, now);
        }
        let limited = config.grow_when_app_limited
            || self.limited(config, self.sent - self.una, || self.least_burst(config));
        self.una = ack.offset;
        // After a timeout `nxt` went back to `una`; the ACK may cover data sent before.
        self.nxt = self.nxt.max(self.una);
        let rtt = self.sample_rtt(config, ack, now);
        if let (Some(rtt), true) = (rtt, config.hystart != Hystart::Off) {
            self.look_for_queue(config, rtt, now);
        }
        let (bytes, end, sent) = (acked as u32, self.una, self.sent);
        let marked = match config.accurate {
            _ if self.no_ecn => 0,
            false if config.ecn && ack.flags.contains(Flags::ECE) => bytes,
            false => 0,
            true => self.newly_marked(config, ack, acked),
        };
        let ece = marked > 0;
        self.window.count(config, Acked { bytes, marked, end, sent, now, rtt });
        if self.extras.is_some() {
            self.note_offer(config, ack);
            self.balance(config, ack, (acked, marked.into()), now);
            if config.by_model {
                self.note_deliveries(ack, now);
            }
            if ack.sacks > 0 {
                self.note_twice(config, ack, self.una - acked);
            }
            self.log_arrivals(config, ack, now);
            self.judge_probe(config, false);
        }
        let repairing =
            (self.loss.is_some() || ack.sacks > 0) && self.repair(config, ack, acked, now);
        if ece {
            self.on_mark(config, self.sent - self.una + acked, now);
        }
        let repairing = (self.extras.is_some() && self.reduce(config, true)) || repairing;
        let may_grow = !ece || config.accurate || (config.grow_on_repeated_ece && self.ece_before);
        if may_grow && limited && !repairing {
            self.grow(config, acked, now);
        } else if !limited {
            self.window.pause(now);
        }
        self.ece_before = ece;
        // RFC 6298, 5.2 and 5.3: off when all is acknowledged, else started anew. With `impatient` only
        // the first partial ACK of a recovery starts it anew (RFC 6582).
        if self.una == self.sent {
            self.deadline = Time::NEVER;
        } else if !(config.impatient && self.loss.as_ref().is_some_and(|it| it.repeated_partial)) {
            self.deadline = now + self.rto(config);
        }
        if self.extras.is_some() {
            if config.by_model {
                self.steer(config, now);
            }
            self.choose_timer(config, true, now);
        }
    }

    /// The window grows for an ACK of `acked` new bytes.
    #[inline]
    fn grow(&mut self, config: &Config, acked: u64, now: Time) {
        let packets =
            // The most common case without a division.
            if acked == config.mss as u64 { 1.0 } else { acked as f64 / config.mss as f64 };
        if config.plain_growth {
            self.window.grow(config, packets, now, self.rtt.srtt());
        } else {
            self.grow_otherwise(config, self.counted(config, packets), now);
        }
    }

    /// The next segment to send, if window and data allow one.
    #[inline]
    pub fn poll_transmit(&mut self, config: &Config, now: Time) -> Option<Segment> {
        if config.shapes {
            return self.poll_shaped(config, now);
        }
        self.poll_any(config, now)
    }

    /// Returns the next segment to send, whatever the way out.
    #[inline(always)]
    pub(super) fn poll_any(&mut self, config: &Config, now: Time) -> Option<Segment> {
        if self.loss.is_some() {
            return self.poll_repair(config, now);
        }
        if self.nxt == self.written {
            return None;
        }
        if self.state != State::Established {
            return self.poll_syn(config, now);
        }
        self.poll_new(config, self.nxt - self.una, now)
    }

    /// The retransmission timer may have expired.
    pub fn on_timeout(&mut self, config: &Config, now: Time) {
        if now < self.deadline || self.on_other_timeout(config, now) {
            return;
        }
        if self.state == State::Failed {
            self.deadline = Time::NEVER;
            return;
        }
        self.tally().counters.timeouts += 1;
        let established = self.state == State::Established;
        let wait = match (established, self.srtt()) {
            (false, _) => Wait::Syn,
            (true, None) => Wait::RtoInitial,
            (true, Some(_)) => Wait::Rto,
        };
        self.note_wait(config, wait, now);
        if self.gives_up(config, now) {
            return self.fail();
        }
        if established || self.counters().timeouts > config.syn_linear_timeouts {
            // `rto_max` bounds the timeout long before; the limit keeps the shift in range.
            self.backoff = (self.backoff + 1).min(30);
        }
        self.deadline = now + self.rto(config);
        if established {
            self.leave_path(config, now);
            self.repair_after_timeout(config, now);
        } else {
            // Closed with data sends the SYN again.
            self.state = State::Closed;
            if self.written == 0 {
                self.deadline = Time::NEVER;
            }
        }
    }

    /// A timer has ended a wait that began with the last segment sent.
    pub(super) fn note_wait(&mut self, config: &Config, wait: Wait, now: Time) {
        let from = self.last_sent;
        self.tally().waits.note(wait, (from, now), config.counts_from);
    }

    /// The counts, to be changed.
    pub(super) fn tally(&mut self) -> &mut Tally {
        self.tally.get_or_insert_default()
    }

    /// An ACK that a timer held back; the sender has waited for it if it could send nothing, or if
    /// it was the last.
    #[cold]
    fn note_held(&mut self, config: &Config, ack: &Segment, now: Time) {
        if ack.offset > self.una && (self.unsent() > 0 || ack.offset == self.written) {
            self.note_wait(config, Wait::DelayedAck, now);
        }
    }

    /// Whether the timeout that has just been is the last that is waited for.
    fn gives_up(&self, config: &Config, now: Time) -> bool {
        if self.state != State::Established {
            return u32::from(self.syns) > config.syn_retries;
        }
        let (patience, una) = (config.patience, self.una);
        self.loss.as_ref().is_some_and(|loss| loss.gives_up(patience, una, now))
    }

    /// The connection fails: what has not been sent never will be.
    fn fail(&mut self) {
        self.state = State::Failed;
        (self.nxt, self.written) = (self.sent, self.sent);
        (self.deadline, self.loss) = (Time::NEVER, None);
    }

    /// Tells a passive opener that the answer to its SYN-ACK took `rtt`; `no_ecn`: the connection
    /// was opened without ECN.
    pub fn accepted(&mut self, config: &Config, rtt: Span, no_ecn: bool) {
        if no_ecn {
            self.lose_ecn();
        }
        if config.rtt_of_syn_ack && self.rtt.srtt().is_none() {
            self.first_rtt(rtt);
        }
    }

    /// The first RTT sample is of the handshake.
    fn first_rtt(&mut self, rtt: Span) {
        self.rtt.sample(rtt);
        if let Some(extras) = &mut self.extras {
            extras.rack.min_rtt = rtt;
            extras.rtt = Some(rtt);
        }
    }

    /// The connection has no ECN.
    fn lose_ecn(&mut self) {
        self.no_ecn = true;
        self.window.without_marks();
    }

    /// New data, with `in_flight` bytes in the network.
    #[inline(always)]
    pub(super) fn poll_new(
        &mut self,
        config: &Config,
        in_flight: u64,
        now: Time,
    ) -> Option<Segment> {
        if self.una == self.sent {
            // A closed window is no pause of the application.
            let len = self.unsent().min(config.mss as u64);
            if !self.takes(config, self.nxt + len) {
                return None;
            }
            self.restart_if_idle(config, now);
        }
        if config.lso_max > 0 && self.defers(config, in_flight, now) {
            return None;
        }
        let len = self.unsent().min(config.mss as u64);
        let fits =
            in_flight + len <= self.window.bytes(config) && self.takes(config, self.nxt + len);
        if len == 0 || !fits {
            return None;
        }
        if let Some(extras) = &mut self.extras {
            let out = self.nxt + len - self.una;
            extras.growth.sent(config, self.window.cwnd(), in_flight + len, self.una, out);
        }
        Some(self.send_new(config, len as u32, now))
    }

    /// Sends the end of the stream, at most a segment, whatever the congestion window says.
    pub fn send_end(&mut self, config: &Config, now: Time) -> Option<Segment> {
        let len = self.unsent();
        let new = self.state == State::Established && self.nxt == self.sent;
        let sends =
            new && len > 0 && len <= config.mss.into() && self.takes(config, self.nxt + len);
        sends.then(|| self.send_new(config, len as u32, now))
    }

    /// Sends `len` new bytes.
    #[inline]
    pub(super) fn send_new(&mut self, config: &Config, len: u32, now: Time) -> Segment {
        let flags = match self.no_ecn {
            true => Flags::NO_ECN,
            false => Flags::NONE.with_if(Flags::CWR, self.tell_cut && !config.accurate),
        };
        self.tell_cut = false;
        let segment = Segment::data(self.nxt, len, flags, now);
        self.nxt += len as u64;
        self.sent = self.nxt;
        // One segment is timed at a time (RFC 6298, section 3).
        if self.timed_end == UNTIMED {
            (self.timed_end, self.timed_at) = (self.sent, now);
        }
        self.start_timer(config, now);
        if self.extras.is_some() {
            self.note_sent(config, &segment, now);
        }
        segment
    }

    /// Sends `len` bytes from `offset` again.
    pub(super) fn send_again(
        &mut self,
        config: &Config,
        offset: u64,
        len: u64,
        now: Time,
    ) -> Segment {
        self.tally().counters.retransmits += 1;
        self.start_timer(config, now);
        let flags = Flags::RETRANSMIT.with_if(Flags::NO_ECN, self.no_ecn);
        let segment = Segment::data(offset, len as u32, flags, now);
        self.note_sent(config, &segment, now);
        segment
    }

    /// A segment goes out: the timer runs from now if it did not run (RFC 6298, 5.1).
    #[inline]
    fn start_timer(&mut self, config: &Config, now: Time) {
        self.last_sent = now;
        if self.deadline == Time::NEVER {
            self.deadline = now + self.rto(config);
        }
    }

    /// Takes an RTT sample from an ACK of new data. It ends the timer's back-off
    /// (RFC 6298, section 5): without timestamps it is of a segment sent once.
    #[inline]
    fn sample_rtt(&mut self, config: &Config, ack: &Segment, now: Time) -> Option<Span> {
        let sent_at = if config.every_ack_timed {
            // No stamp: of data sent twice, to a peer without timestamps (Karn's rule).
            if ack.stamp == Time::NEVER {
                return None;
            }
            ack.stamp
        } else if self.una >= self.timed_end {
            self.timed_end = UNTIMED;
            self.timed_at
        } else {
            return None;
        };
        let rtt = now.since(sent_at);
        self.take_sample(config, rtt);
        Some(rtt)
    }

    /// An RTT sample ends the timer's back-off.
    #[inline]
    pub(super) fn take_sample(&mut self, config: &Config, rtt: Span) {
        self.rtt.sample(rtt);
        self.backoff = 0;
        if config.shapes {
            self.sample_output(rtt);
        }
        if config.tells_rtts
            && let Some(extras) = &mut self.extras
        {
            extras.rtt = Some(rtt);
        }
    }

    /// Takes the last round trip that was measured, if there is one since the last call.
    pub(crate) fn take_rtt(&mut self) -> Option<Span> {
        self.extras.as_mut()?.rtt.take()
    }

    /// An ACK with ECE, before which `flight` bytes were out: the window is cut at most once
    /// a window of data, and not in a recovery (RFC 3168, section 6.1.2).
    fn on_mark(&mut self, config: &Config, flight: u64, now: Time) {
        if self.una > self.cut_end {
            let prior = self.window.packets(config);
            // Marks up to here belong to the window that is cut now.
            self.cut_end = self.sent;
            if !self.window.cut_for_mark(config, flight, now) {
                return;
            }
            // Prague's window grows with what was not marked, even then.
            if !config.accurate {
                self.begin_reduction(config, prior, false);
            }
            (self.tell_cut, self.cut_by_mark) = (true, true);
            self.tally().counters.mark_cuts += 1;
        }
    }

    /// Bytes of `acked` that came with a mark, as accurate ECN counts packets.
    #[cold]
    fn newly_marked(&mut self, config: &Config, ack: &Segment, acked: u64) -> u32 {
        let Some(extras) = &mut self.extras else { return 0 };
        let mss = u64::from(config.mss);
        let heard = &mut extras.heard;
        let packets = heard.newly(config, ack, acked.div_ceil(mss)) + heard.take_kept();
        (packets * mss).min(acked) as u32
    }

    /// An ACK of nothing new.
    #[cold]
    fn on_duplicate(&mut self, config: &Config, ack: &Segment, now: Time) {
        self.note_offer(config, ack);
        self.note_twice(config, ack, self.una);
        self.judge_probe(config, ack.offset == self.una && ack.sacks == 0);
        if self.una == self.sent || ack.flags.contains(Flags::SYN) {
            return self.consider_undo(config, ack, false);
        }
        let marked = match &mut self.extras {
            // One that is older than the last tells nothing new.
            _ if self.no_ecn || (config.accurate && ack.offset != self.una) => false,
            Some(extras) if config.accurate => extras.heard.newly_without_data(config, ack) > 0,
            _ => config.ecn && ack.flags.contains(Flags::ECE),
        };
        if marked {
            self.on_mark(config, self.sent - self.una, now);
        }
        if config.by_model {
            self.note_deliveries(ack, now);
        }
        self.log_arrivals(config, ack, now);
        let restarts = config.sacks_restart_timer && self.sample_sacked(config, now);
        self.repair_duplicate(config, ack, now);
        if !self.reduce(config, false) && config.rack() && !config.by_model {
            self.grow_by_sacks(config, now);
        }
        if config.by_model {
            self.steer(config, now);
        }
        if restarts {
            self.deadline = now + self.rto(config);
        }
        self.choose_timer(config, restarts, now);
    }

    /// New data after a pause: the window may be out of date (RFC 5681, section 4.1).
    #[cold]
    fn restart_if_idle(&mut self, config: &Config, now: Time) {
        let idle = now.since(self.last_sent);
        self.window.pause(now);
        self.window.resume(idle, now);
        let pause = match config.restart {
            Restart::Keep => return,
            Restart::AfterRto | Restart::HalvePerRto => self.rto(config),
            Restart::AfterUnclampedRto => self.rtt.unclamped(config),
        };
        if idle > pause {
            self.window.restart(config, idle, pause);
        }
    }

    /// The SYN, unless it is out: there is data to open the connection for.
    #[cold]
    fn poll_syn(&mut self, config: &Config, now: Time) -> Option<Segment> {
        if self.state != State::Closed {
            return None;
        }
        self.state = State::SynSent;
        self.syns = self.syns.saturating_add(1);
        self.timed_at = now;
        self.start_timer(config, now);
        if config.ecn_fallback && self.syns > 1 {
            self.lose_ecn();
        }
        let flags = match config.accurate {
            _ if self.no_ecn => Flags::SYN.with(Flags::NO_ECN),
            true => accurate::SYN,
            false => Flags::SYN.with_if(Flags::ECE.with(Flags::CWR), config.ecn),
        };
        Some(Segment::data(0, 0, flags, now))
    }

    /// The SYN-ACK: an RTT sample unless it is unclear which SYN it answers.
    #[cold]
    fn on_syn_ack(&mut self, config: &Config, ack: &Segment, now: Time) {
        if self.state == State::Failed || !ack.flags.contains(Flags::SYN.with(Flags::ACK)) {
            return;
        }
        if config.every_ack_timed {
            if ack.stamp != Time::NEVER {
                self.first_rtt(now.since(ack.stamp));
            }
        } else if self.syns == 1 {
            self.first_rtt(now.since(self.timed_at));
        }
        if self.syns > 2 && config.one_after_lost_syns {
            self.window.start_with_one();
        }
        let timeouts = self.counters().timeouts;
        if let Some(extras) = &mut self.extras {
            extras.growth.opened(timeouts);
        }
        self.note_offer(config, ack);
        self.backoff = 0;
        self.state = State::Established;
        self.deadline = Time::NEVER;
    }
}
