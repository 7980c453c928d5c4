//! Messages of a program in columns: a schedule has millions, of which most fields are alike.

use std::collections::HashMap;
use switchbed_units::Bytes;

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The operation that sends it, and the rank of that.
    pub sent_by: u32,
    /// See `sent_by`.
    pub from: u32,
    /// Tag, by which a receive of any source chooses it; [`ANY`]: it fits each; 0 in a program without such a receive.
    pub tag: u32,
    /// The rank it goes to, and the operation there that receives it; [`ANY`]: the first that it fits as it arrives.
    pub to: u32,
    /// See `to`.
    pub received_by: u32,
    /// Payload.
    pub bytes: Bytes,
    /// Number of its connection among the program's, and the channel that this is of.
    pub connection: u32,
    /// See `connection`.
    pub channel: u32,
    /// Class of its packets.
    pub class: u8,
    /// Which of the equal paths it takes, in place of the hash.
    pub path: Option<u32>,
    /// Number in the order of writing.
    pub row: u32,
}

impl Message {
    /// Whether a rank sends it to itself: it arrives at once, without the network.
    pub fn stays(&self) -> bool {
        self.from == self.to
    }
}

/// Stands for an operation that is not known before the run, and for any tag.
pub const ANY: u32 = u32::MAX;

/// Messages that a receive takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Sending rank; `None`: any.
    pub from: Option<u32>,
    /// Tag; `None`: any.
    pub tag: Option<u32>,
}

impl Pattern {
    /// Whether it takes a message.
    pub fn takes(&self, message: &Message) -> bool {
        self.from.is_none_or(|from| from == message.from)
            && self.tag.is_none_or(|tag| [tag, ANY].contains(&message.tag))
    }
}

/// Sending rank, receiving rank and channel of a connection.
type Ends = (u32, u32, u32);

/// Messages by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Messages {
    sent_by: Vec<u32>,
    received_by: Vec<u32>,
    connection: Vec<u32>,
    bytes: Column<Bytes>,
    tag: Column<u32>,
    class: Column<u8>,
    path: Column<Option<u32>>,
    /// Number in the order of writing less the message's own, which is 0 where ranks are written in their order.
    row: Column<u32>,
    connections: Vec<Ends>,
}

impl Messages {
    pub(super) fn new() -> Messages {
        Messages {
            sent_by: Vec::new(),
            received_by: Vec::new(),
            connection: Vec::new(),
            bytes: Column::new(Bytes::ZERO),
            tag: Column::new(0),
            class: Column::new(0),
            path: Column::new(None),
            row: Column::new(0),
            connections: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.sent_by.len()
    }

    /// How many connections there are.
    pub(super) fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Adds a message, whose receive and connection are not known yet; `known` finds connections by their ends.
    pub(super) fn push(&mut self, message: &Message, known: &mut HashMap<Ends, u32>) {
        let Message { sent_by, from, tag, to, bytes, channel, class, path, row, .. } = *message;
        let ends = (from, to, channel);
        let connection = *known.entry(ends).or_insert_with(|| {
            self.connections.push(ends);
            self.connections.len() as u32 - 1
        });
        self.row.push(row.wrapping_sub(self.len() as u32));
        self.sent_by.push(sent_by);
        self.received_by.push(ANY);
        self.connection.push(connection);
        self.bytes.push(bytes);
        self.tag.push(tag);
        self.class.push(class);
        self.path.push(path);
    }

    pub(super) fn get(&self, nth: u32) -> Message {
        let place = nth as usize;
        let connection = self.connection[place];
        let (from, to, channel) = self.connections[connection as usize];
        Message {
            sent_by: self.sent_by[place],
            from,
            tag: self.tag.get(place),
            to,
            received_by: self.received_by[place],
            bytes: self.bytes.get(place),
            connection,
            channel,
            class: self.class.get(place),
            path: self.path.get(place),
            row: self.row.get(place).wrapping_add(nth),
        }
    }

    /// The operation that sends a message.
    #[inline]
    pub(super) fn sent_by(&self, nth: u32) -> u32 {
        self.sent_by[nth as usize]
    }

    /// The operation that receives a message, or [`ANY`].
    #[inline]
    pub(super) fn received_by(&self, nth: u32) -> u32 {
        self.received_by[nth as usize]
    }

    /// Says which operation receives a message.
    pub(super) fn receive(&mut self, nth: u32, number: u32) {
        self.received_by[nth as usize] = number;
    }

    /// Forgets the tags, by which nobody chooses a message any more.
    pub(super) fn forget_tags(&mut self) {
        self.tag = Column::Same(0, self.len());
    }

    /// Bytes of memory.
    pub(super) fn held(&self) -> usize {
        let numbers = [&self.sent_by, &self.received_by, &self.connection];
        let columns = [self.bytes.held(), self.tag.held(), self.class.held(), self.path.held()];
        numbers.map(|of| size_of_val(&of[..])).iter().chain(&columns).sum::<usize>()
            + self.row.held()
            + size_of_val(&self.connections[..])
    }

    pub(super) fn shrink(&mut self) {
        self.sent_by.shrink_to_fit();
        self.received_by.shrink_to_fit();
        self.connection.shrink_to_fit();
        self.connections.shrink_to_fit();
        self.bytes.shrink();
        self.tag.shrink();
        self.class.shrink();
        self.path.shrink();
        self.row.shrink();
    }
}

/// Values of rows. Schedules mostly give each message the same class, or the same size: such a column takes no
/// memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Column<T> {
    /// Each row so far has this value; how many rows there are.
    Same(T, usize),
    Each(Vec<T>),
}

impl<T: Copy + PartialEq> Column<T> {
    /// Makes a column without rows, of which `first` is the likely value.
    fn new(first: T) -> Column<T> {
        Column::Same(first, 0)
    }

    fn push(&mut self, value: T) {
        match self {
            Column::Same(all, rows) if *all == value || *rows == 0 => {
                (*all, *rows) = (value, *rows + 1);
            }
            Column::Same(all, rows) => {
                let mut each = vec![*all; *rows];
                each.push(value);
                *self = Column::Each(each);
            }
            Column::Each(each) => each.push(value),
        }
    }

    #[inline]
    fn get(&self, row: usize) -> T {
        match self {
            Column::Same(all, _) => *all,
            Column::Each(each) => each[row],
        }
    }

    /// Bytes of memory.
    fn held(&self) -> usize {
        match self {
            Column::Same(..) => 0,
            Column::Each(each) => size_of_val(&each[..]),
        }
    }

    fn shrink(&mut self) {
        if let Column::Each(each) = self {
            each.shrink_to_fit();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_column_gives_what_was_pushed(values in proptest::collection::vec(0u32..3, 0..30), first in 0u32..3) {
            let mut column = Column::new(first);
            values.iter().for_each(|&value| column.push(value));
            column.shrink();
            let found: Vec<u32> = (0..values.len()).map(|row| column.get(row)).collect();
            prop_assert_eq!(&found, &values);
            let alike = values.windows(2).all(|pair| pair[0] == pair[1]);
            prop_assert_eq!(matches!(column, Column::Same(..)), alike);
        }
    }
}
