//! Every rate control that a scenario may name: what it does, behind its word in the key's meaning,
//! and its line.

use super::*;
use crate::dispatch::mixed;
use switchbed_qdisc::param::Unfit;
use switchbed_qdisc::units::{Rate, Span, Time};

switchbed_qdisc::kinds! {
    /// At what rate a queue pair's packets leave.
    #[derive(Copy)]
    pub enum RateControl {
        /// What controls a queue pair's rate.
        kind;
        /// cut for CNPs, with which receivers answer marks; recovers by timer and byte counter.
        Dcqcn(DcqcnParams) = "dcqcn",
        /// line rate whatever happens.
        Unlimited = "none",
    }
}

/// From a control's name and whether it has parameters to what dispatches on it.
macro_rules! rate_controls {
    ($($name:ident $(($params:ident))?,)+) => {
        impl RateControl {
            /// What it says of itself.
            pub const fn about(&self) -> &'static RateAbout {
                match self {
                    $(RateControl::$name { .. } => &<$name as RateLaw>::ABOUT,)+
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

        /// What the control of one queue pair remembers. Each hook is [`RateLaw`]'s.
        #[derive(Clone, Debug)]
        pub enum RateMemory {$(
            #[doc = concat!("[`RateControl::", stringify!($name), "`].")]
            $name($name),
        )+}

        impl RateMemory {
            /// That of a queue pair which begins.
            pub fn new(control: &RateControl, path: &Path, now: Time) -> RateMemory {
                match control {
                    $(rate_controls!(@choice $name $($params)?) => {
                        let params = rate_controls!(@params $($params)?);
                        RateMemory::$name($name::new(params, path, now))
                    })+
                }
            }

            /// [`RateLaw::rate`], at most the line's.
            #[inline]
            pub fn rate(&self) -> Rate {
                match self {$(RateMemory::$name(it) => it.rate(),)+}
            }

            /// [`RateLaw::window`].
            #[inline]
            pub fn window(&self) -> Option<u64> {
                match self {$(RateMemory::$name(it) => it.window(),)+}
            }

            /// [`RateLaw::next_timer`].
            #[inline]
            pub fn next_timer(&self) -> Time {
                match self {$(RateMemory::$name(it) => it.next_timer(),)+}
            }
        }

        rate_controls! { @hooks [$($name $(($params))?,)+]
            /// [`RateLaw::acked`].
            acked(path: &Path, ack: &RoceAck);
            /// [`RateLaw::cnp`].
            cnp(now: Time);
            /// [`RateLaw::sent`].
            sent(bytes: u32, now: Time);
            /// [`RateLaw::lost`].
            lost(timeout: bool, now: Time);
            /// [`RateLaw::timer`].
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
    Unlimited,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_pairs_memory_stays_small() {
        assert!(size_of::<RateMemory>() <= 96, "{}", size_of::<RateMemory>());
    }
}
