//! Arrivals at a host, and the host's reactions.

use super::halves::{Expected, append};
use super::reception::{BUDGET, Frame, GRO_MAX, Merged};
use super::{Cx, Host, Net, Settings, Timer, Toward, probes, through};
use crate::flow::FlowRecord;
use crate::ids::{ConnId, Maybe};
use crate::node::notice::{Answers, Notice, What};
use crate::packet::{Body, Flags, NOTIFICATIONS, PAUSES, PROBES, Payload, Segment};
use crate::topology::Hop;
use crate::transport::is_data;
use switchbed_qdisc::hooks::Feedback;
use switchbed_qdisc::{FlowId, Packet};
use switchbed_units::Time;

/// Bytes that are missing before a packet, where it comes beyond a gap.
#[inline(always)]
fn gap(body: &Body, reached: u64) -> Option<u64> {
    let offset = match body {
        Body::Segment(segment) => segment.offset,
        Body::Rdma(rdma) => rdma.offset,
        _ => return None,
    };
    (offset > reached).then(|| offset - reached)
}

impl Host {
    /// A packet has arrived.
    #[inline]
    pub(crate) fn deliver<N: Net>(
        &mut self,
        packet: Packet,
        payload: Payload,
        cx: &mut Cx<N>,
        now: Time,
    ) {
        if packet.flow == NOTIFICATIONS {
            if let Body::Notification(feedback) = &payload.body {
                self.notified(feedback, cx, now);
            }
        } else if packet.flow == PAUSES {
            self.paused(packet.ingress, &payload.body, cx, now);
        } else if self.reception.is_some() && !matches!(payload.body, Body::Rdma(_)) {
            self.take_in((packet, payload), cx, now);
        } else {
            self.hand_up(&packet, &payload, false, cx, now);
        }
    }

    /// The transport gets a packet, or several merged into one.
    #[inline(always)]
    fn hand_up<N: Net>(
        &mut self,
        packet: &Packet,
        payload: &Payload,
        merged: bool,
        cx: &mut Cx<N>,
        now: Time,
    ) {
        if packet.flow == PROBES {
            return self.echoed(&payload.body, cx, now);
        }
        if is_data(&payload.body) {
            let Some(conn) = self.receiver_of(packet.flow, payload.to) else { return };
            let half = &mut self.receivers[conn];
            let before = half.receiving.reached();
            if let Some(gap) = gap(&payload.body, before) {
                cx.log.early.count(gap);
            }
            half.peer = payload.from;
            let kind = cx.settings.transport(half.kind);
            half.receiving.on_data(kind, (packet, &payload.body), merged, now);
            let opened = std::mem::replace(&mut half.last, now);
            let after = half.receiving.reached();
            if after >= half.due {
                half.receiving.on_push(kind);
            }
            if let Some(other) = half.other {
                self.accept(other, &payload.body, opened, cx, now);
            }
            if let Some(puller) = &mut self.puller
                && let Some(sight) = kind.sight(packet, &payload.body)
            {
                puller.see(sight, now);
            }
            self.pump_receiver(conn, cx, now);
            if self.puller.is_some() && self.receivers[conn].receiving.wants_pull() {
                self.list_pull(conn, cx, now);
            }
            self.take(conn, (packet, &payload.body), before, after, cx, now);
        } else {
            let Some(conn) = payload.to.get() else { return };
            // A late packet: the number may belong to another connection by now, but the flow does
            // not.
            let Some(half) = self.senders.get_mut(conn) else { return };
            if half.flow != packet.flow || !half.open {
                return;
            }
            half.peer = payload.from;
            half.sending.on_answer(cx.settings.transport(half.kind), &payload.body, now);
            if cx.settings.plb {
                half.repath(cx.settings, now);
            }
            self.pump_sender(conn, cx, now);
            self.finish(conn, cx, now);
        }
    }

    /// Data of requests, whose SYN or earlier data came at `before`: the first of it answers the
    /// SYN-ACK, with the ACK that is not modelled. Where it is a retransmission, that ACK took as long
    /// as this, and the SYN-ACK too.
    #[cold]
    fn accept<N: Net>(
        &mut self,
        answers: ConnId,
        body: &Body,
        before: Time,
        cx: &mut Cx<N>,
        now: Time,
    ) {
        let Body::Segment(segment) = body else { return };
        // `before` is 0 where nothing came yet: then this is the first packet, not an answer to a
        // SYN-ACK.
        if segment.flags.contains(Flags::SYN) || before == Time::ZERO {
            return;
        }
        let mut rtt = now.since(before);
        if segment.flags.contains(Flags::RETRANSMIT) {
            rtt = rtt.min(now.since(segment.stamp) * 2);
        }
        let half = &mut self.senders[answers];
        half.sending.accepted(cx.settings.transport(half.kind), segment, rtt);
    }

    /// The receiving half of a flow, wherever its sender takes it to be.
    #[inline]
    fn receiver_of(&self, flow: FlowId, guess: Maybe<ConnId>) -> Option<ConnId> {
        let at =
            |conn: &ConnId| self.receivers.get(*conn).is_some_and(|h| h.open && h.flow == flow);
        guess.get().filter(at).or_else(|| self.receiving.get(&flow).copied())
    }

    /// Counts what has come, and ends the flows that have come whole.
    #[inline]
    fn take<N: Net>(
        &mut self,
        conn: ConnId,
        (packet, body): (&Packet, &Body),
        mut before: u64,
        after: u64,
        cx: &mut Cx<N>,
        now: Time,
    ) {
        let lossy = match body {
            // A datagram behind a flow's end says that no more of it comes.
            &Body::Datagram { offset, len } => {
                let kind = cx.settings.transport(self.receivers[conn].kind);
                before = offset + kind.trimmed(len, packet.len_bytes);
                true
            }
            _ => false,
        };
        let ends = after >= self.receivers[conn].due;
        if !lossy && (after == before || !ends && !cx.settings.tells_taken) {
            return;
        }
        while let Some(flow) = self.receivers[conn].expected.front_mut() {
            let got = after.min(flow.until).saturating_sub(before.max(flow.from));
            if lossy {
                flow.taken += got;
            }
            if cx.settings.tells_taken && flow.asks.is_none() {
                let class = usize::from(flow.class);
                if self.taken.len() <= class {
                    self.taken.resize(class + 1, 0);
                }
                self.taken[class] += got;
            }
            if after < flow.until {
                return;
            }
            before = before.max(flow.until);
            self.arrived(conn, now, cx, now);
        }
    }

    /// The oldest flow that a receiver waits for came whole, or its rest will not come.
    fn arrived<N: Net>(&mut self, conn: ConnId, at: Time, cx: &mut Cx<N>, now: Time) {
        let half = &mut self.receivers[conn];
        let Some(message) = half.expected.pop_front() else { return };
        half.set_due();
        if message.is_awaited() {
            let back = half.other;
            return self.got(message, back, cx, now);
        }
        if !cx.settings.ends_acked() || half.receiving.unanswered() {
            let (sender, received) = (half.peer, half.received(&message));
            let what = What::Received { sender, at, received };
            cx.net.post(half.src, half.flow, what, now);
        }
    }

    /// Word from another host.
    #[cold]
    pub(crate) fn notice<N: Net>(&mut self, notice: Notice, cx: &mut Cx<N>, now: Time) {
        let Notice { flow, what, .. } = notice;
        match what {
            What::Opened { src, sender, fresh, class, kind, key, answers } => {
                let conn = self.receiver(flow, src, sender.into(), (key, class, kind), cx.settings);
                let other = answers.map(|answers| {
                    let Answers { flow, opening, receiver, keys, kind } = answers;
                    cx.log.open += 1;
                    let line = self.line(Hop { dst: src, key: keys[0] }, kind, cx, now);
                    let at = (cx.settings, line, now);
                    let other = self.sender(flow, src, keys, (class, kind, opening), at);
                    let half = &mut self.senders[other];
                    (half.peer, half.fresh) = (receiver.into(), fresh);
                    other
                });
                self.receivers[conn].other = other;
            }
            What::Written(written) => {
                let Some(&conn) = self.receiving.get(&flow) else { return };
                let half = &mut self.receivers[conn];
                if half.expected.is_empty() {
                    half.class = written.class;
                }
                half.key = written.key;
                let flow = Expected {
                    number: written.number,
                    from: written.from,
                    until: written.until,
                    class: written.class,
                    taken: 0,
                    before: 0,
                    asks: written.asks,
                };
                append(&mut half.expected, flow);
                half.set_due();
            }
            What::Stopped { until, at } => {
                let Some(&conn) = self.receiving.get(&flow) else { return };
                let half = &mut self.receivers[conn];
                let (reached, last) = (half.receiving.reached(), half.last);
                let Some(flow) = half.expected.back_mut() else { return };
                flow.until = until;
                half.set_due();
                // All that was sent has arrived already, so no further packet will notice the end.
                if half.expected.len() == 1 && reached >= until {
                    self.arrived(conn, last.max(at), cx, now);
                }
            }
            What::Received { sender, at, received } => {
                let Some(sender) = sender.get() else { return };
                let Some(half) = self.senders.get_mut(sender) else { return };
                if half.flow != flow || !half.open {
                    return;
                }
                let Some(ended) = half.running.pop_front() else { return };
                half.set_due();
                let record = FlowRecord { end: Some(at), received, ..half.record(&ended) };
                through(half.dst, half.flow, ended.number, record, cx, now);
                self.finish(sender, cx, now);
            }
            What::Answered(answer) => self.answered(flow, &answer, cx, now),
            What::Closed => {
                let Some(conn) = self.receiving.remove(&flow) else { return };
                self.receivers[conn].open = false;
                self.receivers.free(conn);
            }
        }
    }

    /// A flow that was asked for here is through.
    fn answered<N: Net>(&mut self, flow: FlowId, answer: &FlowRecord, cx: &mut Cx<N>, now: Time) {
        let receiver = self.receiving.get(&flow).copied();
        let Some(conn) = receiver.and_then(|conn| self.receivers[conn].other) else { return };
        let half = &mut self.senders[conn];
        let Some(request) = half.running.pop_front() else { return };
        half.set_due();
        let asked = half.record(&request);
        cx.log.through(now);
        let record = FlowRecord {
            timeouts: answer.timeouts + asked.timeouts,
            waits: answer.waits.with(&asked.waits),
            retransmissions: answer.retransmissions + asked.retransmissions,
            ecn_cuts: answer.ecn_cuts + asked.ecn_cuts,
            without_ecn: answer.without_ecn || asked.without_ecn,
            ..*answer
        };
        cx.log.finished.push((request.number, record));
        match answer.failed {
            Some(_) => self.fail(conn, cx, now),
            None => self.finish(conn, cx, now),
        }
    }

    /// A switch's message to a source. Those about ACKs, whose sources are not limited, end here.
    #[cold]
    fn notified<N: Net>(&mut self, feedback: &Feedback, cx: &mut Cx<N>, now: Time) {
        let conn = self.sources.get(&feedback.flow).copied();
        if let (Some(card), Some(reaction), Some(conn)) =
            (&mut self.card, &cx.settings.reaction, conn)
        {
            let group = self.senders[conn].group;
            card.notify(group, &reaction.card.point, feedback.quantized, now);
        }
    }

    /// The switch has paused a class, or resumed it: its queue in front of the line, and what the card asks
    /// connections for.
    #[cold]
    fn paused<N: Net>(&mut self, nth: u16, body: &Body, cx: &mut Cx<N>, now: Time) {
        let &Body::Pause { class, quanta } = body else { return };
        let Some((from, until)) = cx.net.pause(nth, class, quanta, now) else { return };
        if let Some(card) = self.card_of(nth.into()) {
            card.pause(class, from, until, now);
            self.arm_card(now);
        }
        self.watch_space(cx, now);
    }

    /// A probe has arrived, there or back.
    #[cold]
    fn echoed<N: Net>(&mut self, body: &Body, cx: &mut Cx<N>, now: Time) {
        let &Body::Echo { source, number, back } = body else { return };
        if !back {
            let (packet, payload, hop) =
                probes::echo(&cx.settings.probes[source as usize], number, source);
            if !cx.net.full(now) {
                cx.net.send(packet, payload, Toward::loose(hop), now);
            }
            return;
        }
        if let Some(probes) = self.probes.iter_mut().find(|probes| probes.source() == source) {
            probes.back(number, now);
        }
    }

    /// A frame has arrived at a card that does something with it.
    #[cold]
    fn take_in<N: Net>(&mut self, frame: Frame, cx: &mut Cx<N>, now: Time) {
        let Some(reception) = &mut self.reception else { return };
        match reception.process(&frame, now) {
            Some(at) => self.wake(at, Timer::Processed),
            None => self.wait_for_interrupt(frame, cx, now),
        }
    }

    /// The host is through with the frame that came first.
    pub(super) fn processed<N: Net>(&mut self, cx: &mut Cx<N>, now: Time) {
        if let Some(frame) = self.reception.as_mut().and_then(|reception| reception.through()) {
            self.wait_for_interrupt(frame, cx, now);
        }
    }

    /// A frame waits for the interrupt, or causes it.
    fn wait_for_interrupt<N: Net>(&mut self, frame: Frame, cx: &mut Cx<N>, now: Time) {
        let Some(reception) = &mut self.reception else { return };
        let settings = reception.settings;
        reception.waiting.push(frame);
        let waits = settings.coalesce_time;
        if waits.as_ps() == 0 || reception.waiting.len() >= settings.frames {
            self.interrupt(cx, now);
        } else if reception.waiting.len() == 1 {
            reception.due = now + waits;
            let due = reception.due;
            self.wake(due, Timer::Reception);
        }
    }

    /// Handles arrivals that have waited for their processing time.
    pub(super) fn reception_due<N: Net>(&mut self, cx: &mut Cx<N>, now: Time) {
        if self.reception.as_ref().is_some_and(|reception| reception.due == now) {
            self.interrupt(cx, now);
        }
    }

    /// The host looks at the frames that wait.
    fn interrupt<N: Net>(&mut self, cx: &mut Cx<N>, now: Time) {
        let Some(reception) = &mut self.reception else { return };
        let settings = reception.settings;
        let coalesces = settings.coalesce_time.as_ps() > 0;
        if coalesces || reception.due <= now {
            reception.due = Time::NEVER;
        }
        let mut waiting = std::mem::take(&mut reception.waiting);
        for (nth, (packet, payload)) in waiting.drain(..).enumerate() {
            // `__napi_poll` flushes GRO once a poll has used up its budget (all packets, with HZ <
            // 1000).
            if settings.polls && nth > 0 && nth % BUDGET == 0 {
                self.flush(Time::NEVER, cx, now);
            }
            let data = match &payload.body {
                Body::Segment(segment) => {
                    !segment.flags.contains(Flags::ACK) && !segment.flags.contains(Flags::SYN)
                }
                _ => false,
            };
            if settings.merge_packets > 1 && data {
                self.merge((packet, payload), cx, now);
            } else {
                self.hand_up(&packet, &payload, false, cx, now);
            }
        }
        if let Some(reception) = &mut self.reception {
            // The vector's memory serves again.
            reception.waiting = waiting;
        }
        self.flush(if coalesces || settings.polls { Time::NEVER } else { now }, cx, now);
    }

    /// Merges a packet with those of its flow that wait, or lets it wait for the next. What
    /// cannot be merged goes up in order.
    fn merge<N: Net>(&mut self, frame: Frame, cx: &mut Cx<N>, now: Time) {
        let Some(settings) = self.reception.as_ref().map(|reception| reception.settings) else {
            return;
        };
        let (packet, payload) = frame;
        let Body::Segment(segment) = payload.body else { return };
        let ends = self.ends_piece(&packet, &payload, &segment, cx.settings);
        let Some(reception) = &mut self.reception else { return };
        let nth = reception.merged.iter().position(|merged| merged.frame.0.flow == packet.flow);
        if let Some(nth) = nth {
            let merged = &mut reception.merged[nth];
            let (first, held) = (merged.frame.0, &mut merged.frame.1.body);
            let headers = packet.len_bytes - segment.len;
            let Body::Segment(held) = held else { return };
            let next = held.offset + u64::from(held.len);
            // `inet_gro_receive` merges only packets with the same TOS byte, so no CE mark is
            // hidden.
            let alike = first.ecn == packet.ecn && held.flags == segment.flags;
            let fits = !settings.polls || headers + held.len + segment.len < GRO_MAX;
            let joins = next == segment.offset && alike && fits;
            if joins {
                held.len += segment.len;
                merged.packets += 1;
            }
            if !joins || ends || merged.packets == settings.merge_packets {
                let merged = reception.merged.remove(nth);
                self.hand_up_merged(&merged, cx, now);
            }
            if joins {
                return;
            }
        }
        let merged = Merged { frame, packets: 1, deadline: now + settings.merge_time };
        if ends {
            return self.hand_up_merged(&merged, cx, now);
        }
        if let Some(reception) = &mut self.reception {
            reception.merged.push(merged);
        }
    }

    /// Hands up what may wait no longer than `until`, and wakes up for the rest.
    fn flush<N: Net>(&mut self, until: Time, cx: &mut Cx<N>, now: Time) {
        loop {
            let Some(reception) = &mut self.reception else { return };
            match reception.merged.first().map(|first| first.deadline) {
                Some(deadline) if deadline <= until => {
                    let merged = reception.merged.remove(0);
                    self.hand_up_merged(&merged, cx, now);
                }
                Some(deadline) => {
                    // A wake-up that is still to come sees to the next.
                    if reception.due == Time::NEVER {
                        reception.due = deadline;
                        self.wake(deadline, Timer::Reception);
                    }
                    return;
                }
                None => return,
            }
        }
    }

    /// Whether a segment is not full, or ends what its flow's application wrote: what is sent in one piece
    /// ends there, as TCP's PSH says.
    fn ends_piece(
        &self,
        packet: &Packet,
        payload: &Payload,
        segment: &Segment,
        settings: &Settings,
    ) -> bool {
        let half = self.receiver_of(packet.flow, payload.to).map(|conn| &self.receivers[conn]);
        let end = segment.offset + u64::from(segment.len);
        // `tcp_gro_receive` ends a merge at a segment shorter than the MSS, or with PSH.
        segment.len < settings.transport(half.map_or(0, |half| half.kind)).mss()
            || half.is_some_and(|half| half.expected.iter().any(|flow| flow.until == end))
    }

    fn hand_up_merged<N: Net>(&mut self, merged: &Merged, cx: &mut Cx<N>, now: Time) {
        let (packet, payload) = &merged.frame;
        self.hand_up(packet, payload, merged.packets > 1, cx, now);
    }
}
