//! In-band telemetry as HPCC has it (SIGCOMM 2019, figure 7; units as in its authors' simulator): what its
//! fields can hold.

use switchbed_units::Rate;

/// Switches that can write into a packet.
pub const SWITCHES: usize = 5;

/// The rates that a field has codes for, in Mbps.
pub const RATES_MBPS: [u64; 16] = [
    100, 1_000, 2_500, 5_000, 10_000, 20_000, 25_000, 40_000, 50_000, 100_000, 200_000, 400_000,
    800_000, 1_600_000, 3_200_000, 6_400_000,
];

/// The rates that a field has codes for.
pub fn rates() -> impl Iterator<Item = Rate> {
    RATES_MBPS.into_iter().map(Rate::from_mbps)
}

/// Whether there is a code for a line's rate.
pub fn knows(rate: Rate) -> bool {
    RATES_MBPS.iter().any(|&mbps| Rate::from_mbps(mbps) == rate)
}
