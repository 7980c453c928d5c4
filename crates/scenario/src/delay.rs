//! A host's delay: a time, or a distribution from which each host draws its own.

use crate::topology::MAX_WAY;
use switchbed_config::kinds;
use switchbed_config::mistake::Mistake;
use switchbed_config::param::{Field, Named, ParamKind, Params, Value, number};
use switchbed_config::params;
use switchbed_config::section::Section;
use switchbed_config::tree::{Data, Node};
use switchbed_units::Span;
use switchbed_units::ids::HostId;
use switchbed_units::random::{Random, Stream};

/// Time between a host's transport and its wire, each way.
#[derive(Clone, Debug, PartialEq)]
pub enum HostDelay {
    /// The same for every host.
    Fixed(Span),
    /// A draw for each host, by the run's seed.
    Drawn(Spread),
}

kinds! {
    /// Distribution of the delays.
    pub enum Spread {
        /// Distribution of hosts' delays; each host draws one by run.seed, for the whole run.
        kind;
        /// evenly between min and max.
        Uniform(Uniform) = "uniform",
        /// a normal distribution; a draw below 0 counts as 0.
        Normal(Normal) = "normal",
        /// a log-normal distribution of this mean.
        LogNormal(LogNormal) = "log-normal",
        /// one of the values.
        Choice(Choice) = "choice",
    }
}

params! {
    /// Evenly between two delays.
    pub struct Uniform {
        /// The least delay.
        min: Span;
        /// The greatest delay.
        max: Span;
    }
}

params! {
    /// A normal distribution.
    pub struct Normal {
        /// Mean delay.
        mean: Span;
        /// Standard deviation of the delays.
        deviation: Span;
    }
}

params! {
    /// A log-normal distribution.
    pub struct LogNormal {
        /// Mean delay.
        mean: Span;
        /// Standard deviation of a delay's natural logarithm.
        sigma: f64 as number(0.0, 10.0);
    }
}

/// A weight of a draw.
const WEIGHT: ParamKind = number(0.0, f64::INFINITY);

params! {
    /// One of several delays.
    pub struct Choice {
        /// The delays.
        values: Vec<Span>;
        /// Weight of each value in the draw. Default: all are as likely.
        weights: Option<Vec<f64>> as List(&WEIGHT);
    }
}

impl Spread {
    /// A host's delay in a run of this seed, at most [`MAX_WAY`].
    fn draw(&self, seed: u64, host: HostId) -> Span {
        // A stream for each host: a host that is added leaves the others' delays alone.
        let mut stream = Stream::new(seed, "host delay", u64::from(host.0));
        let ps = |span: Span| span.as_ps() as f64;
        let drawn = match self {
            Spread::Uniform(Uniform { min, max }) => {
                ps(*min) + (ps(*max) - ps(*min)) * stream.unit()
            }
            Spread::Normal(Normal { mean, deviation }) => {
                ps(*mean) + ps(*deviation) * stream.normal()
            }
            Spread::LogNormal(LogNormal { mean, sigma }) => ps(*mean) * stream.log_normal(*sigma),
            Spread::Choice(choice) => ps(choice.at(stream.unit())),
        };
        // Half a picosecond rounds to the nearest; a tail is cut at the longest delay that is
        // allowed.
        Span::from_ps((drawn + 0.5).max(0.0) as u64).min(MAX_WAY)
    }

    /// Refuses parameters that make no distribution.
    fn check(&self, section: &Section<'_>) -> Result<(), Mistake> {
        let given: &[(&str, Span)] = match self {
            Spread::Uniform(Uniform { min, max }) if min > max => {
                let why = format!("it must be at most max, {max}");
                return Err(section.refuse(Uniform::KEY.min, why));
            }
            Spread::Uniform(Uniform { max, .. }) => &[(Uniform::KEY.max, *max)],
            Spread::Normal(Normal { mean, deviation }) => {
                &[(Normal::KEY.mean, *mean), (Normal::KEY.deviation, *deviation)]
            }
            Spread::LogNormal(LogNormal { mean, .. }) => &[(LogNormal::KEY.mean, *mean)],
            Spread::Choice(Choice { values, weights }) => {
                let Some(most) = values.iter().max() else {
                    return Err(section.refuse(Choice::KEY.values, "at least one value is needed"));
                };
                if let Some(weights) = weights {
                    let key = Choice::KEY.weights;
                    if weights.len() != values.len() {
                        let why = format!("each of the {} values needs one", values.len());
                        return Err(section.refuse(key, why));
                    }
                    let sum: f64 = weights.iter().sum();
                    if sum <= 0.0 || !sum.is_finite() {
                        let why = "one of them must be more than 0";
                        return Err(section.refuse(key, why));
                    }
                }
                &[(Choice::KEY.values, *most)]
            }
        };
        match given.iter().find(|(_, delay)| *delay > MAX_WAY) {
            Some((key, _)) => Err(section.refuse(key, format!("it must be at most {MAX_WAY}"))),
            None => Ok(()),
        }
    }
}

impl Choice {
    /// The value at this part, from 0 to below 1, of all weights.
    fn at(&self, part: f64) -> Span {
        let weight = |nth: usize| self.weights.as_ref().map_or(1.0, |weights| weights[nth]);
        let all: f64 = (0..self.values.len()).map(weight).sum();
        let mut left = part * all;
        // The last value with a weight is taken where rounding leaves a remainder.
        let mut last = Span::ZERO;
        for (nth, value) in self.values.iter().enumerate().filter(|(nth, _)| weight(*nth) > 0.0) {
            last = *value;
            left -= weight(nth);
            if left < 0.0 {
                break;
            }
        }
        last
    }
}

impl HostDelay {
    /// The delay of a host in a run of this seed.
    pub fn of(&self, seed: u64, host: HostId) -> Span {
        match self {
            HostDelay::Fixed(delay) => *delay,
            HostDelay::Drawn(spread) => spread.draw(seed, host),
        }
    }
}

impl Field for HostDelay {
    const KIND: ParamKind = ParamKind::Named(&Named {
        name: "host delay",
        form: ParamKind::Either(&[ParamKind::Time, ParamKind::Table(Spread::TABLE)]),
        example: "\"2us\"",
        read,
    });
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Span(delay) => Some(HostDelay::Fixed(delay)),
            table => Spread::from_value(table).map(HostDelay::Drawn),
        }
    }
    fn to_value(&self) -> Option<Value> {
        match self {
            HostDelay::Fixed(delay) => delay.to_value(),
            HostDelay::Drawn(spread) => Some(Value::Table(spread.entries())),
        }
    }
}

fn read(section: &Section<'_>, name: &str, node: &Node) -> Result<Option<Value>, Mistake> {
    let Data::Table(_) = &node.data else {
        let delay = section.value(&ParamKind::Time, node, name)?;
        if matches!(delay, Value::Span(delay) if delay > MAX_WAY) {
            return Err(section.wrong(name, node, &format!("it must be at most {MAX_WAY}")));
        }
        return Ok(Some(delay));
    };
    let inner = Section::open(section.origin, &section.key(name), Spread::TABLE, Some(node), None)?;
    let spread = Spread::from_values(&mut inner.values()?);
    spread.check(&inner)?;
    inner.close(&format!("kind = \"{}\"", spread.word()))?;
    Ok(Some(Value::Table(spread.entries())))
}

/// Delays of all hosts.
#[derive(Clone, Debug, PartialEq)]
pub enum Delays {
    /// The same for every host.
    All(Span),
    /// By host.
    Each(Vec<Span>),
}

impl Delays {
    /// The delay of a host.
    pub fn of(&self, host: HostId) -> Span {
        match self {
            Delays::All(delay) => *delay,
            Delays::Each(delays) => delays.get(host.index()).copied().unwrap_or(Span::ZERO),
        }
    }

    /// The longest.
    pub fn most(&self) -> Span {
        match self {
            Delays::All(delay) => *delay,
            Delays::Each(delays) => delays.iter().copied().max().unwrap_or(Span::ZERO),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(spread: &Spread) -> Vec<f64> {
        (0..4000).map(|host| spread.draw(7, HostId(host)).as_ps() as f64).collect()
    }

    fn mean(of: &[f64]) -> f64 {
        of.iter().sum::<f64>() / of.len() as f64
    }

    fn deviation(of: &[f64]) -> f64 {
        let mean = mean(of);
        (of.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / of.len() as f64).sqrt()
    }

    /// Moments of the distributions as textbooks have them, within five standard errors of 4000 draws.
    #[test]
    fn draws_have_the_moments_of_their_distribution() {
        let us = Span::from_us;
        let uniform = drawn(&Spread::Uniform(Uniform { min: us(1), max: us(9) }));
        assert!(uniform.iter().all(|delay| (1e6..9e6).contains(delay)));
        assert!((mean(&uniform) - 5e6).abs() < 5.0 * 8e6 / 12f64.sqrt() / 4000f64.sqrt());
        assert!((deviation(&uniform) / (8e6 / 12f64.sqrt()) - 1.0).abs() < 0.05);
        let normal = drawn(&Spread::Normal(Normal { mean: us(50), deviation: us(5) }));
        assert!((mean(&normal) - 50e6).abs() < 5.0 * 5e6 / 4000f64.sqrt());
        assert!((deviation(&normal) / 5e6 - 1.0).abs() < 0.06);
        let log = drawn(&Spread::LogNormal(LogNormal { mean: us(20), sigma: 0.5 }));
        // Variance of a log-normal distribution: mean² (e^(σ²) − 1).
        let expected = 20e6 * (libm::exp(0.25) - 1.0).sqrt();
        assert!((mean(&log) - 20e6).abs() < 5.0 * expected / 4000f64.sqrt());
        assert!((deviation(&log) / expected - 1.0).abs() < 0.15);
    }

    #[test]
    fn a_choice_follows_its_weights() {
        let values = vec![Span::from_us(1), Span::from_us(2), Span::from_us(3)];
        let choice = Choice { values, weights: Some(vec![3.0, 0.0, 1.0]) };
        assert_eq!(choice.at(0.0), Span::from_us(1));
        assert_eq!(choice.at(0.749), Span::from_us(1));
        assert_eq!(choice.at(0.751), Span::from_us(3));
        assert_eq!(choice.at(0.999_999_999), Span::from_us(3));
        let of = drawn(&Spread::Choice(choice));
        let threes = of.iter().filter(|&&delay| delay == 3e6).count() as f64;
        assert!((threes / 4000.0 - 0.25).abs() < 5.0 * (0.25f64 * 0.75 / 4000.0).sqrt());
    }

    #[test]
    fn a_draw_below_zero_is_zero() {
        let of = drawn(&Spread::Normal(Normal { mean: Span::ZERO, deviation: Span::from_us(1) }));
        let zeros = of.iter().filter(|&&delay| delay == 0.0).count();
        assert!((1700..2300).contains(&zeros), "{zeros}");
    }
}
