//! A host's network card that obeys congestion notifications: the messages that the switch sends
//! to the host end here, and what they are about is sent at the rate that its reaction point
//! ([`ReactionPoint`], the simulator's) allows; the rest passes.
//!
//! Faster frames wait in their limiter's queue, and are lost where that is full. An operating
//! system behind a TAP interface or a veth cannot be held back as by a card's own queue (BQL):
//! the interface has let go of the packet when it comes here. So a limiter's queue is as short as
//! BQL would keep it, in time rather than in packets, and losses tell TCP to slow down.

use super::{Condition, Device, LONGEST, Received};
use crate::random::Stream;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::io;
use std::os::fd::BorrowedFd;
use switchbed_qdisc::{Random, ReactionPoint};
use switchbed_scenario::{CardReaction, Limiters};
use switchbed_units::{Rate, Span, Time};
use switchbed_wire::{Frame, Mac, cnm};

/// A limiter's queue holds what it sends in this time...
const QUEUE: Span = Span::from_ms(20);
/// ...and so many bytes at least: some packets of the MTU.
const LEAST: u64 = 48_000;
/// A packet that a late thread lets out late is made up for up to this: a live port's bucket.
const LATE: Span = Span::from_us(1200);
/// Limiters at most: a flood of messages must not take all memory.
const LIMIT: usize = 4096;
/// A full table is searched this often at most for limiters that have nothing to do.
const SWEEP: Span = Span::from_ms(1000);
/// Frames read at a time, so that a flood does not keep the loop.
const BUDGET: usize = 64;

/// A device whose frames come in no faster than messages allow.
pub struct Reacting<D> {
    device: D,
    settings: CardReaction,
    classes: [u8; 64],
    line: Rate,
    rng: Stream,
    limiters: HashMap<Key, Limiter>,
    /// When limiters with frames that wait may send.
    due: BinaryHeap<Reverse<(Time, Key)>>,
    /// Frames of limiters that are gone.
    free: VecDeque<Vec<u8>>,
    spare: Vec<Vec<u8>>,
    swept: Time,
    lost: u64,
}

/// Identity of a rate limiter: the sender's address, with its flow, its class, or 0.
type Key = (Mac, u32);

struct Limiter {
    point: ReactionPoint<Stream>,
    /// When its next frame may be sent.
    next: Time,
    waiting: VecDeque<Vec<u8>>,
    bytes: u64,
}

impl Limiter {
    /// A frame is sent now that was due before, by up to `late` or a frame's time.
    fn sent(&mut self, settings: &CardReaction, len: usize, now: Time, late: Span) {
        self.point.on_sent(&settings.point, len as u32, now);
        let gap = self.point.gap(len as u32);
        // A late wake-up is made good by this much, more would be a burst; one frame always.
        let earliest = Time::from_ps(now.as_ps().saturating_sub(late.max(gap).as_ps()));
        self.next = self.next.max(earliest) + gap;
    }

    fn has_space(&self, len: usize) -> bool {
        let most = (self.point.rate_bps() / 8.0 * QUEUE.as_secs_f64()) as u64;
        // 20 ms at the limiter's rate, and at a very low rate still a few frames.
        self.bytes + len as u64 <= most.max(LEAST)
    }
}

impl<D: Device> Reacting<D> {
    /// A card before a line of this rate. `classes` is each DSCP's class.
    pub fn new(
        device: D,
        settings: CardReaction,
        classes: [u8; 64],
        line: Rate,
        rng: Stream,
    ) -> Self {
        Reacting {
            device,
            settings,
            classes,
            line,
            rng,
            limiters: HashMap::new(),
            due: BinaryHeap::new(),
            free: VecDeque::new(),
            spare: Vec::new(),
            swept: Time::ZERO,
            lost: 0,
        }
    }

    fn key(&self, frame: &Frame) -> Key {
        let what = match self.settings.limiters {
            Limiters::Flow => frame.flow,
            Limiters::Class => frame.ip.map_or(0, |ip| self.classes[usize::from(ip.dscp())]).into(),
            Limiters::Host => 0,
        };
        (frame.source, what)
    }

    /// A message for the host: the first makes a limiter.
    fn obey(&mut self, message: &[u8], now: Time) {
        let read = cnm::parse(message).zip(cnm::sampled(message));
        let Some(((notification, _), frame)) = read else { return };
        if notification.quantized == 0 {
            return;
        }
        let key = self.key(&frame);
        if !self.limiters.contains_key(&key) && !self.has_space(now) {
            return;
        }
        let (settings, line) = (&self.settings.point, self.line);
        let rng = &mut self.rng;
        let limiter = self.limiters.entry(key).or_insert_with(|| Limiter {
            point: ReactionPoint::new(settings, line, now, Stream::new(rng.next_u64(), 0)),
            next: now,
            waiting: VecDeque::new(),
            bytes: 0,
        });
        limiter.point.on_notification(settings, notification.quantized, now);
    }

    /// Whether there may be another limiter.
    fn has_space(&mut self, now: Time) -> bool {
        // A sweep looks at every limiter: not more often than once a second.
        if self.limiters.len() >= LIMIT && now.since(self.swept) >= SWEEP {
            self.swept = now;
            let settings = &self.settings.point;
            self.limiters.retain(|_, limiter| {
                limiter.point.advance(settings, now);
                !(limiter.waiting.is_empty() && limiter.point.recovered())
            });
        }
        self.limiters.len() < LIMIT
    }

    /// The next frame whose limiter lets it out.
    fn release(&mut self, now: Time) -> Option<Vec<u8>> {
        // Frames of a limiter that has recovered go before all that still waits.
        if let Some(frame) = self.free.pop_front() {
            return Some(frame);
        }
        let &Reverse((_, key)) = self.due.peek().filter(|first| first.0.0 <= now)?;
        self.due.pop();
        let limiter = self.limiters.get_mut(&key)?;
        let frame = limiter.waiting.pop_front()?;
        limiter.bytes -= frame.len() as u64;
        limiter.sent(&self.settings, frame.len(), now, LATE);
        if limiter.point.recovered() {
            // Without a limiter nothing holds its frames: they go on in their order.
            self.free.append(&mut limiter.waiting);
            self.limiters.remove(&key);
        } else if !limiter.waiting.is_empty() {
            self.due.push(Reverse((limiter.next, key)));
        }
        Some(frame)
    }

    /// Whether a frame that has come may pass; else it waits, or is lost.
    fn admit(&mut self, frame: &mut Vec<u8>, now: Time) -> bool {
        let Some(sampled) = cnm::as_sampled(frame) else { return true };
        let key = self.key(&sampled);
        let Some(limiter) = self.limiters.get_mut(&key) else { return true };
        // Frames of a key that has some waiting queue behind them, or they would overtake.
        if limiter.waiting.is_empty() {
            limiter.point.advance(&self.settings.point, now);
            if limiter.point.recovered() {
                self.limiters.remove(&key);
                return true;
            }
            if limiter.next <= now {
                // An idle limiter saves nothing up.
                limiter.sent(&self.settings, frame.len(), now, Span::ZERO);
                return true;
            }
        }
        if limiter.has_space(frame.len()) {
            if limiter.waiting.is_empty() {
                self.due.push(Reverse((limiter.next, key)));
            }
            limiter.bytes += frame.len() as u64;
            // One byte more: a frame longer than an interface takes is seen as such.
            let spare = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(LONGEST + 1));
            limiter.waiting.push_back(std::mem::replace(frame, spare));
        } else {
            self.lost += 1;
        }
        false
    }
}

impl<D: Device> Device for Reacting<D> {
    fn receive(&mut self, now: Time, frame: &mut Vec<u8>) -> io::Result<Received> {
        // A peer that sends faster than its limit must not hold the thread here.
        for _ in 0..BUDGET {
            if let Some(waited) = self.release(now) {
                self.spare.push(std::mem::replace(frame, waited));
                return Ok(Received::Frame);
            }
            let received = self.device.receive(now, frame)?;
            if received != Received::Frame || self.limiters.is_empty() || self.admit(frame, now) {
                return Ok(received);
            }
        }
        Ok(Received::Nothing)
    }
    fn send(&mut self, now: Time, frame: &[u8]) -> io::Result<()> {
        // A message about the host's frames is for its card, not for the host.
        if cnm::is_one(frame) {
            self.obey(frame, now);
            return Ok(());
        }
        self.device.send(now, frame)
    }
    fn flush(&mut self) -> u64 {
        self.device.flush()
    }
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.device.fd()
    }
    fn condition(&mut self) -> Condition {
        let within = self.device.condition();
        let limiters = self.limiters.len() as u64 + within.limiters;
        Condition { lost: self.lost + within.lost, limiters, ..within }
    }
    fn due(&self) -> Time {
        if !self.free.is_empty() {
            return Time::ZERO;
        }
        self.due.peek().map_or(Time::NEVER, |first| first.0.0).min(self.device.due())
    }
}
