//! The loop: sleep until a frame comes or something is due; settle, deliver, receive.

use crate::capture::{Asked, Reader};
use crate::clock::Clock;
use crate::device::{Device, LONGEST, Received};
use crate::stats::{Lateness, Sample, Stats};
use crate::switch::Switch;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;
use switchbed_scenario::Live;
use switchbed_units::{Span, Time};

/// Packets read from one device before the others have their turn.
const BUDGET: usize = 64;
/// A device that failed is left alone for so long.
const REST: Span = Span::from_ms(100);

/// A device that a port may own and hand to another thread.
pub type AnyDevice = Box<dyn Device + Send>;

/// A switch, its devices and a clock.
pub struct Forwarder<C> {
    switch: Switch,
    devices: Vec<Attached>,
    clock: C,
    next_sample: Time,
    samples: Vec<Sample>,
    lateness: Lateness,
    frame: Vec<u8>,
    ready: Vec<bool>,
}

struct Attached {
    device: AnyDevice,
    /// End of the rest that a device gets after an error.
    rests_until: Time,
    /// Whether the descriptor had nothing to read.
    silent: bool,
    errors: u64,
    gone: bool,
}

/// When the first sample is due.
fn first_sample(now: Time, live: &Live) -> Time {
    live.live.series_every.map_or(Time::NEVER, |_| now)
}

impl<C: Clock> Forwarder<C> {
    /// Joins a switch with a device for each of its ports.
    pub fn new(switch: Switch, devices: Vec<AnyDevice>, clock: C) -> Self {
        assert_eq!(switch.live().port.len(), devices.len(), "a device for each port");
        let attach = |device| Attached {
            device,
            rests_until: Time::ZERO,
            silent: false,
            errors: 0,
            gone: false,
        };
        Forwarder {
            next_sample: first_sample(Time::ZERO, switch.live()),
            switch,
            devices: devices.into_iter().map(attach).collect(),
            clock,
            samples: Vec::new(),
            lateness: Lateness::default(),
            frame: Vec::with_capacity(LONGEST + 1),
            ready: Vec::new(),
        }
    }

    /// Returns the settings in force.
    pub fn live(&self) -> &Live {
        self.switch.live()
    }

    /// Sets the switch to something else, which has the same ports.
    pub fn set(&mut self, live: Live) {
        let now = self.clock.now();
        self.switch.set(now, live);
        self.next_sample = first_sample(now, self.switch.live());
    }

    /// Ports whose interface is no more, by number. They are not asked again.
    pub fn gone(&mut self) -> Vec<usize> {
        for attached in self.devices.iter_mut().filter(|attached| attached.errors > 0) {
            if !attached.gone && attached.device.condition().gone {
                (attached.gone, attached.rests_until) = (true, Time::NEVER);
            }
        }
        (0..self.devices.len()).filter(|&port| self.devices[port].gone).collect()
    }

    /// Returns the time since the start.
    pub fn now(&mut self) -> Time {
        self.clock.now()
    }

    /// The samples taken since they were last asked for.
    pub fn take_samples(&mut self) -> Vec<Sample> {
        std::mem::take(&mut self.samples)
    }

    /// Begins a capture; `unix` is the time since 1970. `None`: there are too many.
    pub fn capture(&mut self, asked: &Asked, unix: Duration) -> Option<Reader> {
        let now = Duration::from_nanos(self.clock.now().as_ps() / 1000);
        self.switch.capture(asked, unix.saturating_sub(now))
    }

    /// Ends all captures.
    pub fn end_captures(&mut self) {
        self.switch.end_captures();
    }

    /// The switch as it is.
    pub fn stats(&mut self) -> Stats {
        let now = self.clock.now();
        let mut stats = self.switch.stats(now);
        stats.wakes = self.lateness.wakes();
        for (port, attached) in stats.ports.iter_mut().zip(&mut self.devices) {
            port.device_errors = attached.errors;
            let condition = attached.device.condition();
            port.host_drops = condition.lost;
            port.overruns = condition.overruns;
            port.received_frames = condition.received;
            port.sent_frames = condition.sent;
            port.bad_offloads = condition.malformed;
            port.limiters = condition.limiters;
            port.gone = condition.gone;
        }
        stats
    }

    /// Forwards until a time.
    ///
    /// # Errors
    /// The clock's. What a device says is counted, and the device left alone for a while.
    pub fn run_until(&mut self, until: Time) -> io::Result<()> {
        loop {
            // Departures first: a frame that is due must not wait for frames that come.
            let now = self.clock.now();
            self.emit(now);
            if now >= until {
                self.switch.turn_captures();
                return Ok(());
            }
            let due = self.switch.next().min(self.next_sample);
            let resting =
                |a: &Attached| if a.rests_until > now { a.rests_until } else { a.device.due() };
            let devices = self.devices.iter().map(resting).min().unwrap_or(Time::NEVER);
            let deadline = due.min(devices).min(until);
            if deadline > now {
                self.sleep(now, deadline)?;
            }
            let now = self.clock.now();
            // Only where the switch itself set the deadline: a device's time says nothing about lateness.
            if due <= now && deadline == due {
                self.lateness.count(now - due);
            }
            self.receive();
        }
    }

    fn sleep(&mut self, now: Time, deadline: Time) -> io::Result<()> {
        let mut fds: Vec<BorrowedFd<'_>> = Vec::with_capacity(self.devices.len());
        let mut polled = Vec::with_capacity(self.devices.len());
        for (i, attached) in self.devices.iter().enumerate() {
            // A device that rests would wake the loop at once with its error.
            if let Some(fd) = attached.device.fd().filter(|_| attached.rests_until <= now) {
                fds.push(fd);
                polled.push(i);
            }
        }
        self.clock.wait(&fds, deadline, &mut self.ready)?;
        for (&i, &ready) in polled.iter().zip(&self.ready) {
            self.devices[i].silent = !ready;
        }
        Ok(())
    }

    /// Settles, delivers and samples what is due.
    fn emit(&mut self, now: Time) {
        self.switch.settle(now);
        let devices = &mut self.devices;
        self.switch.deliver(now, |port, frame| {
            let attached = &mut devices[port as usize];
            if attached.device.send(now, frame).is_err() {
                attached.errors += 1;
            }
        });
        for attached in &mut self.devices {
            attached.errors += attached.device.flush();
        }
        if self.next_sample <= now {
            self.switch.sample(now, &mut self.samples);
            self.next_sample = match self.switch.live().live.series_every {
                // Missed samples are skipped, and the next one is at a whole multiple again.
                Some(every) => {
                    self.next_sample
                        + every * (1 + (now - self.next_sample).as_ps() / every.as_ps())
                }
                None => Time::NEVER,
            };
        }
    }

    /// Reads what the devices that are ready hold.
    fn receive(&mut self) {
        let now = self.clock.now();
        for (port, attached) in self.devices.iter_mut().enumerate() {
            let silent = std::mem::take(&mut attached.silent) && attached.device.due() > now;
            if silent || attached.rests_until > now {
                continue;
            }
            // Bounded, so that a flood at one port does not keep the others waiting.
            for _ in 0..BUDGET {
                let now = self.clock.now();
                match attached.device.receive(now, &mut self.frame) {
                    Ok(Received::Frame) => self.switch.receive(now, port as u16, &self.frame),
                    Ok(Received::Oversized) => self.switch.receive_oversized(port as u16),
                    Ok(Received::Nothing) => break,
                    Err(_) => {
                        attached.errors += 1;
                        attached.rests_until = now + REST;
                        break;
                    }
                }
            }
        }
    }
}
