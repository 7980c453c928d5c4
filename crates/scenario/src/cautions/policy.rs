//! Whether the scheme leaves its queues' memory to the switch.

use crate::Scenario;
use switchbed_qdisc::switch::BufferPolicy;

/// Said where the scheme has a buffer of its own, and the switch's policy is nothing to it.
pub(super) fn unused(scenario: &Scenario) -> Option<String> {
    let policy = scenario.switch.policy;
    let own = scenario.scheme.scheme.about().fills_the_seats();
    (own && policy != BufferPolicy::Shared).then(|| {
        format!(
            "{} has queues and a buffer of its own, each port's: switch.policy = \"{}\" is nothing to it",
            scenario.scheme.label,
            policy.word()
        )
    })
}
