//! Words that were probably meant.

/// The candidate that `word` was probably meant to be.
pub fn similar<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |s: &str| s.to_ascii_lowercase().replace('-', "_");
    let word = plain(word);
    let candidates: Vec<&str> = candidates.collect();
    let close = candidates
        .iter()
        .map(|&candidate| (strsim::osa_distance(&word, &plain(candidate)), candidate))
        .map(|(distance, candidate)| (distance, missing(&word, &plain(candidate)), candidate))
        // Up to a third of the letters may be wrong, or two if all but one of the word's are there.
        .filter(|&(distance, missing, candidate)| {
            let long = word.len().min(candidate.len()) >= SHORTEST;
            let begins = plain(candidate).chars().next() == word.chars().next();
            distance <= (candidate.len() / 3).max(1)
                || distance == 2 && missing <= 1 && long && begins
        })
        // `dwrr` for `drr`, since `wrr` lacks one of its letters.
        .min_by_key(|&(distance, missing, _)| (distance, missing))
        .map(|(.., candidate)| candidate);
    // `series` for `series_every`, if no other begins so.
    let begun = |candidate: &&&str| word.len() >= SHORTEST && plain(candidate).starts_with(&word);
    let mut begun = candidates.iter().filter(begun);
    close.or_else(|| begun.next().copied().filter(|_| begun.next().is_none()))
}

/// The number of the word's letters that a candidate does not have.
fn missing(word: &str, candidate: &str) -> usize {
    let mut left: Vec<char> = candidate.chars().collect();
    let mut has = |letter: char| match left.iter().position(|&other| other == letter) {
        Some(place) => {
            left.swap_remove(place);
            true
        }
        None => false,
    };
    word.chars().filter(|&letter| !has(letter)).count()
}

/// The beginning of a word that is taken for the word has so many characters at least.
const SHORTEST: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_misses_are_found_and_far_ones_are_not() {
        let words = || ["hosts_per_leaf", "host_rate", "leaves"].into_iter();
        assert_eq!(similar("hosts-per-leaf", words()), Some("hosts_per_leaf"));
        assert_eq!(similar("hostrate", words()), Some("host_rate"));
        assert_eq!(similar("leafs", words()), Some("leaves"));
        assert_eq!(similar("buffer", words()), None);
    }

    #[test]
    fn of_equally_near_words_the_one_with_all_letters_is_meant() {
        let words = || ["fifo", "round-robin", "wrr", "dwrr", "wfq"].into_iter();
        assert_eq!(similar("drr", words()), Some("dwrr"));
        assert_eq!(similar("wdrr", words()), Some("dwrr"));
        assert_eq!(similar("wr", words()), Some("wrr"));
        assert_eq!(similar("wqf", words()), Some("wfq"));
    }

    #[test]
    fn two_of_a_short_words_letters_may_be_wrong_if_one_alone_is_missing() {
        let words = || ["title", "load", "flows", "seed", "host"].into_iter();
        assert_eq!(similar("lode", words()), Some("load"));
        assert_eq!(similar("lado", words()), Some("load"));
        assert_eq!(similar("mode", words()), None);
        assert_eq!(similar("road", words()), Some("load"));
        assert_eq!(similar("hook", words()), None);
    }

    #[test]
    fn a_beginning_stands_for_the_only_word_that_has_it() {
        let words =
            || ["series_every", "goodput_every", "bursts", "burst_apart_from_others"].into_iter();
        assert_eq!(similar("series", words()), Some("series_every"));
        assert_eq!(similar("goodput", words()), Some("goodput_every"));
        assert_eq!(similar("burst", words()), Some("bursts"));
        assert_eq!(similar("ser", words()), None);
        assert_eq!(similar("bur", words()), None);
    }
}
