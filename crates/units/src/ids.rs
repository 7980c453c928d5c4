//! The numbers that things of a network have, a type for each: none passes for another's.

/// Defines number types that do not mix.
#[macro_export]
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident($number:ty);)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $number);

        impl $name {
            /// Makes the number of what is at this position in a list of all.
            #[inline]
            pub const fn at(index: usize) -> $name {
                $name(index as $number)
            }
            /// Returns the position in a list of all.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl $crate::ids::Id for $name {
            #[inline]
            fn of(word: u32) -> $name {
                $name(word as $number)
            }
            #[inline]
            fn word(self) -> u32 {
                self.0.into()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&self.0, f)
            }
        }
    )*};
}

ids! {
    /// A host, numbered over the whole topology.
    HostId(u32);
    /// A switch, numbered over the whole topology.
    SwitchId(u32);
    /// A port, at its switch.
    PortId(u32);
    /// A link, among all: hosts' first, then each switch's ports in order.
    LinkId(u32);
}

/// Any of the number types.
pub trait Id: Copy {
    /// The one that was written down so.
    fn of(word: u32) -> Self;
    /// Number as written to a file.
    fn word(self) -> u32;
}
