//! `[transport]`.

use crate::mistake::Mistake;
use crate::section::Section;
use crate::tree::At;
use switchbed_spec::{CongestionControl, Host, Transport};

/// The transport, and where `warm` was written.
pub(crate) fn resolve(section: Section<'_>, host: &Host) -> Result<(Transport, At), Mistake> {
    let values = section.values()?;
    let kind: String = section.get(CongestionControl::KEY)?;
    let transport = Transport::of(values, host.mtu);
    let transport = transport.map_err(|unfit| section.unfit(unfit))?;
    let warm_at = super::written(&section, Transport::KEY.warm);
    section.close(&format!("kind = \"{kind}\""))?;
    Ok((transport, warm_at))
}
