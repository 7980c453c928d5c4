//! The devices that a live switch's file names.

use crate::device::{Faulty, Paced, PacketSocket, Reacting, Recorder, Tap};
use crate::forward::AnyDevice;
use crate::random::Stream;
use crate::switch::pace;
use std::io;
use std::path::Path;
use switchbed_scenario::Live;
use switchbed_scenario::live::Attach;

/// Opens a port's device, with what stands around it.
///
/// # Errors
/// The system's, with what was to be opened.
pub fn device(live: &Live, port: usize) -> io::Result<AnyDevice> {
    // Of each port its own, whatever stands around it.
    let stream = |kind: u64| Stream::new(live.live.seed, 1 + port as u64 + (kind << 32));
    let port = &live.port[port];
    let bucket = pace(live, port).bucket;
    let named =
        |what: &str, error: io::Error| io::Error::new(error.kind(), format!("{what}: {error}"));
    let name = &port.name;
    let mut device: AnyDevice = match port.attach {
        Attach::Tap { .. } => Box::new(
            Tap::create(name, port.offload)
                .map_err(|error| named(&format!("TAP {name}"), error))?,
        ),
        Attach::Interface => {
            let opened = PacketSocket::open(name, live.live.mtu.get() as usize, port.offload);
            Box::new(opened.map_err(|error| named(&format!("interface {name}"), error))?)
        }
    };
    // From the host outwards: its card, its line, the trace, and then faults, which are on the way.
    if let Some(reaction) = live.reaction.filter(|_| port.reaction) {
        let line = port.host_rate.unwrap_or(port.rate);
        device = Box::new(Reacting::new(device, reaction, live.live.classes, line, stream(1)));
    }
    if let Some(rate) = port.host_rate {
        device = Box::new(Paced::new(device, rate, bucket));
    }
    if let Some(pcap) = &port.pcap {
        let recorder = Recorder::create(device, Path::new(pcap));
        device = Box::new(recorder.map_err(|error| named(pcap, error))?);
    }
    if !port.faults.none() {
        device = Box::new(Faulty::new(device, &port.faults, stream(0)));
    }
    Ok(device)
}
