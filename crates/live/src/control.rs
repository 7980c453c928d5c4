//! The control socket: a Unix socket that only its owner may open, where each line is a
//! request as JSON and is answered by one line.
//!
//! | request | answer |
//! | --- | --- |
//! | `{"stats": null}` | `{"ok": …}`: [`crate::Stats`] |
//! | `{"show": null}` | `{"ok": …}`: what the switch is set to |
//! | `{"set": ["key=value", …]}` | `{"ok": …, "notes": […]}`: what it is set to now, and what to say |
//! | `{"stop": null}` | `{"ok": null}` |
//! | `{"capture": {"ports": ["name", …], "way": "out", "snaplen": 128, "count": 9}}` | `{"ok": null}`, and pcapng until the client has sent its last byte |
//!
//! A request that cannot be done is answered by `{"error": "…"}`.

use crate::capture::{self, Asked, Reader, Way};
use crate::clock::Clock;
use crate::forward::Forwarder;
use crate::stats::Stats;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, listen, socket,
};
use nix::sys::stat::{Mode, fchmod};
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use switchbed_scenario::Live;
use switchbed_units::Span;

/// The loop looks for requests this often; a request waits as long at most.
const SLICE: Span = Span::from_ms(20);
/// Longest request in bytes; a client that sends more is disconnected.
const LONGEST: usize = 64 << 10;
/// Connections at most; of more, the one that has been silent longest is hung up on.
const GUESTS: usize = 32;
/// A client is disconnected after this long without sending a request or reading its answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// The captures' buffers are looked at this often.
const CAPTURING: Duration = Duration::from_millis(5);
/// Time for the last bytes of captures when the switch ends.
const LAST: Duration = Duration::from_secs(1);
/// Turns of writing to a client that reads, before others have theirs.
const TURNS: usize = 4;

/// Message about a port whose interface no longer exists. The rights to open another are given up.
pub const GONE: &str = "its interface is gone (deleted, or its namespace was): make it anew, and \
                        start the switch anew";

/// Makes a live switch's settings of the overrides typed since it began, with what must be said of
/// each in turn; or says what is wrong with them.
pub type Resolve<'a> = dyn Fn(&[String]) -> Result<(Live, Vec<String>), String> + Sync + 'a;

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Request {
    Stats(()),
    Show(()),
    Set(Vec<String>),
    Stop(()),
    Capture(Capture),
}

/// Request for a capture.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Capture {
    /// Names of ports; without them all.
    #[serde(default)]
    ports: Vec<String>,
    /// One direction; without it both.
    way: Option<Direction>,
    /// Bytes of each frame; without it all.
    snaplen: Option<u32>,
    count: Option<u64>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Direction {
    In,
    Out,
}

/// Request from the control thread to the loop.
enum Order {
    Stats(Sender<Stats>),
    /// Asks for the indices of ports whose interface no longer exists.
    Gone(Sender<Vec<usize>>),
    Set(Box<Live>, Sender<()>),
    /// Answered by `None` if there are too many captures.
    Capture(Asked, Sender<Option<Box<Reader>>>),
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
                // A plain file refuses connections too, and is not ours to remove.
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

    /// Waits for a connection or something said on one, a tenth of a second at most; answers
    /// whether there is a new one.
    fn wait(&self, guests: &[Guest]) -> bool {
        let mut fds = vec![PollFd::new(self.listener.as_fd(), PollFlags::POLLIN)];
        // A client that has closed its side is always ready to read, which would leave no sleep.
        let quiet = |guest: &&Guest| !(guest.over && guest.answer.is_empty());
        fds.extend(guests.iter().filter(quiet).map(|Guest { stream, answer, .. }| {
            let waits_for = if answer.is_empty() { PollFlags::POLLIN } else { PollFlags::POLLOUT };
            PollFd::new(stream.as_fd(), waits_for)
        }));
        let captures = guests.iter().any(|guest| guest.capture.is_some());
        let timeout = if captures { CAPTURING } else { Duration::from_millis(100) };
        let timeout = PollTimeout::try_from(timeout).unwrap_or(PollTimeout::ZERO);
        poll(&mut fds, timeout).is_ok() && fds[0].any().unwrap_or(false)
    }

    fn accept(&self) -> io::Result<Guest> {
        let (stream, _) = self.listener.accept()?;
        stream.set_nonblocking(true)?;
        let (said, answer) = (Vec::new(), Vec::new());
        let (over, moved, capture) = (false, Instant::now(), None);
        Ok(Guest { stream, said, answer, over, moved, capture })
    }
}

/// Connection of a client.
struct Guest {
    stream: UnixStream,
    /// Bytes received that are not answered yet.
    said: Vec<u8>,
    /// Bytes of the answer that are still to be sent.
    answer: Vec<u8>,
    /// No more will be said.
    over: bool,
    /// When something last came or went.
    moved: Instant,
    /// The capture that the connection is for from now on.
    capture: Option<Box<Reader>>,
}

impl Guest {
    /// Reads, answers and writes what can be without waiting.
    ///
    /// # Errors
    /// The connection is over.
    fn serve(&mut self, talk: &mut Talk<'_>) -> io::Result<()> {
        let mut piece = [0; 4096];
        while !self.over && self.said.len() <= LONGEST {
            match self.stream.read(&mut piece) {
                Ok(0) => self.over = true,
                Ok(n) => self.said.extend_from_slice(&piece[..n]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
            self.moved = Instant::now();
        }
        self.reply(talk)?;
        if let Some(capture) = &self.capture {
            // A client that does not read loses frames of its capture, and keeps the connection.
            let ends = capture.ended() && self.answer.is_empty();
            return if ends { Err(ErrorKind::ConnectionAborted.into()) } else { Ok(()) };
        }
        let ends = (self.over && self.answer.is_empty())
            || self.said.len() > LONGEST
            || self.moved.elapsed() > PATIENCE;
        if ends { Err(ErrorKind::ConnectionAborted.into()) } else { Ok(()) }
    }

    /// Answers the requests that are whole, one after the other.
    fn reply(&mut self, talk: &mut Talk<'_>) -> io::Result<()> {
        let mut turns = 0;
        loop {
            while !self.answer.is_empty() {
                match self.stream.write(&self.answer) {
                    Ok(n) => drop(self.answer.drain(..n)),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                    Err(error) => return Err(error),
                }
                self.moved = Instant::now();
            }
            if let Some(capture) = &mut self.capture {
                // A capture's client has no further requests.
                self.said.clear();
                if self.over {
                    capture.stop();
                }
                capture.read(&mut self.answer)?;
                turns += 1;
                if self.answer.is_empty() || turns > TURNS {
                    return Ok(());
                }
                continue;
            }
            let Some(end) = self.said.iter().position(|&byte| byte == b'\n') else {
                return Ok(());
            };
            let line: Vec<u8> = self.said.drain(..=end).collect();
            let answer = match serde_json::from_slice(&line) {
                Ok(request) => talk.answer(request, &mut self.capture),
                Err(error) => refusal(format!("this is no request: {error}")),
            };
            self.answer = answer.to_string().into_bytes();
            self.answer.push(b'\n');
        }
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
        scope.spawn(|| {
            answer_all(control, Talk { orders, resolve, stop, sets: Vec::new(), notes: 0, live })
        });
        let result = forward(forwarder, &inbox, stop, &mut each_slice);
        forwarder.end_captures();
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
                Order::Gone(answer) => drop(answer.send(forwarder.gone())),
                Order::Set(live, answer) => {
                    forwarder.set(*live);
                    let _ = answer.send(());
                }
                Order::Capture(asked, answer) => {
                    let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                    drop(answer.send(forwarder.capture(&asked, unix).map(Box::new)));
                }
            }
        }
        each_slice(forwarder);
    }
    Ok(())
}

/// State of the thread that answers.
struct Talk<'a> {
    orders: Sender<Order>,
    resolve: &'a Resolve<'a>,
    stop: &'a AtomicBool,
    /// Settings changed since the switch began, in order.
    sets: Vec<String>,
    /// How much was to be said of that.
    notes: usize,
    live: Live,
}

fn answer_all(control: &Control, mut talk: Talk<'_>) {
    let mut guests: Vec<Guest> = Vec::new();
    while !talk.stop.load(Relaxed) {
        if control.wait(&guests)
            && let Ok(guest) = control.accept()
        {
            guests.push(guest);
        }
        guests.retain_mut(|guest| guest.serve(&mut talk).is_ok());
        let silent = (0..guests.len()).filter(|&i| guests[i].capture.is_none());
        if guests.len() > GUESTS
            && let Some(longest) = silent.min_by_key(|&i| guests[i].moved)
        {
            guests.swap_remove(longest);
        }
    }
    // Last blocks of captures have the counts of what they lack.
    guests.retain(|guest| guest.capture.is_some());
    let end = Instant::now() + LAST;
    while !guests.is_empty() && Instant::now() < end {
        guests.retain_mut(|guest| guest.serve(&mut talk).is_ok());
        std::thread::sleep(CAPTURING);
    }
}

impl Talk<'_> {
    /// Does what is asked; a capture that begins is put at its place.
    fn answer(&mut self, request: Request, capture: &mut Option<Box<Reader>>) -> Value {
        let ended = || refusal("the switch has ended");
        match request {
            Request::Show(()) => {
                self.asked(Order::Gone).map_or_else(ended, |gone| self.shown(&gone))
            }
            Request::Stop(()) => {
                self.stop.store(true, Relaxed);
                json!({ "ok": null })
            }
            Request::Stats(()) => {
                self.asked(Order::Stats).map_or_else(ended, |stats| json!({ "ok": stats }))
            }
            Request::Capture(asked) => match self.capture(&asked) {
                Ok(reader) => {
                    *capture = Some(reader);
                    json!({ "ok": null })
                }
                Err(message) => refusal(message),
            },
            Request::Set(sets) => {
                let all: Vec<String> = self.sets.iter().chain(&sets).cloned().collect();
                let (live, notes) = match self.changed(&all) {
                    Ok(changed) => changed,
                    Err(message) => return refusal(message),
                };
                let Some(gone) = self.asked(Order::Gone) else { return ended() };
                let names = gone.iter().map(|&port| &live.port[port].name);
                let of_one = |name: &&String| {
                    let key = format!("port.{name}.");
                    sets.iter().any(|set| set.trim_start().starts_with(&key))
                };
                if let Some(name) = names.clone().find(of_one) {
                    return refusal(format!("port.{name}: {GONE}"));
                }
                let set = |answer| Order::Set(Box::new(live.clone()), answer);
                if self.asked(set).is_none() {
                    return ended();
                }
                // Notes are of all settings since the start; the client has had the earlier ones.
                let mut said = notes[self.notes..].to_vec();
                said.extend(names.map(|name| format!("port.{name}: {GONE}")));
                (self.sets, self.notes, self.live) = (all, notes.len(), live);
                let mut answer = self.shown(&gone);
                answer["notes"] = json!(said);
                answer
            }
        }
    }

    /// Begins a capture.
    fn capture(&self, asked: &Capture) -> Result<Box<Reader>, String> {
        let port = |name: &String| {
            let found = self.live.port.iter().position(|port| port.name == *name);
            found.map(|port| port as u16).ok_or_else(|| {
                let names: Vec<&str> = self.live.port.iter().map(|port| &*port.name).collect();
                format!("{name} names no port: there are {}", names.join(", "))
            })
        };
        let mut ports = asked.ports.iter().map(port).collect::<Result<Vec<_>, _>>()?;
        if ports.is_empty() {
            ports = (0..self.live.port.len() as u16).collect();
        }
        ports.sort_unstable();
        ports.dedup();
        let way = asked.way.map(|way| match way {
            Direction::In => Way::In,
            Direction::Out => Way::Out,
        });
        let snaplen = asked.snaplen.map_or(crate::device::LONGEST, |bytes| bytes as usize);
        let asked = Asked { ports, way, snaplen, count: asked.count };
        match self.asked(|answer| Order::Capture(asked, answer)) {
            None => Err("the switch has ended".to_owned()),
            Some(None) => Err(format!("{} captures run: end one", capture::MOST)),
            Some(Some(reader)) => Ok(reader),
        }
    }

    /// Sends a request to the loop and waits for its answer. `None`: the loop has ended.
    fn asked<T>(&self, order: impl FnOnce(Sender<T>) -> Order) -> Option<T> {
        let (answer, said) = channel();
        let _ = self.orders.send(order(answer));
        said.recv().ok()
    }

    /// Present settings of the switch, with the ports whose interface no longer exists.
    fn shown(&self, gone: &[usize]) -> Value {
        let mut shown = json!({ "ok": self.live });
        gone.iter().for_each(|&port| shown["ok"]["port"][port]["gone"] = json!(true));
        shown
    }

    /// The settings with all that was set; refuses what cannot change while it runs.
    fn changed(&self, sets: &[String]) -> Result<(Live, Vec<String>), String> {
        let (live, notes) = (self.resolve)(sets)?;
        let fixed = |live: &Live| {
            let ports = live.port.iter();
            let ports = ports.map(|p| {
                (p.name.clone(), p.attach.clone(), p.host_rate, p.pcap.clone(), p.faults.clone())
            });
            let ports: Vec<_> = ports.collect();
            let cards: Vec<_> = live.port.iter().map(|port| (port.reaction, port.pfc)).collect();
            (
                (ports, cards, live.reaction),
                live.live.mtu,
                live.live.realtime,
                live.live.socket.clone(),
                live.live.seed,
            )
        };
        if fixed(&live) != fixed(&self.live) {
            let message = "names, devices, host rates, reaction points, pfc, pcap files and faults \
                           of ports, live.mtu, live.realtime, live.socket and live.seed cannot \
                           change while the switch runs: start it anew";
            return Err(message.to_owned());
        }
        Ok((live, notes))
    }
}

fn refusal(why: impl Into<String>) -> Value {
    json!({ "error": why.into() })
}
