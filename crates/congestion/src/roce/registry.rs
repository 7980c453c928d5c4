//! Every rate control that a scenario may name: what it does, behind its word in the key's meaning,
//! and its line.

use super::*;
use crate::dispatch::mixed;
use switchbed_config::param::Unfit;
use switchbed_units::{Rate, Span, Time};

switchbed_config::kinds! {
    /// At what rate a queue pair's packets leave.
    #[derive(Copy)]
    pub enum RateControl {
        /// Control of a queue pair's rate.
        kind;
        /// cut for CNPs, with which receivers answer marks; recovers by timer and byte counter.
        Dcqcn(DcqcnParams) = "dcqcn",
        /// by the gradient of the RTT.
        Timely(TimelyParams) = "timely",
        /// by what switches write into packets of their queues and lines (INT).
        Hpcc(HpccParams) = "hpcc",
        /// by the RTT's distance from a target that grows with hops and small windows; unverified,
        /// its paper was not at hand.
        Swift(SwiftParams) = "swift",
        /// line rate whatever happens.
        Unlimited = "roce",
        /// sprayed packets in any order, trimmed ones asked for at once, within a window by mark and delay
        /// (htsim 40ccb05's NSCC).
        Nscc = "nscc",
        /// the same by credit that the receiver gives (htsim 40ccb05's RCCC).
        Rccc = "rccc",
        /// the same by window and credit.
        NsccRccc = "nscc-rccc",
    }
}

/// From a control's name and whether it has parameters to what dispatches on it.
macro_rules! rate_controls {
    ($($name:ident $(($params:ident))?,)+) => {
        impl RateControl {
            /// Returns the control's description.
            pub const fn about(&self) -> &'static RateAbout {
                match self {
                    $(RateControl::$name { .. } => &<$name as RateAlgorithm>::ABOUT,)+
                }
            }

            /// Whether its settings go together.
            ///
            /// # Errors
            /// The first that does not fit.
            pub fn check(&self) -> Result<(), Unfit> {
                match self {
                    $(rate_controls!(@choice $name $($params)?) => {
                        $name::check(rate_controls!(@params $($params)?))
                    })+
                }
            }

            /// The least time between two CNPs of a receiver to one queue pair; `None` where
            /// receivers send none.
            pub fn cnp_interval(&self) -> Option<Span> {
                match self {
                    $(rate_controls!(@choice $name $($params)?) => {
                        $name::cnp_interval(rate_controls!(@params $($params)?))
                    })+
                }
            }
        }

        /// State of one queue pair's control. Each hook is [`RateAlgorithm`]'s.
        #[derive(Clone, Debug)]
        pub enum RateMemory {$(
            #[doc = concat!("[`RateControl::", stringify!($name), "`].")]
            $name($name),
        )+}

        impl RateMemory {
            /// Makes the state of a queue pair that begins.
            pub fn new(control: &RateControl, path: &Path, now: Time) -> RateMemory {
                match control {
                    $(rate_controls!(@choice $name $($params)?) => {
                        let params = rate_controls!(@params $($params)?);
                        RateMemory::$name($name::new(params, path, now))
                    })+
                }
            }

            /// [`RateAlgorithm::rate`], at most the line's.
            #[inline]
            pub fn rate(&self) -> Rate {
                match self {$(RateMemory::$name(it) => it.rate(),)+}
            }

            /// See [`RateAlgorithm::window`] for the contract.
            #[inline]
            pub fn window(&self) -> Option<u64> {
                match self {$(RateMemory::$name(it) => it.window(),)+}
            }

            /// See [`RateAlgorithm::next_timer`] for the contract.
            #[inline]
            pub fn next_timer(&self) -> Time {
                match self {$(RateMemory::$name(it) => it.next_timer(),)+}
            }
        }

        rate_controls! { @hooks [$($name $(($params))?,)+]
            /// See [`RateAlgorithm::acked`] for the contract.
            acked(path: &Path, ack: &RoceAck);
            /// See [`RateAlgorithm::cnp`] for the contract.
            cnp(now: Time);
            /// See [`RateAlgorithm::sent`] for the contract.
            sent(bytes: u32, now: Time);
            /// See [`RateAlgorithm::lost`] for the contract.
            lost(timeout: bool, now: Time);
            /// See [`RateAlgorithm::timer`] for the contract.
            timer(now: Time);
        }
    };
    (@hooks $all:tt $($(#[doc = $doc:literal])+ $hook:ident $args:tt;)+) => {
        impl RateMemory {$(
            rate_controls! { @hook $all $(#[doc = $doc])+ $hook $args }
        )+}
    };
    (
        @hook [$($name:ident $(($params:ident))?,)+]
        $(#[doc = $doc:literal])+ $hook:ident($($arg:ident: $type:ty),+)
    ) => {
        rate_controls! {
            @method [$($name [$($params)?])+] $(#[doc = $doc])+ $hook [$($arg: $type),+] ($($arg),+)
        }
    };
    (
        @method [$($name:ident [$($params:ident)?])+]
        $(#[doc = $doc:literal])+ $hook:ident [$($arg:ident: $type:ty),+] $given:tt
    ) => {
        $(#[doc = $doc])+
        #[inline]
        pub fn $hook(&mut self, control: &RateControl, $($arg: $type),+) {
            match (self, control) {
                $((RateMemory::$name(it), rate_controls!(@choice $name $($params)?)) => {
                    rate_controls!(@call it $hook (rate_controls!(@params $($params)?)) $given)
                })+
                _ => mixed(),
            }
        }
    };
    (@call $it:ident $hook:ident ($params:expr) ($($arg:ident),+)) => {
        $it.$hook($params, $($arg),+)
    };
    (@choice $name:ident) => { RateControl::$name };
    (@choice $name:ident $params:ident) => { RateControl::$name($params) };
    (@params) => { &() };
    (@params $params:ident) => { $params };
}

rate_controls! {
    Dcqcn(params),
    Timely(params),
    Hpcc(params),
    Swift(params),
    Unlimited,
    Nscc,
    Rccc,
    NsccRccc,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use switchbed_config::param::at_defaults;

    const PATH: Path = Path {
        line: Rate::from_gbps(100),
        base_rtt: Span::from_us(8),
        hops: 2,
        mss: 1_000,
        wire: 1_082,
    };

    /// Every control, and the least rate that it may come to where RTTs are a millisecond at most.
    fn controls() -> Vec<(RateControl, Rate)> {
        let connectx = DcqcnParams { variant: DcqcnVariant::Connectx, ..at_defaults() };
        let each = TimelyParams { update: TimelyUpdate::Ack, ..at_defaults() };
        let rate = HpccParams { state: HpccState::Rate, max_stage: 0, ..at_defaults() };
        let mbps = Rate::from_mbps;
        vec![
            (RateControl::Dcqcn(at_defaults()), mbps(10)),
            (RateControl::Dcqcn(connectx), mbps(1)),
            (RateControl::Timely(at_defaults()), mbps(100)),
            (RateControl::Timely(each), mbps(100)),
            (RateControl::Hpcc(at_defaults()), mbps(100)),
            (RateControl::Hpcc(rate), mbps(100)),
            // A thousandth of 8,656 bits in a millisecond.
            (RateControl::Swift(at_defaults()), Rate::from_bps(8_656)),
            (RateControl::Unlimited, PATH.line),
        ]
    }

    /// Event at a queue pair. Times are in nanoseconds since the event before.
    #[derive(Clone, Copy, Debug)]
    enum Event {
        Acked { rtt: u64, bytes: u32, tx: u64, queue: u64 },
        Cnp,
        Sent(u32),
        Lost(bool),
        Timer,
    }

    fn event() -> impl Strategy<Value = (u64, Event)> {
        let acked = (1_u64..1_000_000, 0_u32..10_000, 0_u64..200_000, 0_u64..1_000_000);
        let acked =
            acked.prop_map(|(rtt, bytes, tx, queue)| Event::Acked { rtt, bytes, tx, queue });
        let event = prop_oneof![
            4 => acked,
            2 => Just(Event::Cnp),
            2 => (0_u32..20_000_000).prop_map(Event::Sent),
            1 => any::<bool>().prop_map(Event::Lost),
            4 => Just(Event::Timer),
        ];
        let gap = prop_oneof![2 => 0_u64..2_000, 1 => 0_u64..1_000_000];
        (gap, event)
    }

    proptest! {
        #[test]
        fn rates_stay_in_bounds_and_timers_ahead(
            events in proptest::collection::vec(event(), 0..300)
        ) {
            for (control, least) in controls() {
                prop_assert_eq!(control.check(), Ok(()));
                let mut now = Time::ZERO;
                let mut memory = RateMemory::new(&control, &PATH, now);
                prop_assert_eq!(memory.rate(), PATH.line);
                let (mut acked, mut tx_bytes) = (0, 0);
                for &(gap, event) in &events {
                    now += Span::from_ns(gap);
                    match event {
                        Event::Acked { rtt, bytes, tx, queue } => {
                            acked += u64::from(bytes);
                            tx_bytes += tx;
                            let hop =
                                IntHop { rate: PATH.line, at: now, tx_bytes, queue_bytes: queue };
                            let (sent, rtt) = (acked + 50_000, Span::from_ns(rtt));
                            let hops = &[hop, IntHop { queue_bytes: 0, ..hop }];
                            let ack = RoceAck { now, rtt, bytes, acked, sent, hops };
                            memory.acked(&control, &PATH, &ack);
                        }
                        Event::Cnp => memory.cnp(&control, now),
                        Event::Sent(bytes) => memory.sent(&control, bytes, now),
                        Event::Lost(timeout) => memory.lost(&control, timeout, now),
                        Event::Timer => {
                            let before = memory.rate();
                            let due = memory.next_timer() <= now;
                            memory.timer(&control, now);
                            prop_assert!(due || memory.rate() == before);
                            prop_assert!(memory.next_timer() > now);
                        }
                    }
                    let rate = memory.rate();
                    prop_assert!((least..=PATH.line).contains(&rate), "{control:?}: {rate}");
                    prop_assert!(memory.window().is_none_or(|it| it >= u64::from(PATH.mss)));
                }
            }
        }
    }

    #[test]
    fn a_queue_pairs_memory_stays_small() {
        assert!(size_of::<RateMemory>() <= 96, "{}", size_of::<RateMemory>());
    }
}
