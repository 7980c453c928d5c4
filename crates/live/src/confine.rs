//! Confinement of a running switch, in case a frame or a request ever takes it over: it keeps its
//! open devices and nothing else. It becomes a user that owns nothing, gives up every capability
//! and may gain no right by a program. System calls are limited to those that forwarding takes
//! (seccomp).

use caps::CapSet::{Ambient, Bounding, Effective, Inheritable, Permitted};
use caps::Capability;
use nix::libc;
use nix::sys::prctl::set_no_new_privs;
use nix::unistd::{Uid, User, geteuid, setgroups, setresgid, setresuid};
use seccompiler::SeccompCmpArgLen::Dword;
use seccompiler::{
    SeccompAction, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter_all_threads,
};
use std::collections::BTreeMap;
use std::fmt;
use std::io;

/// Whom a switch of root's becomes: the first that there is.
const USERS: [&str; 2] = ["switchbed", "nobody"];

/// The user that a switch becomes; `None` if it stays who it is, being no root or having no right to.
pub fn user() -> Option<User> {
    use Capability::{CAP_CHOWN, CAP_SETGID, CAP_SETUID};
    let may = |&right: &Capability| caps::has_cap(None, Effective, right).unwrap_or(false);
    // A folder for results is handed over too.
    let able = geteuid().is_root() && [CAP_SETUID, CAP_SETGID, CAP_CHOWN].iter().all(may);
    let found = || USERS.iter().find_map(|name| User::from_name(name).ok().flatten());
    able.then(found).flatten().filter(|user| !user.uid.is_root())
}

/// Result of confinement: the user taken, and whether system calls are filtered.
#[derive(Debug)]
pub struct Confined {
    user: Result<String, Uid>,
    /// Why system calls are not filtered.
    unfiltered: Option<String>,
}

impl fmt::Display for Confined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.user {
            Ok(name) => write!(f, "as {name}")?,
            Err(uid) if uid.is_root() => f.write_str("still as root, without its capabilities")?,
            Err(uid) => write!(f, "as user {uid}")?,
        }
        match &self.unfiltered {
            None => f.write_str(", system calls filtered"),
            Some(why) => write!(f, ", system calls not filtered ({why})"),
        }
    }
}

/// Confines this process for good: open devices stay open, but no more can be opened. Threads that
/// it has started already lose what they have with the user; where that stays, there must be none.
///
/// # Errors
/// The system's. A kernel that filters no system calls is none.
pub fn confine(user: Option<&User>) -> io::Result<Confined> {
    leave_none_to_heirs()?;
    if let Some(user) = user {
        // In this order: without user 0 neither groups nor the group may be changed.
        setgroups(&[])?;
        setresgid(user.gid, user.gid, user.gid)?;
        setresuid(user.uid, user.uid, user.uid)?;
    }
    drop_capabilities()?;
    set_no_new_privs()?;
    let user = user.map(|user| user.name.clone()).ok_or_else(geteuid);
    // This filter first, since the second forbids to install another; a call gets the stricter
    // answer.
    let filtered = without_clone3().and_then(|()| allow(&[CALLS, OLD_CALLS], ARGUED));
    Ok(Confined { user, unfiltered: filtered.err().map(|error| error.to_string()) })
}

/// Confines the process that removes the control socket once the switch has ended. It stays who it
/// is, as the socket's folder may be that user's alone, and can read what it has open, look at files
/// and remove them.
///
/// # Errors
/// The system's. A kernel that filters no system calls is none.
pub fn confine_remover() -> io::Result<()> {
    drop_capabilities()?;
    set_no_new_privs()?;
    let memory =
        ARGUED.iter().filter(|argued| [libc::SYS_mmap, libc::SYS_mprotect].contains(&argued.0));
    let _ = allow(&[REMOVER_CALLS, OLD_REMOVER_CALLS], &memory.copied().collect::<Vec<_>>());
    Ok(())
}

/// Gives up the capabilities of this thread and of those it starts.
fn drop_capabilities() -> io::Result<()> {
    leave_none_to_heirs()?;
    for set in [Effective, Permitted] {
        caps::clear(None, set).map_err(io::Error::other)?;
    }
    Ok(())
}

/// Takes from programs, and from threads to come, what they could have. Comes before all others, as
/// it takes a capability.
///
/// # Errors
/// The system's.
pub fn leave_none_to_heirs() -> io::Result<()> {
    if caps::has_cap(None, Effective, Capability::CAP_SETPCAP).map_err(io::Error::other)? {
        caps::clear(None, Bounding).map_err(io::Error::other)?;
    }
    for set in [Ambient, Inheritable] {
        caps::clear(None, set).map_err(io::Error::other)?;
    }
    Ok(())
}

/// System calls of a switch with its Python interpreter: frames, its control socket, time, memory,
/// threads, and files, which its user must be allowed. Any other call fails with `EPERM`: no new
/// sockets, no programs, no signals to others, no devices.
const CALLS: &[libc::c_long] = &[
    // Frames and the control socket.
    libc::SYS_sendmmsg,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_sendto,
    libc::SYS_getsockname,
    libc::SYS_getsockopt,
    libc::SYS_accept4,
    libc::SYS_ppoll,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_pwrite64,
    libc::SYS_close,
    // Threads that wait for each other (the writer of Parquet).
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
    // Time.
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    // Memory.
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    // Threads, signals to itself, its end.
    libc::SYS_futex,
    // Answered by `ENOSYS`.
    libc::SYS_clone3,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_getrandom,
    libc::SYS_wait4,
    libc::SYS_exit,
    libc::SYS_exit_group,
    // Files.
    libc::SYS_openat,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_lseek,
    libc::SYS_ftruncate,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_getdents64,
    libc::SYS_readlinkat,
    libc::SYS_getcwd,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_fcntl,
    libc::SYS_dup,
];

/// System calls that newer architectures no longer have.
#[cfg(target_arch = "x86_64")]
const OLD_CALLS: &[libc::c_long] = &[
    libc::SYS_poll,
    libc::SYS_epoll_wait,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_readlink,
    libc::SYS_time,
    libc::SYS_arch_prctl,
];
#[cfg(not(target_arch = "x86_64"))]
const OLD_CALLS: &[libc::c_long] = &[];

/// A call of which an argument decides: its place, a mask, and what it must be under that.
type Argued = (libc::c_long, u8, u64, &'static [u64]);

#[allow(clippy::unnecessary_cast, reason = "C libraries disagree on their types")]
const ARGUED: &[Argued] = &[
    // No thread that is a process.
    (libc::SYS_clone, 0, libc::CLONE_THREAD as u64, &[libc::CLONE_THREAD as u64]),
    // Nothing but a pair of its own.
    (libc::SYS_socketpair, 0, u32::MAX as u64, &[libc::AF_UNIX as u64]),
    // No memory that is a program.
    (libc::SYS_mmap, 2, libc::PROT_EXEC as u64, &[0]),
    (libc::SYS_mprotect, 2, libc::PROT_EXEC as u64, &[0]),
    (
        libc::SYS_ioctl,
        1,
        u32::MAX as u64,
        &[libc::TCGETS as u64, libc::FIONBIO as u64, libc::FIOCLEX as u64],
    ),
    (
        libc::SYS_prctl,
        0,
        u32::MAX as u64,
        &[libc::PR_SET_NAME as u64, libc::PR_SET_TIMERSLACK as u64],
    ),
];

/// System calls of the process that removes the control socket.
const REMOVER_CALLS: &[libc::c_long] = &[
    libc::SYS_read,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_unlinkat,
    libc::SYS_close,
    // Memory, locks and signals of the interpreter.
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_futex,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_exit,
    libc::SYS_exit_group,
];
#[cfg(target_arch = "x86_64")]
const OLD_REMOVER_CALLS: &[libc::c_long] = &[libc::SYS_stat, libc::SYS_unlink];
#[cfg(not(target_arch = "x86_64"))]
const OLD_REMOVER_CALLS: &[libc::c_long] = &[];

fn install(
    rules: BTreeMap<libc::c_long, Vec<SeccompRule>>,
    otherwise: SeccompAction,
    then: SeccompAction,
) -> Result<(), seccompiler::Error> {
    let filter = SeccompFilter::new(rules, otherwise, then, std::env::consts::ARCH.try_into()?)?;
    apply_filter_all_threads(&seccompiler::BpfProgram::try_from(filter)?)
}

/// Lets the C library make its threads by the old call: that is what it does where the new one, whose
/// flags no filter can see, is not there.
fn without_clone3() -> Result<(), seccompiler::Error> {
    let unknown = SeccompAction::Errno(libc::ENOSYS as u32);
    install([(libc::SYS_clone3, vec![])].into(), SeccompAction::Allow, unknown)
}

/// Lets this process make these calls, and those of which an argument decides, and no others.
fn allow(plain: &[&[libc::c_long]], argued: &[Argued]) -> Result<(), seccompiler::Error> {
    let plain = plain.iter().copied().flatten().map(|&call| (call, vec![]));
    let argued = argued.iter().map(|&(call, place, mask, values)| {
        let rule = |&value: &u64| {
            // The low 32 bits decide: flags and numbers of these calls lie there.
            let must_be = SeccompCmpOp::MaskedEq(mask);
            SeccompRule::new(vec![SeccompCondition::new(place, Dword, must_be, value)?])
        };
        values.iter().map(rule).collect::<Result<Vec<_>, _>>().map(|rules| (call, rules))
    });
    let rules = plain.map(Ok).chain(argued).collect::<Result<_, _>>()?;
    install(rules, SeccompAction::Errno(libc::EPERM as u32), SeccompAction::Allow)
}
