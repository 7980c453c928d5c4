//! From the registry's lines to two enums: which control, and what it remembers.

#[cold]
pub(crate) fn mixed() -> ! {
    panic!("a connection's memory is of its own control")
}

/// Generates the registry from lines of a description and `Name(Params) = "word" | "another word"`.
macro_rules! controls {
    (
        $(#[doc = $doc:literal])+
        $key:ident;
        $(
            $(#[doc = $says:literal])+
            $name:ident $(($params:ident))? = $word:literal $(| $alias:literal)*,
        )+
    ) => {
        switchbed_config::kinds! {
            /// How the window grows and answers marks.
            #[derive(Copy)]
            pub enum CongestionControl {
                $(#[doc = $doc])+
                $key;
                $(
                    $(#[doc = $says])+
                    $name $(($params))? = $word $(| $alias)*,
                )+
            }
        }

        /// A control's parameters, looked up as they are read: what reads none pays nothing.
        pub struct Given<'a, P> {
            control: &'a CongestionControl,
            params: std::marker::PhantomData<P>,
        }

        $($(impl std::ops::Deref for Given<'_, $params> {
            type Target = $params;
            #[inline]
            fn deref(&self) -> &$params {
                match self.control {
                    CongestionControl::$name(params) => params,
                    _ => $crate::dispatch::mixed(),
                }
            }
        })?)+

        impl CongestionControl {
            /// Returns the control's description.
            pub const fn about(&self) -> &'static $crate::About {
                match self {
                    $(CongestionControl::$name { .. } => &<$name as $crate::Control>::ABOUT,)+
                }
            }

            /// Whether its settings go together.
            ///
            /// # Errors
            /// The first that does not fit.
            pub fn check(&self) -> Result<(), switchbed_config::param::Unfit> {
                match self {
                    $(CongestionControl::$name { .. } => {
                        $name::check(&controls!(@params self $($params)?))
                    })+
                }
            }
        }

        /// State of one connection's control. Each hook is [`Control`](crate::Control)'s.
        #[derive(Clone, Debug)]
        pub enum Memory {$(
            #[doc = concat!("`", $word, "`.")]
            $name($name),
        )+}

        controls! { @hooks [$($name $(($params))?,)+] }
    };
    (@hooks $all:tt) => {
        impl Memory {
            /// Makes the state of a connection that begins.
            pub fn new(control: &CongestionControl) -> Memory {
                controls!(@new $all control)
            }
            /// See [`crate::Control::acked`] for the contract.
            #[inline]
            pub fn acked(&mut self, control: &CongestionControl, ack: $crate::Acked) {
                controls!(@each $all self, control, it, params => it.acked(params, ack))
            }
            /// See [`crate::Control::grown`] for the contract.
            #[inline]
            pub fn grown(
                &mut self,
                control: &CongestionControl,
                cwnd: f64,
                packets: f64,
                now: Time,
                srtt: Option<Span>,
            ) -> Option<f64> {
                controls!(@each $all self, control, it, params => {
                    it.grown(params, cwnd, packets, now, srtt)
                })
            }
            /// See [`crate::Control::paused`] for the contract.
            #[inline]
            pub fn paused(&mut self, now: Time) {
                controls!(@each $all self, it => it.paused(now))
            }
            /// See [`crate::Control::resumed`] for the contract.
            pub fn resumed(&mut self, idle: Span, now: Time) {
                controls!(@each $all self, it => it.resumed(idle, now))
            }
            /// See [`crate::Control::marked`] for the contract.
            pub fn marked(&mut self, control: &CongestionControl, window: f64, now: Time) -> Mark {
                controls!(@each $all self, control, it, params => it.marked(params, window, now))
            }
            /// See [`crate::Control::kept`] for the contract.
            pub fn kept(&self, control: &CongestionControl) -> f64 {
                controls!(@each $all self, control, it, params => it.kept(params))
            }
            /// See [`crate::Control::cut`] for the contract.
            pub fn cut(&mut self, control: &CongestionControl, window: f64) {
                controls!(@each $all self, control, it, params => it.cut(params, window))
            }
            /// See [`crate::Control::left`] for the contract.
            pub fn left(&mut self) {
                controls!(@each $all self, it => it.left())
            }
            /// See [`crate::Control::keyed`] for the contract.
            pub fn keyed(&mut self, key: u32) {
                controls!(@each $all self, it => it.keyed(key))
            }
            /// See [`crate::Control::begun`] for the contract.
            pub fn begun(&mut self, control: &CongestionControl, conn: &$crate::Connection) {
                controls!(@each $all self, control, it, params => it.begun(params, conn))
            }
            /// See [`crate::Control::steer`] for the contract.
            pub fn steer(
                &mut self,
                control: &CongestionControl,
                conn: $crate::Connection,
                sample: &$crate::RateSample,
            ) -> $crate::Steer {
                controls!(@each $all self, control, it, params => it.steer(params, conn, sample))
            }
            /// See [`crate::Control::lost`] for the contract.
            pub fn lost(
                &mut self,
                control: &CongestionControl,
                conn: &$crate::Connection,
                packet: &$crate::LostPacket,
            ) {
                controls!(@each $all self, control, it, params => it.lost(params, conn, packet))
            }
            /// See [`crate::Control::restarted`] for the contract.
            pub fn restarted(
                &mut self,
                control: &CongestionControl,
                conn: $crate::Connection,
            ) -> u32 {
                controls!(@each $all self, control, it, params => it.restarted(params, conn))
            }
            /// See [`crate::Control::timed_out`] for the contract.
            pub fn timed_out(&mut self, control: &CongestionControl, conn: &$crate::Connection) {
                controls!(@each $all self, control, it, params => it.timed_out(params, conn))
            }
            /// See [`crate::Control::undone`] for the contract.
            pub fn undone(&mut self, control: &CongestionControl, conn: &$crate::Connection) {
                controls!(@each $all self, control, it, params => it.undone(params, conn))
            }
            /// See [`crate::Control::pacing`] for the contract.
            pub fn pacing(&self) -> Option<u64> {
                controls!(@each $all self, it => it.pacing())
            }
            /// See [`crate::Control::model`] for the contract.
            pub fn model(&self, mss: u32) -> Option<$crate::Model> {
                controls!(@each $all self, it => it.model(mss))
            }
            /// See [`crate::Control::alpha`] for the contract.
            pub fn alpha(&self) -> Option<f64> {
                controls!(@each $all self, it => it.alpha())
            }
        }
    };
    (@new [$($name:ident $(($params:ident))?,)+] $control:ident) => {
        match $control {$(
            CongestionControl::$name { .. } => {
                Memory::$name($name::new(&controls!(@params $control $($params)?)))
            }
        )+}
    };
    (@each [$($name:ident $(($params:ident))?,)+] $memory:ident, $it:ident => $hook:expr) => {
        match $memory {$(Memory::$name($it) => $hook,)+}
    };
    (
        @each [$($name:ident $(($of:ident))?,)+]
        $memory:ident, $control:ident, $it:ident, $params:ident => $hook:expr
    ) => {
        match $memory {$(
            Memory::$name($it) => {
                let $params = controls!(@params $control $($of)?);
                $hook
            }
        )+}
    };
    (@params $control:ident) => { &() };
    (@params $control:ident $params:ident) => {
        Given::<$params> { control: $control, params: std::marker::PhantomData }
    };
}
