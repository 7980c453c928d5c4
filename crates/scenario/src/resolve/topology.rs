//! `[topology]`.

use super::links;
use crate::mistake::Mistake;
use crate::section::Section;
use switchbed_qdisc::units::Bytes;
use switchbed_spec::Topology;
use switchbed_spec::topology::{MAX_PORTS, MAX_SWITCH_PORTS};

pub(crate) fn resolve(section: Section<'_>, mtu: Bytes) -> Result<Topology, Mistake> {
    let kind: String = section.get("kind")?;
    let (topology, sizes) = match kind.as_str() {
        "star" => (star(&section)?, "hosts"),
        "dumbbell" => (dumbbell(&section)?, "right"),
        "parking-lot" => (parking_lot(&section)?, "switches"),
        "leaf-spine" => (leaf_spine(&section)?, "hosts_per_leaf"),
        "fat-tree" => (fat_tree(&section)?, "k"),
        kind => unreachable!("topology {kind}"),
    };
    let ports = topology.ports();
    if ports > MAX_PORTS {
        let why = format!("that makes {ports} ports with the hosts' own; at most {MAX_PORTS}");
        return Err(section.refuse(sizes, why));
    }
    let largest = topology.switch_groups().iter().map(|group| u64::from(group.ports)).max();
    if let Some(ports) = largest.filter(|&ports| ports > MAX_SWITCH_PORTS) {
        let why = format!("a switch would have {ports} ports; at most {MAX_SWITCH_PORTS}");
        return Err(section.refuse(sizes, why));
    }
    if topology.hosts() < 2 {
        return Err(section.refuse(sizes, "a network needs at least 2 hosts"));
    }
    section.close(&format!("kind = \"{kind}\""))?;
    links::check_all(&section, mtu)?;
    Ok(topology)
}

fn star(section: &Section<'_>) -> Result<Topology, Mistake> {
    Ok(Topology::Star {
        hosts: section.get("hosts")?,
        rate: section.get("rate")?,
        delay: section.get("delay")?,
    })
}

fn dumbbell(section: &Section<'_>) -> Result<Topology, Mistake> {
    let (rate, delay) = (section.get("rate")?, section.get("delay")?);
    Ok(Topology::Dumbbell {
        left: section.get("left")?,
        right: section.get("right")?,
        rate,
        delay,
        bottleneck_rate: section.get_or("bottleneck_rate", rate)?,
        bottleneck_delay: section.get_or("bottleneck_delay", delay)?,
    })
}

fn parking_lot(section: &Section<'_>) -> Result<Topology, Mistake> {
    let (rate, delay) = (section.get("rate")?, section.get("delay")?);
    Ok(Topology::ParkingLot {
        switches: section.get("switches")?,
        hosts_per_switch: section.get("hosts_per_switch")?,
        rate,
        delay,
        bottleneck_rate: section.get_or("bottleneck_rate", rate)?,
        bottleneck_delay: section.get_or("bottleneck_delay", delay)?,
    })
}

fn leaf_spine(section: &Section<'_>) -> Result<Topology, Mistake> {
    let (host_rate, host_delay) = (section.get("host_rate")?, section.get("host_delay")?);
    Ok(Topology::LeafSpine {
        leaves: section.get("leaves")?,
        spines: section.get("spines")?,
        hosts_per_leaf: section.get("hosts_per_leaf")?,
        host_rate,
        host_delay,
        fabric_rate: section.get_or("fabric_rate", host_rate)?,
        fabric_delay: section.get_or("fabric_delay", host_delay)?,
    })
}

fn fat_tree(section: &Section<'_>) -> Result<Topology, Mistake> {
    let k: u32 = section.get("k")?;
    if !k.is_multiple_of(2) {
        return Err(section.refuse("k", "a fat-tree's switches have an even number of ports"));
    }
    let (host_rate, host_delay) = (section.get("host_rate")?, section.get("host_delay")?);
    let aggregation_rate = section.get_or("aggregation_rate", host_rate)?;
    let aggregation_delay = section.get_or("aggregation_delay", host_delay)?;
    Ok(Topology::FatTree {
        k,
        host_rate,
        host_delay,
        aggregation_rate,
        aggregation_delay,
        core_rate: section.get_or("core_rate", aggregation_rate)?,
        core_delay: section.get_or("core_delay", aggregation_delay)?,
    })
}
