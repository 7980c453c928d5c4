//! `[topology]`.

use super::links;
use crate::mistake::Mistake;
use crate::section::Section;
use switchbed_spec::Topology;
use switchbed_spec::param::Params;
use switchbed_units::Bytes;

pub(crate) fn resolve(section: Section<'_>, mtu: Bytes) -> Result<Topology, Mistake> {
    let topology = Topology::from_values(&mut section.values()?);
    topology.fits().map_err(|unfit| section.unfit(unfit))?;
    section.close(&format!("kind = \"{}\"", topology.word()))?;
    links::check_all(&section, mtu)?;
    Ok(topology)
}
