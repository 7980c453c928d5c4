//! Types for indices. Those of hosts, switches, ports and links are `switchbed_units::ids`.

use std::marker::PhantomData;
use switchbed_units::ids;
pub use switchbed_units::ids::{HostId, Id, LinkId, PortId, SwitchId};

ids! {
    /// A link in the order that breaks ties.
    Rank(u32);
    /// A connection's half, in its host's table.
    ConnId(u32);
    /// Connections that share a rate limiter, at their card.
    GroupId(u32);
    /// A part of the network.
    ShardId(u16);
    /// A node, in its shard: hosts first, then switches.
    NodeId(u32);
    /// A link, in its shard: hosts' first, then each switch's ports in order.
    LocalLink(u32);
}

/// A number that may be missing, in no more space than the number: the last one is nobody's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Maybe<T>(u32, PhantomData<T>);

impl<T: Id> Maybe<T> {
    /// Value that stands for no id.
    pub const NONE: Maybe<T> = Maybe(u32::MAX, PhantomData);

    /// The number, if there is one.
    #[inline]
    pub fn get(self) -> Option<T> {
        if self.0 == u32::MAX { None } else { Some(T::of(self.0)) }
    }
    /// The one that was written down so.
    #[inline]
    pub const fn of(word: u32) -> Maybe<T> {
        Maybe(word, PhantomData)
    }
    /// To be written down.
    #[inline]
    pub const fn word(self) -> u32 {
        self.0
    }
}

impl<T: Id> From<T> for Maybe<T> {
    #[inline]
    fn from(id: T) -> Maybe<T> {
        Maybe(id.word(), PhantomData)
    }
}

impl<T: Id> From<Option<T>> for Maybe<T> {
    #[inline]
    fn from(id: Option<T>) -> Maybe<T> {
        id.map_or(Maybe::NONE, Maybe::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_may_be_missing_in_the_room_of_the_number() {
        assert_eq!(size_of::<Maybe<ConnId>>(), size_of::<ConnId>());
        for id in [Some(ConnId(0)), Some(ConnId(u32::MAX - 1)), None] {
            assert_eq!(Maybe::from(id).get(), id);
            assert_eq!(Maybe::<ConnId>::of(Maybe::from(id).word()).get(), id);
        }
    }
}
