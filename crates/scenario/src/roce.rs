//! RoCE's queue pairs: how hosts send without TCP over Ethernet that loses little or nothing.

use crate::topology::graph::{self, Cable, Graph, Hop};
use crate::{NicQueue, Switch, Transport};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use switchbed_config::mistake::Mistake;
use switchbed_config::param::{Params, SectionSpec, Unfit, Value, Values};
use switchbed_config::section::Section;
use switchbed_config::tree::{At, Entry, Node, Table};
use switchbed_config::{params, words};
pub use switchbed_congestion::roce::RateControl;
use switchbed_units::ids::HostId;
use switchbed_units::{Bytes, Span};

params! {
    /// The queue pairs of every host.
    pub struct Roce {
        /// Control of the queue pairs' rate.
        control: RateControl;
        /// The classes whose flows have queue pairs; those of others have TCP. Default: all.
        classes: Option<Vec<u8>>;
        /// Payload of a full packet (InfiniBand's path MTU: 256 to 4096).
        mtu: Bytes = "1024B";
        /// Bytes of a data packet besides payload: Ethernet 14 and 4, IPv4 20, UDP 8, the base
        /// transport header 12, its checksum 4. An ACK has 4 more, a CNP 16, and what carries INT
        /// 42.
        header: Bytes = "62B";
        /// Packets are ECN-capable, ACKs and CNPs too, so that none is dropped where others are marked.
        ecn: bool = "true";
        /// Packets that an ACK may cover; a message's last is acknowledged at once.
        ack_every: u32 = "1" as count(1, 1000);
        /// Treatment of packets behind a lost one. go-back-n: they are dropped, a NACK names the
        /// one that is missing, and the sender goes on from there. selective: they are kept, and
        /// what is missing is sent again (IRN).
        recovery: Recovery = "go-back-n";
        /// With go-back-n, a packet that is still missing after so long is asked for again.
        nack_interval: Span = "500us";
        /// Without an ACK of new data for so long, what is not acknowledged is sent again.
        rto: Span = "4ms";
        /// The same where no more than three packets are in flight (IRN's RTO_low). Default: rto.
        rto_low: Span, follows rto;
        /// A queue pair fails that has sent again at least seven times, and for so long, without an ACK of new
        /// data. Default: seven times the usual local ACK timeout, 4.096 us times 2^14, as the verbs' retry_cnt
        /// of 7 has it (InfiniBand 12.7.34 and 12.7.38; NVIDIA, "Adaptive Retransmission": QP.ack_timeout
        /// times QP.retry_num).
        give_up: Span = "470ms";
        /// Payload in flight at most, besides what the rate control says. Default: no limit.
        window: Option<Bytes>;
        /// The class of ACKs. Default: the data's.
        ack_class: Option<u8>;
        /// The class of CNPs. Default: the ACKs'.
        cnp_class: Option<u8>;
        /// nscc and rccc: which path each packet takes. Default: mixed.
        spray: Spray, follows;
        /// nscc and rccc: paths that a sender tells apart, a power of two (htsim: 64).
        entropies: u32 = "64" as count(1, 32_768);
        /// nscc and rccc: a SACK covers no more bytes than that on the wire (htsim: 16,384).
        ack_after: Bytes = "16384B";
        /// nscc and rccc: what is not answered for so long is sent again. Default: 15 us and six times what the
        /// switch's memory takes to drain on a host's line (htsim).
        spray_rto: Option<Span>;
        /// nscc: the queueing delay that senders aim at. Default: 3/4 of the longest round trip where switches trim,
        /// else all of it (htsim).
        target_delay: Option<Span>;
        /// nscc: packets that were lost without a trim are found by what came after them and by probes, as htsim's
        /// -sleek does, instead of by timeout.
        sleek: bool = "false";
        /// rccc: how many times what the links between switches carry the hosts may send. Over 1 receivers give less
        /// credit while switches inside the fabric trim or mark, but for 0.9 of their share at least (htsim's
        /// -oversubscribed_cc).
        oversubscription: f64 = "1" as number(1.0, 1_000.0);
        /// nscc and rccc: the length of NACKs, pulls and requests, and of SACKs. Default: 64 and 78 bytes (Ethernet 14
        /// and 4, IPv4 20, UDP 8, 16 and 32 of Ultra Ethernet); htsim has 64 for all.
        control_len: Option<Bytes>;
    }
}

words! {
    /// Choice of a packet's path by its entropy, as htsim 40ccb05 has it.
    pub enum Spray {
        /// Each path once in a round, in a random order.
        Oblivious = "oblivious",
        /// The same, less often where packets were marked, trimmed or lost.
        Bitmap = "bitmap",
        /// Paths again whose packets were acknowledged without a mark.
        Reps = "reps",
        /// Paths again whose packets were acknowledged without a mark, each once; else as bitmap.
        Mixed = "mixed",
    }
}

words! {
    /// Treatment of packets behind a lost one.
    pub enum Recovery {
        /// Drops them; the sender sends them again.
        GoBackN = "go-back-n",
        /// Keeps them until the gap is filled.
        Selective = "selective",
    }
}

/// `[roce]`.
pub const SECTION: SectionSpec = SectionSpec {
    name: "roce",
    repeated: false,
    doc: "RoCE's queue pairs, where transport.kind is dcqcn, timely, hpcc, swift, roce, nscc, rccc or \
          nscc-rccc, which kind then is as well; or, with a kind of its own, for some classes beside TCP. Packets leave at \
          the rate that the control allows, queue pairs in turn; one begins at line rate.",
    keys: Roce::TABLE,
};

/// How often a queue pair sends again at least before it fails: the greatest `retry_cnt` of the verbs, which has
/// three bits.
pub const RETRIES: u32 = 7;

/// Packets that a send queue has out at most: half of what a PSN's 24 bits hold, so that a responder tells repeated
/// ones from new ones (InfiniBand's specification, volume 1, chapter 9).
pub const PACKETS_OUT: u64 = 1 << 23;

/// Bytes of a SACK and of other answers, where the file does not say: headers of Ethernet, IPv4 and UDP are 46 with the
/// checksum, those of Ultra Ethernet 32 and 16 (xdp2, `include/uet/pds.h`); a frame has 64 at least.
const SACK_BYTES: u32 = 78;
const CONTROL_BYTES: u32 = 64;

/// Bytes of INT in a packet: 8 for each of five switches, and 2 (HPCC's figure 7).
pub const INT_BYTES: u32 = 42;

impl Roce {
    /// The queue pairs that were read, over links that carry packets of `mtu`.
    ///
    /// # Errors
    /// The key that does not fit the rest.
    pub fn of(mut values: Values, mtu: Bytes) -> Result<Roce, Unfit> {
        let given = values.contains_key(Roce::KEY.spray);
        if !given {
            // A word that transports with one path never use.
            let word = Spray::Oblivious.word().to_owned();
            values.insert(Roce::KEY.spray.to_owned(), Value::Word(word));
        }
        let mut roce = Roce::from_values(&mut values);
        if !given && roce.control.about().unordered() {
            roce.spray = Spray::Mixed;
        }
        roce.check(mtu).map(|()| roce)
    }

    fn check(&self, mtu: Bytes) -> Result<(), Unfit> {
        let key = Roce::KEY;
        self.control.check()?;
        if self.mtu == Bytes::ZERO {
            return Err(Unfit::new(key.mtu, "a packet carries at least 1 byte"));
        }
        if self.header < Bytes::new(16) {
            return Err(Unfit::new(key.header, "queue pairs' headers alone are 16 bytes"));
        }
        let full = Bytes::new(self.wire_bytes(self.mtu.get() as u32).into());
        if full > mtu {
            let why = format!("a full packet is {full} with its headers, and host.mtu is {mtu}");
            return Err(Unfit::new(key.mtu, why));
        }
        for (key, span) in [
            (key.rto, self.rto),
            (key.rto_low, self.rto_low),
            (key.nack_interval, self.nack_interval),
        ] {
            if span == Span::ZERO {
                return Err(Unfit::new(key, "it must be longer than 0"));
            }
        }
        if !self.entropies.is_power_of_two() {
            return Err(Unfit::new(key.entropies, "it must be a power of two"));
        }
        let least = Bytes::new(CONTROL_BYTES.into());
        if self.control_len.is_some_and(|bytes| bytes < least || bytes > mtu) {
            let why = format!("it must be from {least} to host.mtu, {mtu}");
            return Err(Unfit::new(key.control_len, why));
        }
        for (key, span) in [(key.spray_rto, self.spray_rto), (key.target_delay, self.target_delay)]
        {
            if span == Some(Span::ZERO) {
                return Err(Unfit::new(key, "it must be longer than 0"));
            }
        }
        if self.control.about().unordered() && self.mtu > Bytes::new(u16::MAX.into()) {
            return Err(Unfit::new(key.mtu, "a packet carries at most 65535 bytes"));
        }
        if self.rto_low > self.rto {
            let why = format!("it must be at most rto, {}", self.rto);
            return Err(Unfit::new(key.rto_low, why));
        }
        match &self.classes {
            Some(classes) if classes.is_empty() => {
                Err(Unfit::new(key.classes, "it lists no class: leave the section away"))
            }
            _ => Ok(()),
        }
    }

    /// Whether a class's flows have queue pairs.
    #[inline]
    pub fn carries(&self, class: u8) -> bool {
        self.classes.as_ref().is_none_or(|classes| classes.contains(&class))
    }

    /// Returns the bytes of a packet besides payload.
    pub fn overhead(&self) -> Bytes {
        match self.control.about().int {
            true => self.header + Bytes::new(INT_BYTES.into()),
            false => self.header,
        }
    }

    /// The shortest packet: data of a byte, or a CNP.
    pub fn shortest(&self) -> Bytes {
        let answer = match self.control.about().unordered() {
            true => self.control_bytes().min(self.ack_bytes()),
            false => self.cnp_bytes(),
        };
        // The least payload is a byte; answers may still be shorter.
        (self.overhead() + Bytes::new(1)).min(Bytes::new(answer.into()))
    }

    /// The length on the wire of so many bytes of payload.
    pub fn wire_bytes(&self, payload: u32) -> u32 {
        payload + self.overhead().get() as u32
    }

    /// Returns the length of an ACK.
    pub fn ack_bytes(&self) -> u32 {
        match self.control.about().unordered() {
            true => self.control_len.map_or(SACK_BYTES, |bytes| bytes.get() as u32),
            // RoCEv2's ACK has an AETH of 4 bytes.
            false => self.wire_bytes(4),
        }
    }

    /// Returns the length of a NACK, a pull or a request.
    pub fn control_bytes(&self) -> u32 {
        self.control_len.map_or(CONTROL_BYTES, |bytes| bytes.get() as u32)
    }

    /// Returns the length of a CNP.
    pub fn cnp_bytes(&self) -> u32 {
        // A CNP has 16 reserved bytes where others have payload (RoCEv2 annex A17).
        self.header.get() as u32 + 16
    }
}

/// Keys of the section where the file gives no kind: the transport's kind, if that has queue pairs.
pub(crate) fn under(transport: &Transport) -> Table {
    let mut table = Table::default();
    if transport.control.about().roce {
        let value = Node::text(transport.control.word());
        table.entries.push(Entry { key: RateControl::KEY.to_owned(), at: At::Unwritten, value });
    }
    table
}

/// The queue pairs, if a class's flows have any: all where the transport says so, else those that the section
/// names, beside TCP. `shared`: the section is for entries of traffic that have a transport, too.
pub(crate) fn resolve(
    section: Section<'_>,
    transport: &Transport,
    switch: &Switch,
    mtu: Bytes,
    shared: bool,
) -> Result<Option<Roce>, Mistake> {
    let key = Roce::KEY;
    let about = transport.control.about();
    let kind = section.given(RateControl::KEY).is_some();
    if !about.roce && !kind {
        // Shared, it may be, with others of a comparison which have queue pairs.
        return Ok(None);
    }
    // Entries with transports of their own may look to the section without classes.
    if !about.roce && shared && section.given(key.classes).is_none() {
        return Ok(None);
    }
    let roce = Roce::of(section.values()?, mtu).map_err(|unfit| section.unfit(unfit))?;
    let word = transport.control.word();
    if about.roce && roce.control.word() != word {
        let why =
            format!("transport.kind is \"{word}\": they must be the same, or leave this one away");
        return Err(section.refuse(RateControl::KEY, why));
    }
    match &roce.classes {
        Some(_) if about.roce => {
            let why = format!("transport.kind is \"{word}\", so that all classes have queue pairs");
            return Err(section.refuse(key.classes, why));
        }
        None if !about.roce => {
            let why = format!(
                "which classes have queue pairs? The others have transport.kind = \"{word}\""
            );
            return Err(section.unfit(Unfit::new(key.classes, why)));
        }
        Some(_) if !about.tcp => {
            let why = format!("queue pairs stand beside TCP, and transport.kind is \"{word}\"");
            return Err(section.refuse(key.classes, why));
        }
        _ => {}
    }
    check_classes(&section, &roce, switch.queues)?;
    section.close(&format!("kind = \"{}\"", roce.control.word()))?;
    Ok(Some(roce))
}

/// Refuses answers of a class without a queue.
pub(crate) fn check_classes(
    section: &Section<'_>,
    roce: &Roce,
    queues: u16,
) -> Result<(), Mistake> {
    let key = Roce::KEY;
    for (name, class) in [(key.ack_class, roce.ack_class), (key.cnp_class, roce.cnp_class)] {
        if class.is_some_and(|class| u16::from(class) >= queues) {
            let why = format!("that class has no queue of its own: switch.queues is {queues}");
            return Err(section.refuse(name, why));
        }
    }
    Ok(())
}

/// A card that asks queue pairs for their packets holds none back for others.
pub(crate) fn card(section: &Section<'_>, nic: NicQueue) -> Result<NicQueue, Mistake> {
    match nic {
        NicQueue::Classes | NicQueue::Fifo(_) | NicQueue::Unlimited => Ok(nic),
        _ if section.given(NicQueue::KEY).is_some() => {
            let why = "queue pairs wait in their card, not behind each other: it must be \"classes\" or \
                       \"unlimited\", or be left away";
            Err(section.refuse(NicQueue::KEY, why))
        }
        _ => Ok(NicQueue::Classes),
    }
}

/// The round trip of a queue pair's full packet and its ACK between the hosts that are farthest from each other,
/// and the switches on that way. Of a kind's hosts, farthest from host 0 is one end, farthest from that the other, as in
/// a tree; of any other network's, all pairs are tried, two hosts a switch.
pub fn longest_way(graph: &Graph, roce: &Roce) -> (Span, u32) {
    let data = roce.wire_bytes(roce.mtu.get() as u32);
    let round_trip = |src: HostId, dst: HostId| {
        let way = |from, to, bytes| {
            let took = |cable: Cable| cable.rate.tx_time(bytes) + cable.delay;
            let cables = graph.path(from, Hop { dst: to, key: 0 }).into_iter().map(took);
            cables.fold((Span::ZERO, 0), |(span, cables), took| (span + took, cables + 1))
        };
        let (there, cables) = way(src, dst, data);
        // Links between host and host: one less is switches.
        (there + way(dst, src, roce.ack_bytes()).0, cables - 1)
    };
    if graph.is_free() {
        // Of the hosts linked to the same switches the two slowest: the longest way may be between them.
        let mut slowest: BTreeMap<Vec<graph::Node>, Vec<(Span, HostId)>> = BTreeMap::new();
        for host in (0..graph.hosts()).map(HostId::at) {
            let cables = graph.cables(host).iter();
            let took = cables.clone().map(|cable| cable.rate.tx_time(data) + cable.delay).max();
            let of = slowest.entry(cables.map(|cable| cable.to).collect()).or_default();
            of.push((took.unwrap_or(Span::ZERO), host));
            of.sort_unstable_by_key(|&(took, host)| (Reverse(took), host));
            of.truncate(2);
        }
        let ends: Vec<HostId> = slowest.into_values().flatten().map(|(_, host)| host).collect();
        let pairs = ends.iter().flat_map(|&src| ends.iter().map(move |&dst| (src, dst)));
        let pairs = pairs.filter(|(src, dst)| src != dst).map(|(src, dst)| round_trip(src, dst));
        return pairs.max().unwrap_or((Span::ZERO, 0));
    }
    // Farthest from any host, then farthest from that: the diameter, where the fabric is like a
    // tree.
    let farthest = |from: HostId| {
        let others = (0..graph.hosts()).map(HostId::at).filter(|&host| host != from);
        others
            .map(|host| (round_trip(from, host), host))
            .max_by_key(|&(way, host)| (way, Reverse(host)))
    };
    let end = farthest(HostId(0)).map_or(HostId(0), |(_, host)| host);
    farthest(end).map_or((Span::ZERO, 0), |(way, _)| way)
}
