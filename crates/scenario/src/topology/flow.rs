//! The greatest flow between two nodes of a network, by Dinic's algorithm (Soviet Math. Doklady 11, 1970).

use std::collections::BTreeMap;

/// An edge, with its reverse at the same place in the list with the last bit turned.
struct Edge {
    to: u32,
    left: u64,
}

/// The greatest flow from one node to another over edges with capacities.
pub(super) fn most(
    nodes: usize,
    capacities: &BTreeMap<(u32, u32), u64>,
    (from, to): (u32, u32),
) -> u64 {
    let mut edges: Vec<Edge> = Vec::with_capacity(2 * capacities.len());
    let mut at: Vec<Vec<u32>> = vec![Vec::new(); nodes];
    for (&(a, b), &left) in capacities {
        // Each edge stands beside its reverse, so that `edge ^ 1` is the other.
        for (from, to, left) in [(a, b, left), (b, a, 0)] {
            at[from as usize].push(edges.len() as u32);
            edges.push(Edge { to, left });
        }
    }
    let mut total = 0u64;
    loop {
        let far = distances(&at, &edges, from);
        if far[to as usize] == u32::MAX {
            return total;
        }
        // Dinic's pointers: a node's edges before its own lead nowhere in this phase.
        let mut next = vec![0usize; nodes];
        let mut path: Vec<u32> = Vec::new();
        loop {
            let here = path.last().map_or(from, |&edge| edges[edge as usize].to);
            if here == to {
                let least = path.iter().map(|&edge| edges[edge as usize].left).min().unwrap_or(0);
                for &edge in &path {
                    edges[edge as usize].left -= least;
                    edges[edge as usize ^ 1].left += least;
                }
                total = total.saturating_add(least);
                // Back to before the first edge that is full.
                let full = path.iter().position(|&edge| edges[edge as usize].left == 0);
                path.truncate(full.unwrap_or(0));
                continue;
            }
            let own = &at[here as usize];
            let leads = |&&edge: &&u32| {
                let Edge { to, left } = edges[edge as usize];
                left > 0 && far[to as usize] == far[here as usize] + 1
            };
            let skipped = next[here as usize];
            match own[skipped..].iter().position(|edge| leads(&edge)) {
                Some(more) => {
                    next[here as usize] = skipped + more;
                    path.push(own[skipped + more]);
                }
                None => {
                    next[here as usize] = own.len();
                    let Some(_) = path.pop() else { break };
                    let before = path.last().map_or(from, |&edge| edges[edge as usize].to);
                    next[before as usize] += 1;
                }
            }
        }
    }
}

/// Distances from a node over edges that are not full.
fn distances(at: &[Vec<u32>], edges: &[Edge], from: u32) -> Vec<u32> {
    let mut far = vec![u32::MAX; at.len()];
    far[from as usize] = 0;
    let mut order = vec![from];
    let mut next = 0;
    while let Some(&here) = order.get(next) {
        next += 1;
        for &edge in &at[here as usize] {
            let Edge { to, left } = edges[edge as usize];
            if left > 0 && far[to as usize] == u32::MAX {
                far[to as usize] = far[here as usize] + 1;
                order.push(to);
            }
        }
    }
    far
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_turns_back_where_it_must() {
        // The textbook's graph: 23 from 0 to 5.
        let edges = [
            ((0, 1), 16),
            ((0, 2), 13),
            ((1, 3), 12),
            ((2, 1), 4),
            ((2, 4), 14),
            ((3, 2), 9),
            ((3, 5), 20),
            ((4, 3), 7),
            ((4, 5), 4),
        ];
        assert_eq!(most(6, &BTreeMap::from(edges), (0, 5)), 23);
        assert_eq!(most(6, &BTreeMap::from(edges), (5, 0)), 0);
    }
}
