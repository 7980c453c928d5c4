//! Bounds of a network's size, and of a link's rate and delay. A packet must be at the other end before
//! long, since the simulator's event queue looks some seconds ahead.

use switchbed_config::mistake::Mistake;
use switchbed_config::param::{ParamKind, count};
use switchbed_config::section::Section;
use switchbed_units::{Bytes, PS_PER_S, Rate, Span};

/// Most ports of a network, hosts' own among them: gigabytes, and two and a half times the largest
/// fat-tree that is run.
pub const MAX_PORTS: u64 = (1 << 20) - 1;
/// Most ports of a switch: a packet notes in 16 bits by which it came in. No number of switches
/// may be greater, either, so that no product of two overflows.
pub const MAX_SWITCH_PORTS: u64 = (1 << 16) - 1;
/// Most hosts of a topology: each has a port, and its switch has one for it.
pub const MAX_HOSTS: u64 = MAX_PORTS / 2;
/// The longest delay of a link, or of a host, and the longest that a packet's transmission
/// takes: the simulator's event queue looks 17.6 s ahead.
pub const MAX_WAY: Span = Span::from_ms(5_000);
pub(super) const SOME: ParamKind = count(1, MAX_SWITCH_PORTS);

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
