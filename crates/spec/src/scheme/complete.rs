//! Parameters against each other: some follow from others where a scenario leaves them
//! out, and some do not go together.

use super::{SchemeChoice, Value, afqcn, cedm, cqrd, eecn, mq_ecn};
use crate::Switch;
use switchbed_qdisc::units::Bytes;

/// A parameter that does not fit the others, and why; without a reason it is missing.
#[derive(Clone, Debug, PartialEq)]
pub struct Unfit {
    /// The parameter.
    pub param: &'static str,
    /// To be put after its name and value.
    pub why: String,
}

impl Unfit {
    pub(super) fn new(param: &'static str, why: String) -> Self {
        Unfit { param, why }
    }
    pub(super) fn missing(param: &'static str) -> Self {
        Unfit { param, why: String::new() }
    }
}

impl SchemeChoice {
    /// Fills in what follows from the parameters that are given. `limit` is the most that
    /// the length a threshold is compared with can reach.
    pub fn complete(&mut self, limit: Bytes) -> Result<(), Unfit> {
        match self.name.as_str() {
            "red" => thresholds_of_red(self),
            "mq-ecn" => mq_ecn::complete(self),
            "cedm" => cedm::complete(self, limit),
            "e-ecn" => eecn::complete(self),
            "qcn" | "afd" | "af-qcn" => afqcn::check(self),
            "oq" | "cq" | "cqrd" | "cqrd-configured" | "hcf" => cqrd::check(self),
            _ => Ok(()),
        }
    }

    /// What is wrong with the scheme on a switch of so many ports: too many queues, or too
    /// little memory for a packet in each. None where the scheme leaves the seats to the switch.
    pub fn misfit(&self, switch: &Switch, ports: u32, mtu: Bytes) -> Option<String> {
        cqrd::misfit(self, switch, ports, mtu)
    }

    /// Leaves out what has gone into another parameter, so that a resolved choice says
    /// nothing twice.
    pub(super) fn forget(&mut self, params: &[&str]) {
        self.params.retain(|name, _| !params.contains(&name.as_str()));
    }
}

/// kmin is half of kmax unless given (as Wang et al. set RED), and never over it.
fn thresholds_of_red(choice: &mut SchemeChoice) -> Result<(), Unfit> {
    let kmax = choice.bytes("kmax");
    let half = Bytes::new(kmax.get() / 2);
    let kmin = choice.size("kmin").unwrap_or(half);
    if kmin > kmax {
        return Err(Unfit::new("kmin", format!("it must not be over kmax, {kmax}")));
    }
    choice.params.insert("kmin".to_owned(), Value::Bytes(kmin));
    Ok(())
}
