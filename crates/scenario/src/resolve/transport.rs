//! `[transport]`.

use crate::mistake::Mistake;
use crate::section::Section;
use crate::tree::At;
use switchbed_qdisc::units::{Bytes, Span};
use switchbed_spec::{
    CongestionControl, Host, LossHalves, Restart, RttSampling, Transport, Warm, WindowCut,
};

/// The transport, and where `warm` was written.
pub(crate) fn resolve(section: Section<'_>, host: &Host) -> Result<(Transport, At), Mistake> {
    let kind: String = section.get("kind")?;
    let control = match kind.as_str() {
        "dctcp" => CongestionControl::Dctcp {
            g: section.get("g")?,
            alpha_start: section.get("alpha_start")?,
        },
        "cubic" => CongestionControl::Cubic {
            c: section.get("c")?,
            beta: section.get("beta")?,
            fast_convergence: section.get("fast_convergence")?,
            reno_friendly: section.get("reno_friendly")?,
        },
        "reno" => CongestionControl::Reno,
        "udp" => CongestionControl::Udp,
        "ecn-star" | "ecn*" => CongestionControl::EcnStar,
        word => unreachable!("kind {word}"),
    };
    match control {
        CongestionControl::Dctcp { g: 0.0, .. } => {
            return Err(section.refuse("g", "a weight is greater than 0"));
        }
        CongestionControl::Cubic { c: 0.0, .. } => {
            return Err(section.refuse("c", "with a steepness of 0 the window would not grow"));
        }
        CongestionControl::Cubic { beta, .. } if beta == 0.0 || beta == 1.0 => {
            let why = "a cut leaves more than 0 and less than 1 of the window";
            return Err(section.refuse("beta", why));
        }
        _ => {}
    }
    let (mss, header) = segment(&section, host.mtu)?;
    let receive_window: u32 = section.get("receive_window")?;
    // SACK blocks count their distance from the ACK in 32 bits.
    let most = u64::from(u32::MAX) / mss.get();
    if u64::from(receive_window) > most {
        let why = format!("with an mss of {mss} it must be at most {most}pkt");
        return Err(section.refuse("receive_window", why));
    }
    let [rto_initial, rto_min, rto_max] = timeouts(&section)?;
    let rtt_sampling = match section.get::<String>("rtt_sampling")?.as_str() {
        "every-ack" => RttSampling::EveryAck,
        "one-at-a-time" => RttSampling::OneAtATime,
        word => unreachable!("rtt_sampling {word}"),
    };
    let restart = match section.get::<String>("restart")?.as_str() {
        "keep" => Restart::Keep,
        "after-rto" => Restart::AfterRto,
        "after-unclamped-rto" => Restart::AfterUnclampedRto,
        word => unreachable!("restart {word}"),
    };
    let loss_halves = match section.get::<String>("loss_halves")?.as_str() {
        "flight" => LossHalves::Flight,
        "window" => LossHalves::Window,
        word => unreachable!("loss_halves {word}"),
    };
    let cut = match section.get::<String>("cut")?.as_str() {
        "exact" => WindowCut::Exact,
        "whole-packets" => WindowCut::WholePackets,
        word => unreachable!("cut {word}"),
    };
    let transport = Transport {
        control,
        mss,
        header,
        initial_window: section.get("initial_window")?,
        initial_ssthresh: section.get_or("initial_ssthresh", receive_window)?,
        receive_window,
        rto_initial,
        rto_min,
        rto_max,
        ack_every: section.get("ack_every")?,
        ack_delay: section.get("ack_delay")?,
        sack_blocks: section.get("sack_blocks")?,
        rtt_sampling,
        restart,
        grow_when_app_limited: section.get("grow_when_app_limited")?,
        loss_halves,
        cut,
        ecn: section.get("ecn")?,
        // RFC 8257, section 3.5, sets it; RFC 3168, section 6.1.1, forbids it.
        ecn_control: section.get_or("ecn_control", kind == "dctcp")?,
        ecn_acks: section.get("ecn_acks")?,
        ack_class_follows: section.get("ack_class_follows")?,
        timeout_after_cut_keeps_ssthresh: section.get("timeout_after_cut_keeps_ssthresh")?,
        grow_on_repeated_ece: section.get("grow_on_repeated_ece")?,
        warm: warm(&section)?,
    };
    let warm_at = super::written(&section, "warm");
    section.close(&format!("kind = \"{kind}\""))?;
    Ok((transport, warm_at))
}

/// Payload and headers of a full segment.
fn segment(section: &Section<'_>, mtu: Bytes) -> Result<(Bytes, Bytes), Mistake> {
    let header: Bytes = section.get("header")?;
    if header >= mtu {
        return Err(section.refuse("header", format!("it must be less than host.mtu, {mtu}")));
    }
    let mss: Bytes = section.get_or("mss", mtu - header)?;
    if mss == Bytes::ZERO {
        return Err(section.refuse("mss", "a segment carries at least 1 byte"));
    }
    if mss > mtu - header {
        let why =
            format!("with a header of {header} it must be at most {} (host.mtu)", mtu - header);
        return Err(section.refuse("mss", why));
    }
    Ok((mss, header))
}

/// The retransmission timeout before the first sample, its floor, its ceiling.
fn timeouts(section: &Section<'_>) -> Result<[Span; 3], Mistake> {
    let [initial, min, max] = ["rto_initial", "rto_min", "rto_max"].map(|key| section.get(key));
    let (initial, min, max): (Span, Span, Span) = (initial?, min?, max?);
    for (key, rto) in [("rto_initial", initial), ("rto_min", min)] {
        if rto == Span::ZERO {
            return Err(section.refuse(key, "a timeout is longer than 0"));
        }
        if rto > max {
            return Err(section.refuse(key, format!("it must be at most rto_max, {max}")));
        }
    }
    Ok([initial, min, max])
}

fn warm(section: &Section<'_>) -> Result<Option<Warm>, Mistake> {
    let Some(warm) = section.inner("warm")? else { return Ok(None) };
    let srtt = warm.get("srtt")?;
    if srtt == Span::ZERO {
        return Err(warm.refuse("srtt", "an RTT is longer than 0"));
    }
    Ok(Some(Warm { cwnd: warm.get("cwnd")?, srtt }))
}
