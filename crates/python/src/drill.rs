//! One end of a connection for packetdrill scripts, without a network.

use crate::Mistake;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use switchbed_qdisc::Ecn;
use switchbed_scenario::{self as scenario, protocols::Protocols};
use switchbed_sim::drill::{self, Arrival, Kind, Nagle};
use switchbed_sim::packet::Flags;
use switchbed_sim::tcp::Config;
use switchbed_units::Time;

/// Kind, time in picoseconds, offset, payload, FIN, acknowledged, flags, SACK blocks, ECN codepoint, sent before.
type Sent = (&'static str, u64, u64, u32, bool, u64, &'static str, Vec<(u64, u64)>, u8, bool);

/// One end of a TCP connection of the model, driven by hand; times are in picoseconds.
#[pyclass(module = "switchbed._native")]
pub struct Drill(drill::Drill);

/// The settings of a scenario's hosts.
fn config(text: &str, overrides: Vec<(String, String)>) -> Result<Config, String> {
    let source = scenario::Source {
        file: "drill".to_owned(),
        text: text.to_owned(),
        folder: ".".into(),
        overrides,
    };
    let plans = source.plans().map_err(|mistake| mistake.to_string())?;
    let plan = plans.first().ok_or("no hosts")?;
    let protocols = Protocols::of(&plan.scenario);
    if protocols.tcp().next().is_none() {
        let kind = protocols.names().join(", ");
        return Err(format!(
            "transport.kind is \"{kind}\", which is no TCP: a drill takes \"cubic\", \"reno\", \"dctcp\", \
             \"prague\", \"bbr\" and others of TCP"
        ));
    }
    let config = Config::new(&plan.scenario.transport).map_err(|bad| bad.to_string())?;
    config.on(&plan.scenario.host.usual).map_err(|bad| bad.to_string())
}

/// Flags as letters: E, W (CWR), A (AE).
fn flags(letters: &str) -> Flags {
    Flags::NONE
        .with_if(Flags::ECE, letters.contains('E'))
        .with_if(Flags::CWR, letters.contains('W'))
        .with_if(Flags::AE, letters.contains('A'))
}

fn letters(flags: Flags) -> &'static str {
    let has = |flag| flags.contains(flag);
    match (has(Flags::ECE), has(Flags::CWR), has(Flags::AE)) {
        (false, false, false) => "",
        (true, false, false) => "E",
        (false, true, false) => "W",
        (true, true, false) => "EW",
        (false, false, true) => "A",
        (true, false, true) => "EA",
        (false, true, true) => "WA",
        (true, true, true) => "EWA",
    }
}

#[pymethods]
impl Drill {
    /// An end whose settings are those of a scenario's hosts, under overrides.
    #[new]
    fn new(text: &str, overrides: Vec<(String, String)>) -> PyResult<Self> {
        Ok(Drill(drill::Drill::new(config(text, overrides).map_err(Mistake::new_err)?)))
    }

    /// Takes over the settings that the handshake has agreed on.
    fn agree(&mut self, text: &str, overrides: Vec<(String, String)>) -> PyResult<()> {
        self.0.agree(config(text, overrides).map_err(Mistake::new_err)?);
        Ok(())
    }

    /// Sends smaller segments from now on, as the settings say.
    fn shrink(&mut self, text: &str, overrides: Vec<(String, String)>, now: u64) -> PyResult<()> {
        let config = config(text, overrides).map_err(Mistake::new_err)?;
        self.0.shrink(config, Time::from_ps(now));
        Ok(())
    }

    /// Sends a SYN.
    fn connect(&mut self, now: u64) {
        self.0.connect(Time::from_ps(now));
    }

    /// Takes the SYN-ACK.
    fn connected(&mut self, window: u64, letters: &str, echo: Option<u64>, now: u64) {
        self.0.connected(window, flags(letters), echo.map(Time::from_ps), Time::from_ps(now));
    }

    /// Takes a SYN, which is answered again up to `retries` times.
    fn accept(&mut self, ecn: bool, retries: u32, now: u64) {
        self.0.accept(ecn, retries, Time::from_ps(now));
    }

    /// Takes the same SYN again.
    fn repeat(&mut self, now: u64) {
        self.0.repeat(Time::from_ps(now));
    }

    /// Sends an ACK for a segment that cannot be taken.
    fn answer(&mut self, now: u64) {
        self.0.answer(Time::from_ps(now));
    }

    /// Takes the answer to the SYN-ACK.
    fn accepted(&mut self, window: u64, ecn: bool, echo: Option<u64>, now: u64) {
        self.0.accepted(window, ecn, echo.map(Time::from_ps), Time::from_ps(now));
    }

    /// Writes to the stream; `ends`: a record ends there.
    fn write(&mut self, bytes: u64, more: bool, ends: bool, now: u64) {
        self.0.write(bytes, more, ends, Time::from_ps(now));
    }

    /// Sets when small segments wait.
    fn delay(&mut self, off: bool, cork: bool, push: bool, now: u64) {
        self.0.delay(Nagle { off, cork }, push, Time::from_ps(now));
    }

    /// Closes the stream.
    fn close(&mut self, now: u64) {
        self.0.close(Time::from_ps(now));
    }

    /// Takes a segment on the open connection.
    #[expect(clippy::too_many_arguments, reason = "the fields of a TCP segment")]
    fn arrive(
        &mut self,
        offset: u64,
        len: u32,
        fin: bool,
        ack: Option<u64>,
        window: u64,
        sacks: Vec<(u64, u64)>,
        letters: &str,
        marked: bool,
        echo: Option<u64>,
        no_space: bool,
        now: u64,
    ) {
        let (flags, echo) = (flags(letters), echo.map(Time::from_ps));
        let arrival =
            Arrival { offset, len, fin, ack, window, sacks, flags, marked, echo, no_space };
        self.0.arrive(&arrival, Time::from_ps(now));
    }

    /// When the next timer expires.
    fn next_timer(&self) -> Option<u64> {
        self.0.next_timer().map(Time::as_ps)
    }

    /// Lets the timers expire that are due.
    fn on_timer(&mut self, now: u64) {
        self.0.on_timer(Time::from_ps(now));
    }

    /// The segments sent since the last call.
    fn departures(&mut self) -> Vec<Sent> {
        let row = |sent: drill::Departure| {
            let kind = match sent.kind {
                Kind::Syn => "syn",
                Kind::Data => "data",
                Kind::Ack => "ack",
                Kind::Probe => "probe",
            };
            let ecn = match sent.ecn {
                Ecn::NotEct => 0,
                Ecn::Ect1 => 1,
                Ecn::Ect0 => 2,
                Ecn::Ce => 3,
            };
            let (at, flags) = (sent.at.as_ps(), letters(sent.flags));
            let (fin, sacks) = (sent.fin, sent.sacks);
            (kind, at, sent.offset, sent.len, fin, sent.ack, flags, sacks, ecn, sent.again)
        };
        self.0.departures().map(row).collect()
    }

    /// Bytes of the peer's stream that have come in order.
    #[getter]
    fn received(&self) -> u64 {
        self.0.received()
    }

    /// Next byte of the peer's stream that the host expects, a FIN among them.
    #[getter]
    fn expects(&self) -> u64 {
        self.0.expects()
    }

    /// End of what the host has sent.
    #[getter]
    fn sent_to(&self) -> u64 {
        self.0.sent_to()
    }

    /// Whether the connection has given up.
    #[getter]
    fn failed(&self) -> bool {
        self.0.failed()
    }

    /// The sender's state by `tcp_info`'s names.
    fn info(&self) -> BTreeMap<&'static str, u64> {
        let (info, reordering) = (self.0.info(), self.0.reordering());
        [
            ("tcpi_ca_state", info.ca_state as u64),
            ("tcpi_retransmits", info.retransmits.into()),
            ("tcpi_backoff", info.backoff.into()),
            ("tcpi_rto", info.rto_us),
            ("tcpi_snd_mss", info.snd_mss.into()),
            ("tcpi_unacked", info.unacked.into()),
            ("tcpi_sacked", info.sacked.into()),
            ("tcpi_lost", info.lost.into()),
            ("tcpi_retrans", info.retrans.into()),
            ("tcpi_total_retrans", info.total_retrans.into()),
            ("tcpi_rtt", info.rtt_us),
            ("tcpi_rttvar", info.rttvar_us),
            ("tcpi_min_rtt", info.min_rtt_us),
            ("tcpi_snd_ssthresh", info.snd_ssthresh.into()),
            ("tcpi_snd_cwnd", info.snd_cwnd.into()),
            ("tcpi_bytes_acked", info.bytes_acked),
            ("tcpi_notsent_bytes", info.notsent_bytes),
            ("tcpi_reordering", reordering.packets),
            ("tcpi_reord_seen", reordering.seen.into()),
        ]
        .into()
    }
}
