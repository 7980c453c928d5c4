//! Words that were probably meant.

/// The candidate that `word` was probably meant to be.
pub fn near<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |s: &str| s.to_ascii_lowercase().replace('-', "_");
    let word = plain(word);
    candidates
        .map(|candidate| (strsim::osa_distance(&word, &plain(candidate)), candidate))
        .filter(|&(distance, candidate)| distance <= (candidate.len() / 3).max(1))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_misses_are_found_and_far_ones_are_not() {
        let words = || ["hosts_per_leaf", "host_rate", "leaves"].into_iter();
        assert_eq!(near("hosts-per-leaf", words()), Some("hosts_per_leaf"));
        assert_eq!(near("hostrate", words()), Some("host_rate"));
        assert_eq!(near("leafs", words()), Some("leaves"));
        assert_eq!(near("buffer", words()), None);
    }
}
