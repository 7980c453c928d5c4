//! The control socket: a Unix socket that only its owner may open, where each line is a
//! request as JSON and is answered by one line.
//!
//! | request | answer |
//! | --- | --- |
//! | `{"stats": null}` | `{"ok": …}`: [`crate::Stats`] |
//! | `{"show": null}` | `{"ok": …}`: what the switch is set to |
//! | `{"set": ["key=value", …]}` | `{"ok": …}`: what it is set to now |
//! | `{"stop": null}` | `{"ok": null}` |
//!
//! What cannot be done is answered by `{"error": "…"}`.

use crate::clock::Clock;
use crate::forward::Forwarder;
use crate::stats::Stats;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, listen, socket,
};
use nix::sys::stat::{Mode, fchmod};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use switchbed_qdisc::units::Span;
use switchbed_spec::Live;

/// The loop looks for requests this often; a request waits as long at most.
const SLICE: Span = Span::from_ms(20);
/// The longest request.
const LONGEST: u64 = 64 << 10;

/// Makes a live switch's settings of the overrides typed since it began, or says what is
/// wrong with them.
pub type Resolve<'a> = dyn Fn(&[String]) -> Result<Live, String> + Sync + 'a;

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Request {
    Stats(()),
    Show(()),
    Set(Vec<String>),
    Stop(()),
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Ok(serde_json::Value),
    Error(String),
}

/// What the loop is asked to do.
enum Order {
    Stats(Sender<Stats>),
    Set(Box<Live>, Sender<()>),
}

/// The socket; its file is removed with it.
pub struct Control {
    listener: UnixListener,
    path: PathBuf,
}

impl Control {
    /// Opens the socket at a path. What a switch that was killed has left there is
    /// replaced.
    ///
    /// # Errors
    /// A switch answers there, something else is there, or it cannot be written.
    pub fn bind(path: &Path) -> io::Result<Control> {
        match UnixStream::connect(path) {
            Ok(_) => {
                let message = "a switch that runs has this control socket";
                return Err(io::Error::new(ErrorKind::AddrInUse, message));
            }
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                // So does a plain file answer, which is not ours to remove.
                if std::fs::symlink_metadata(path)?.file_type().is_socket() {
                    std::fs::remove_file(path)?;
                }
            }
            Err(_) => {}
        }
        let kind = (AddressFamily::Unix, SockType::Stream);
        let socket = socket(kind.0, kind.1, SockFlag::SOCK_CLOEXEC, None)?;
        // Before it has a name: nobody else ever finds it open to them.
        fchmod(&socket, Mode::S_IRUSR | Mode::S_IWUSR)?;
        bind(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
        listen(&socket, Backlog::new(8)?)?;
        let listener = UnixListener::from(socket);
        listener.set_nonblocking(true)?;
        Ok(Control { listener, path: path.to_owned() })
    }

    /// Waits for a connection, a tenth of a second at most.
    fn accept(&self) -> Option<UnixStream> {
        let mut fds = [PollFd::new(self.listener.as_fd(), PollFlags::POLLIN)];
        poll(&mut fds, PollTimeout::from(100u8)).ok()?;
        let (stream, _) = self.listener.accept().ok()?;
        stream.set_nonblocking(false).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(2))).ok()?;
        stream.set_write_timeout(Some(Duration::from_secs(2))).ok()?;
        Some(stream)
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Forwards until `stop`, and does what the control socket asks.
///
/// # Errors
/// The clock's.
pub fn serve<C: Clock>(
    forwarder: &mut Forwarder<C>,
    control: &Control,
    resolve: &Resolve<'_>,
    stop: &AtomicBool,
    mut each_slice: impl FnMut(&mut Forwarder<C>),
) -> io::Result<()> {
    // Timers of ordinary threads are 50 us late on purpose, to save power.
    nix::sys::prctl::set_timerslack(1)?;
    let (orders, inbox) = channel();
    let live = forwarder.live().clone();
    std::thread::scope(|scope| {
        scope.spawn(|| answer_all(control, Talk { orders, resolve, stop, sets: Vec::new(), live }));
        let result = forward(forwarder, &inbox, stop, &mut each_slice);
        stop.store(true, Relaxed);
        // Whoever waits for an answer must not wait for ever.
        drop(inbox);
        result
    })
}

fn forward<C: Clock>(
    forwarder: &mut Forwarder<C>,
    inbox: &Receiver<Order>,
    stop: &AtomicBool,
    each_slice: &mut impl FnMut(&mut Forwarder<C>),
) -> io::Result<()> {
    while !stop.load(Relaxed) {
        let until = forwarder.now() + SLICE;
        forwarder.run_until(until)?;
        for order in inbox.try_iter() {
            match order {
                Order::Stats(answer) => drop(answer.send(forwarder.stats())),
                Order::Set(live, answer) => {
                    forwarder.set(*live);
                    let _ = answer.send(());
                }
            }
        }
        each_slice(forwarder);
    }
    Ok(())
}

/// What the thread that answers knows.
struct Talk<'a> {
    orders: Sender<Order>,
    resolve: &'a Resolve<'a>,
    stop: &'a AtomicBool,
    /// What was set since the switch began.
    sets: Vec<String>,
    live: Live,
}

fn answer_all(control: &Control, mut talk: Talk<'_>) {
    while !talk.stop.load(Relaxed) {
        // One at a time; who says nothing for two seconds is hung up on.
        if let Some(stream) = control.accept() {
            let _ = talk.converse(&stream);
        }
    }
}

impl Talk<'_> {
    fn converse(&mut self, stream: &UnixStream) -> io::Result<()> {
        let mut lines = BufReader::new(stream.take(LONGEST)).lines();
        while !self.stop.load(Relaxed)
            && let Some(line) = lines.next()
        {
            let answer = match serde_json::from_str(&line?) {
                Ok(request) => self.answer(request),
                Err(error) => Answer::Error(format!("this is no request: {error}")),
            };
            let mut text = serde_json::to_string(&answer)?;
            text.push('\n');
            let mut stream = stream;
            stream.write_all(text.as_bytes())?;
        }
        Ok(())
    }

    fn answer(&mut self, request: Request) -> Answer {
        let ended = || Answer::Error("the switch has ended".to_owned());
        match request {
            Request::Show(()) => self.shown(),
            Request::Stop(()) => {
                self.stop.store(true, Relaxed);
                Answer::Ok(serde_json::Value::Null)
            }
            Request::Stats(()) => {
                let (answer, stats) = channel();
                let _ = self.orders.send(Order::Stats(answer));
                stats.recv().map_or_else(|_| ended(), |stats| ok(&stats))
            }
            Request::Set(sets) => {
                let all: Vec<String> = self.sets.iter().chain(&sets).cloned().collect();
                let live = match self.changed(&all) {
                    Ok(live) => live,
                    Err(message) => return Answer::Error(message),
                };
                let (answer, done) = channel();
                let _ = self.orders.send(Order::Set(Box::new(live.clone()), answer));
                if done.recv().is_err() {
                    return ended();
                }
                (self.sets, self.live) = (all, live);
                self.shown()
            }
        }
    }

    fn shown(&self) -> Answer {
        ok(&self.live)
    }

    /// The settings with all that was set; refuses what cannot change while it runs.
    fn changed(&self, sets: &[String]) -> Result<Live, String> {
        let live = (self.resolve)(sets)?;
        let fixed = |live: &Live| {
            let ports = live.port.iter();
            let ports = ports
                .map(|p| (p.name.clone(), p.attach.clone(), p.host_rate, p.pcap.clone(), p.faults));
            let ports: Vec<_> = ports.collect();
            let reacting: Vec<bool> = live.port.iter().map(|port| port.reaction).collect();
            (
                (ports, reacting, live.reaction),
                live.live.mtu,
                live.live.realtime,
                live.live.socket.clone(),
                live.live.seed,
            )
        };
        if fixed(&live) != fixed(&self.live) {
            let message = "names, devices, host rates, reaction points, pcap files and faults of \
                           ports, live.mtu, live.realtime, live.socket and live.seed cannot \
                           change while the switch runs: start it anew";
            return Err(message.to_owned());
        }
        Ok(live)
    }
}

fn ok(value: &impl Serialize) -> Answer {
    match serde_json::to_value(value) {
        Ok(value) => Answer::Ok(value),
        Err(error) => Answer::Error(error.to_string()),
    }
}
