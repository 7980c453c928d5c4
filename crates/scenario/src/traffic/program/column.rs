//! Columns of tables with millions of rows.

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
    pub(super) fn new(first: T) -> Column<T> {
        Column::Same(first, 0)
    }

    pub(super) fn push(&mut self, value: T) {
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
    pub(super) fn get(&self, row: usize) -> T {
        match self {
            Column::Same(all, _) => *all,
            Column::Each(each) => each[row],
        }
    }

    /// Bytes of memory.
    pub(super) fn held(&self) -> usize {
        match self {
            Column::Same(..) => 0,
            Column::Each(each) => size_of_val(&each[..]),
        }
    }

    pub(super) fn shrink(&mut self) {
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
