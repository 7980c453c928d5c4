//! From the registry's lines to two enums: which control, and what it remembers.

#[cold]
pub(crate) fn mixed() -> ! {
    panic!("a connection's memory is of its own control")
}

/// What it does, and `Name(Params) = "word" | "another word"`.
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
            /// What it says of itself.
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

        /// What the control of one connection remembers. Each hook is [`Control`](crate::Control)'s.
        #[derive(Clone, Debug)]
        pub enum Memory {$(
            #[doc = concat!("`", $word, "`.")]
            $name($name),
        )+}

        controls! { @hooks [$($name $(($params))?,)+] }
    };
    (@hooks $all:tt) => {
        impl Memory {
            /// That of a connection which begins.
            pub fn new(control: &CongestionControl) -> Memory {
                controls!(@new $all control)
            }
            /// [`crate::Control::acked`].
            #[inline]
            pub fn acked(&mut self, control: &CongestionControl, ack: $crate::Acked) {
                controls!(@each $all self, control, it, params => it.acked(params, ack))
            }
            /// [`crate::Control::grown`].
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
            /// [`crate::Control::paused`].
            #[inline]
            pub fn paused(&mut self, now: Time) {
                controls!(@each $all self, it => it.paused(now))
            }
            /// [`crate::Control::resumed`].
            pub fn resumed(&mut self, idle: Span, now: Time) {
                controls!(@each $all self, it => it.resumed(idle, now))
            }
            /// [`crate::Control::marked`].
            pub fn marked(&mut self, control: &CongestionControl, window: f64, now: Time) -> Mark {
                controls!(@each $all self, control, it, params => it.marked(params, window, now))
            }
            /// [`crate::Control::kept`].
            pub fn kept(&self, control: &CongestionControl) -> f64 {
                controls!(@each $all self, control, it, params => it.kept(params))
            }
            /// [`crate::Control::cut`].
            pub fn cut(&mut self, control: &CongestionControl, window: f64) {
                controls!(@each $all self, control, it, params => it.cut(params, window))
            }
            /// [`crate::Control::left`].
            pub fn left(&mut self) {
                controls!(@each $all self, it => it.left())
            }
            /// [`crate::Control::alpha`].
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
