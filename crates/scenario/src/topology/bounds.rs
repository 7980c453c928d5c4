//! Bounds of a link's rate and delay. A packet must be at the other end before long, since the
//! simulator's event queue looks some seconds ahead.

use crate::topology::MAX_WAY;
use switchbed_config::mistake::Mistake;
use switchbed_config::param::ParamKind;
use switchbed_config::section::Section;
use switchbed_units::{Bytes, PS_PER_S, Rate, Span};

/// Every rate and delay that the section gives.
pub(crate) fn check_all(section: &Section<'_>, mtu: Bytes) -> Result<(), Mistake> {
    for param in section.keys().iter().filter(|param| section.given(param.name).is_some()) {
        match param.kind {
            ParamKind::Rate => rate(section, param.name, mtu).map(drop)?,
            ParamKind::Time | ParamKind::Wait => delay(section, param.name).map(drop)?,
            _ => {}
        }
    }
    Ok(())
}

/// A rate, at which a packet must not take too long.
pub(crate) fn rate(section: &Section<'_>, key: &str, mtu: Bytes) -> Result<Rate, Mistake> {
    let rate: Rate = section.get(key)?;
    let bits_ps = 8 * PS_PER_S * mtu.get();
    if bits_ps.div_ceil(rate.as_bps()) <= MAX_WAY.as_ps() {
        return Ok(rate);
    }
    let least = Rate::from_bps(bits_ps.div_ceil(MAX_WAY.as_ps()));
    let why = format!("a packet of host.mtu, {mtu}, may take {MAX_WAY}: at least {least}");
    Err(section.refuse(key, why))
}

/// A delay of a link or a host.
pub(crate) fn delay(section: &Section<'_>, key: &str) -> Result<Span, Mistake> {
    let delay: Span = section.get(key)?;
    match delay <= MAX_WAY {
        true => Ok(delay),
        false => Err(section.refuse(key, format!("it must be at most {MAX_WAY}"))),
    }
}
