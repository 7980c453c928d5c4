//! Words that were probably meant.

/// The candidate that `word` was probably meant to be.
pub fn near<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |s: &str| s.to_ascii_lowercase().replace('-', "_");
    let word = plain(word);
    let candidates: Vec<&str> = candidates.collect();
    let close = candidates
        .iter()
        .map(|&candidate| (strsim::osa_distance(&word, &plain(candidate)), candidate))
        // Up to a third of the letters may be wrong.
        .filter(|&(distance, candidate)| distance <= (candidate.len() / 3).max(1))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate);
    // `series` for `series_every`, if no other begins so.
    let begun = |candidate: &&&str| word.len() >= SHORTEST && plain(candidate).starts_with(&word);
    let mut begun = candidates.iter().filter(begun);
    close.or_else(|| begun.next().copied().filter(|_| begun.next().is_none()))
}

/// The beginning of a word that is taken for the word has so many characters at least.
const SHORTEST: usize = 4;

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

    #[test]
    fn a_beginning_stands_for_the_only_word_that_has_it() {
        let words =
            || ["series_every", "goodput_every", "bursts", "burst_apart_from_others"].into_iter();
        assert_eq!(near("series", words()), Some("series_every"));
        assert_eq!(near("goodput", words()), Some("goodput_every"));
        assert_eq!(near("burst", words()), Some("bursts"));
        assert_eq!(near("ser", words()), None);
        assert_eq!(near("bur", words()), None);
    }
}
