//! Every control that a scenario may name: what it does, behind its word in the key's meaning, and
//! its line.
//!
//! The words of `transport.kind` that are RoCE's: what controls a queue pair's rate is in [`crate::roce`], and
//! its settings are `[roce]`'s.

use crate::*;
use std::ops::Deref;
use switchbed_units::{Span, Time};

controls! {
    /// How the window grows and answers marks, at most once a window of data.
    kind;
    /// cut by the marked fraction (RFC 8257).
    Dctcp(DctcpParams) = "dctcp",
    /// halved.
    EcnStar = "ecn-star" | "ecn*",
    /// as for a loss (RFC 3168), which halves what loss_halves names; NewReno with
    /// sack_blocks = 0.
    Reno = "reno",
    /// RFC 9438, marks as losses.
    Cubic(CubicParams) = "cubic",
    /// cut by the fraction that accurate ECN counts, all packets ECT(1)
    /// (draft-briscoe-iccrg-prague-congestion-control).
    Prague(PragueParams) = "prague",
    /// by a model of the path, its bandwidth and least round trip, whatever is marked; always paced
    /// (BBR version 1, Linux's tcp_bbr.c).
    Bbr(BbrParams) = "bbr",
    /// the same as its draft has version 3 (draft-ietf-ccwg-bbr); unverified.
    Bbr3 = "bbr3",
    /// no window, no ACKs, no TCP: packets go as the network card and its rate limiter let
    /// them, and what is lost stays lost; of the other keys mss, header and ecn count.
    Udp = "udp",
    /// RoCE's queue pairs, whose rate CNPs cut; this and the following are set up by the
    /// section roce.
    Dcqcn = "dcqcn",
    /// the same by the gradient of the RTT.
    Timely = "timely",
    /// by what switches write into packets (INT).
    Hpcc = "hpcc",
    /// by the RTT's distance from a target; unverified.
    Swift = "swift",
    /// at line rate whatever happens.
    Roce = "roce",
    /// sprayed packets in any order within a sender's window, as htsim has Ultra Ethernet's NSCC.
    Nscc = "nscc",
    /// the same by credit that receivers give (RCCC).
    Rccc = "rccc",
    /// the same by both.
    NsccRccc = "nscc-rccc",
}

macro_rules! queue_pairs {
    ($($name:ident)+) => {$(
        /// Senders of this kind use a queue pair instead of a window.
        #[derive(Clone, Debug)]
        pub struct $name;

        impl Control for $name {
            type Params = ();
            const ABOUT: About = About { tcp: false, roce: true, ..About::TCP };

            fn new(_: &()) -> Self {
                $name
            }

            fn marked(&mut self, _: impl Deref<Target = ()>, _: f64, _: Time) -> Mark {
                Mark::Leaves(1.0)
            }
        }
    )+};
}

queue_pairs! { Dcqcn Timely Hpcc Swift Roce Nscc Rccc NsccRccc }
