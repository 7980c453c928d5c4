//! The binary tree of NCCL's double one (`src/graph/trees.cc`, `ncclGetBtree`): rank 0 is the root and has one child, odd
//! ranks are leaves, and a rank's parent has its lowest bit moved up by one.

/// A rank's parent among `n`; the rank is not 0.
pub(super) fn parent(rank: u32, n: u32) -> u32 {
    let bit = 1 << rank.trailing_zeros();
    let up = (rank ^ bit) | (bit << 1);
    // No such rank where the tree is not full: then the one with the bit cleared, as in NCCL.
    if up < n { up } else { rank ^ bit }
}

/// How many ranks are above one.
pub(super) fn depth(rank: u32, n: u32) -> u32 {
    let mut above = 0;
    let mut at = rank;
    while at != 0 {
        at = parent(at, n);
        above += 1;
    }
    above
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_have_the_parents_of_nccl_s_illustration() {
        // 0 has 8, 8 has 4 and 12, 4 has 2 and 6, 12 has 10 and 13.
        let parents: Vec<u32> = (1..14).map(|rank| parent(rank, 14)).collect();
        assert_eq!(parents, [2, 4, 2, 8, 6, 4, 6, 0, 10, 12, 10, 8, 12]);
        assert_eq!((depth(13, 14), depth(11, 14), depth(0, 14)), (3, 4, 0));
    }

    #[test]
    fn a_tree_s_depth_is_at_most_one_more_than_the_logarithm() {
        for n in 2..600_u32 {
            let deepest = (0..n).map(|rank| depth(rank, n)).max().unwrap();
            assert!(deepest <= n.ilog2() + 1, "{n}: {deepest}");
        }
    }
}
