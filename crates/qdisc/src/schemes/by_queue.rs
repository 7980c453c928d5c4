//! Queues of one port with different schemes: the port calls the marker of a packet's queue.
//! Ports whose queues have one scheme are built as ever and do not meet this marker.

use crate::MAX_QUEUES;
use crate::hooks::{Departure, Intent, Marker, ServiceEnd};
use crate::port::arena::{Note, SlotId};
use crate::port::packet::{Packet, QueueId};
use crate::port::view::{DropReason, View};
use crate::schemes::definition::{Choice, Scope};
use crate::schemes::fairness::Share;
use crate::schemes::site::{Built, Site};
use switchbed_units::Span;
use switchbed_units::random::Random;

/// A marker that a port's queues may have one each of.
type Member = Box<dyn Marker + Send>;

/// Markers by queue. Each member is made for all queues of the port, so that queue numbers mean
/// the same to it as to the port.
pub struct ByQueue {
    /// Index of the member that serves each queue.
    of: [u8; MAX_QUEUES],
    members: Box<[Member]>,
    /// The longest interval that divides every member's, if any member has one.
    period: Option<Span>,
    /// Intervals of `period` that have ended.
    ended: u64,
}

impl ByQueue {
    /// Queue `q` has `members[of[q]]`.
    ///
    /// # Panics
    /// A queue has no member, or there are more than [`MAX_QUEUES`] queues or members.
    pub fn new(of: &[usize], members: Vec<Member>) -> Self {
        assert!(of.len() <= MAX_QUEUES && members.len() <= MAX_QUEUES);
        assert!(of.iter().all(|&member| member < members.len()));
        let mut by_queue = [0; MAX_QUEUES];
        for (queue, &member) in by_queue.iter_mut().zip(of) {
            *queue = member as u8;
        }
        // The greatest common divisor: every member's intervals end at ends of these.
        let period = members.iter().filter_map(|member| member.period()).reduce(common_divisor);
        ByQueue { of: by_queue, members: members.into(), period, ended: 0 }
    }

    #[inline]
    fn member(&self, queue: QueueId) -> &Member {
        &self.members[usize::from(self.of[queue as usize])]
    }

    #[inline]
    fn member_mut(&mut self, queue: QueueId) -> &mut Member {
        &mut self.members[usize::from(self.of[queue as usize])]
    }
}

/// Euclid's algorithm; both are over zero.
fn common_divisor(a: Span, b: Span) -> Span {
    let (mut a, mut b) = (a.as_ps(), b.as_ps());
    while b > 0 {
        (a, b) = (b, a % b);
    }
    Span::from_ps(a)
}

/// A port whose queues have these schemes, one each in order; `site` gives a new site of the port
/// at every call. One marker is made for each different scheme.
///
/// # Errors
/// The schemes differ and one of them does not mark by queue, or there is not one for each queue.
pub fn build(choices: &[Choice], site: impl Fn() -> Site) -> Result<Built, String> {
    let port = site();
    let queues = port.queues();
    let [first, rest @ ..] = choices else {
        return Err(format!("a port has {queues} queues, and no scheme is given"));
    };
    if rest.iter().all(|choice| choice == first) {
        return Ok(first.build(port));
    }
    if choices.len() != queues {
        return Err(format!("a port has {queues} queues, and {} schemes are given", choices.len()));
    }
    let (mut different, mut of) = (Vec::<&Choice>::new(), Vec::new());
    for choice in choices {
        let known = different.iter().position(|other| *other == choice);
        of.push(known.unwrap_or(different.len()));
        if known.is_none() {
            choice.differs_by_queue()?;
            different.push(choice);
        }
    }
    let mut members = Vec::new();
    for choice in different {
        // Markers alone: their site's other seats stay for the port's.
        match choice.build(site().collecting()) {
            Built::Marker(member, _) => members.push(member),
            Built::Port(_) | Built::Bare(..) => {
                return Err(format!("{} is no marker", choice.about().name));
            }
        }
    }
    Ok(port.mark(ByQueue::new(&of, members)))
}

impl Choice {
    /// Whether queues of one port can have it beside other schemes.
    ///
    /// # Errors
    /// The reason why they cannot.
    pub fn differs_by_queue(&self) -> Result<(), String> {
        let about = self.about();
        let why = match self.scope() {
            Scope::Queue if about.notifies() => "it sends messages for the whole port",
            Scope::Queue => return Ok(()),
            Scope::Port => "it looks at all queues of the port",
            Scope::Switch => "it looks at the memory of the whole switch",
            Scope::Whole => "it has a port's queues and scheduler of its own",
        };
        let name = about.name;
        Err(format!(
            "{name} cannot be the scheme of some queues only: {why}; give it to all queues, or \
             choose a scheme that looks at one queue, such as red or per-queue"
        ))
    }
}

impl Marker for ByQueue {
    fn intend(&self, view: &View, queue: QueueId, packet: &Packet, rng: &mut dyn Random) -> Intent {
        self.member(queue).intend(view, queue, packet, rng)
    }

    fn stored(
        &mut self,
        view: &View,
        queue: QueueId,
        slot: SlotId,
        intent: Intent,
        rng: &mut dyn Random,
    ) -> Option<SlotId> {
        self.member_mut(queue).stored(view, queue, slot, intent, rng)
    }

    fn refused(&mut self, view: &View, queue: QueueId, packet: &Packet, why: DropReason) {
        self.member_mut(queue).refused(view, queue, packet, why);
    }

    fn refused_at_full(&mut self, view: &View, queue: QueueId, packet: &Packet) {
        self.member_mut(queue).refused_at_full(view, queue, packet);
    }

    fn depart(
        &mut self,
        view: &View,
        queue: QueueId,
        slot: SlotId,
        note: Note,
        rng: &mut dyn Random,
    ) -> Departure {
        self.member_mut(queue).depart(view, queue, slot, note, rng)
    }

    fn removed(&mut self, view: &View, queue: QueueId, packet: &Packet, why: DropReason) {
        self.member_mut(queue).removed(view, queue, packet, why);
    }

    fn service_ended(&mut self, view: &View, end: ServiceEnd) {
        self.member_mut(end.queue).service_ended(view, end);
    }

    fn reads_pool(&self) -> bool {
        self.members.iter().any(|member| member.reads_pool())
    }

    fn period(&self) -> Option<Span> {
        self.period
    }

    /// Members hear of their own intervals only, each at the time at which its last one ended.
    fn tick(&mut self, view: &View, n: u64) {
        let Some(unit) = self.period else { return };
        let before = self.ended;
        self.ended += n;
        for member in &mut self.members {
            let Some(period) = member.period() else { continue };
            let units = period.as_ps() / unit.as_ps();
            // Ends of the member's own intervals among these.
            let due = self.ended / units - before / units;
            if due > 0 {
                // A member's interval may have ended earlier than the last of the common ones.
                let since = unit * (self.ended % units);
                member.tick(&View { now: view.now - since, ..*view }, due);
            }
        }
    }

    fn set_share(&mut self, class: u8, share: Share) {
        for member in &mut self.members {
            member.set_share(class, share);
        }
    }

    fn threshold_bytes(&self, view: &View, queue: QueueId) -> Option<f64> {
        self.member(queue).threshold_bytes(view, queue)
    }

    fn round_time(&self) -> Option<Span> {
        self.members.iter().find_map(|member| member.round_time())
    }
}
