//! How much of a line pause frames take.

use crate::Scenario;

/// More than this is said.
const MUCH: f64 = 0.01;

/// Said where the pause frames of classes that stay paused take more than a hundredth of a line.
pub(super) fn many(scenario: &Scenario) -> Option<String> {
    let pfc = scenario.switch.pfc.as_ref()?;
    let share = pfc.pauses_share();
    (share > MUCH).then(|| {
        format!(
            "switch.pfc.quanta is {}: pause frames take {:.3} % of a line while its classes are paused, each \
             sent again after half of its time; the standard's most is 65535",
            pfc.quanta,
            100.0 * share
        )
    })
}
