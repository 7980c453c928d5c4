//! Whether the scheme leaves its queues' memory to the switch.

use switchbed_qdisc::switch::BufferPolicy;
use switchbed_sim::Scenario;

/// Said where the scheme has a buffer of its own, and the switch's policy is nothing to it.
pub(crate) fn unused(scenario: &Scenario) -> Option<String> {
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
