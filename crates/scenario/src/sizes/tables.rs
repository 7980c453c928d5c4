//! The flow-size tables that come with the program, each as its source prints it.

use super::SizeUnit;
use crate::traffic::Sizes;
use switchbed_units::Bytes;

/// Payload of a packet in the tables that count packets.
pub const PAYLOAD: Bytes = Bytes::new(1460);

/// A table that comes with the program.
#[derive(Debug)]
pub struct BuiltIn {
    /// The name that a scenario gives.
    pub name: &'static str,
    /// Publication that the table is from.
    pub source: &'static str,
    /// Unit of its sizes.
    unit: SizeUnit,
    /// (size, cumulative probability).
    points: &'static [(u64, f64)],
    /// The mean in bytes that its source uses for load → rate; `None`: the exact one.
    published_mean: Option<f64>,
}

impl BuiltIn {
    /// The table, its sizes in bytes.
    pub fn sizes(&self) -> Sizes {
        let (scale, round_up_to) = match self.unit {
            SizeUnit::Bytes => (1, None),
            SizeUnit::Packets => (PAYLOAD.get(), Some(PAYLOAD)),
        };
        let points = self.points.iter().map(|&(size, p)| (Bytes::new(size * scale), p)).collect();
        let name = self.name.to_string();
        let mut sizes = Sizes { name, points, mean_bytes: 0.0, round_up_to };
        // A published mean sets arrival rates as the papers' scripts do, though what is drawn
        // differs.
        sizes.mean_bytes = self.published_mean.unwrap_or_else(|| sizes.exact_mean());
        sizes
    }
}

/// The built-in table of this name.
pub fn named(name: &str) -> Option<Sizes> {
    BUILT_IN.iter().find(|table| table.name == name).map(BuiltIn::sizes)
}

/// Every built-in table. One name has meant tables of very different means elsewhere, so
/// all but those of the MQ-ECN simulations carry their source in the name.
pub static BUILT_IN: [BuiltIn; 10] = [
    BuiltIn {
        name: "web-search",
        source: "DCTCP (SIGCOMM 2010), as published with MQ-ECN's simulations (NSDI 2016)",
        unit: SizeUnit::Packets,
        points: &[
            (6, 0.0),
            (6, 0.15),
            (13, 0.2),
            (19, 0.3),
            (33, 0.4),
            (53, 0.53),
            (133, 0.6),
            (667, 0.7),
            (1333, 0.8),
            (3333, 0.9),
            (6667, 0.97),
            (20_000, 1.0),
        ],
        published_mean: Some(1_671_357.0),
    },
    BuiltIn {
        name: "data-mining",
        source: "VL2 (SIGCOMM 2009), as published with MQ-ECN's simulations (NSDI 2016)",
        unit: SizeUnit::Packets,
        points: &[
            (1, 0.0),
            (1, 0.5),
            (2, 0.6),
            (3, 0.7),
            (7, 0.8),
            (267, 0.9),
            (2107, 0.95),
            (66_667, 0.99),
            (666_667, 1.0),
        ],
        published_mean: Some(7_495_019.0),
    },
    BuiltIn {
        name: "cache",
        source: "Facebook cache (SIGCOMM 2015), as published with MQ-ECN's simulations (NSDI 2016)",
        unit: SizeUnit::Packets,
        points: &[
            (1, 0.0),
            (1, 0.35),
            (2, 0.4),
            (7, 0.46),
            (13, 0.5),
            (67, 0.6),
            (133, 0.7),
            (667, 0.78),
            (1333, 0.8),
            (2000, 0.9),
            (2667, 0.99),
            (33_333, 1.0),
        ],
        published_mean: Some(913_703.0),
    },
    BuiltIn {
        name: "hadoop",
        source: "Facebook Hadoop (SIGCOMM 2015), as published with MQ-ECN's simulations (NSDI 2016)",
        unit: SizeUnit::Packets,
        points: &[
            (1, 0.0),
            (24, 0.1),
            (30, 0.2),
            (33, 0.3),
            (33, 0.4),
            (50, 0.5),
            (53, 0.6),
            (67, 0.7),
            (120, 0.8),
            (160, 0.9),
            (200, 0.95),
            (667, 0.96),
            (6667, 0.97),
            (66_667, 0.99),
            (333_333, 1.0),
        ],
        published_mean: Some(4_149_016.0),
    },
    BuiltIn {
        name: "web-search-hpcc",
        source: "web search (DCTCP) in bytes, as in HPCC's and TrafficGenerator's files",
        unit: SizeUnit::Bytes,
        points: &[
            (0, 0.0),
            (10_000, 0.15),
            (20_000, 0.2),
            (30_000, 0.3),
            (50_000, 0.4),
            (80_000, 0.53),
            (200_000, 0.6),
            (1_000_000, 0.7),
            (2_000_000, 0.8),
            (5_000_000, 0.9),
            (10_000_000, 0.97),
            (30_000_000, 1.0),
        ],
        published_mean: None,
    },
    BuiltIn {
        name: "data-mining-trafficgenerator",
        source: "data mining (VL2) in bytes, as in TrafficGenerator's files",
        unit: SizeUnit::Bytes,
        points: &[
            (0, 0.0),
            (180, 0.1),
            (216, 0.2),
            (560, 0.3),
            (900, 0.4),
            (1100, 0.5),
            (1870, 0.6),
            (3160, 0.7),
            (10_000, 0.8),
            (400_000, 0.9),
            (3_160_000, 0.95),
            (100_000_000, 0.98),
            (1_000_000_000, 1.0),
        ],
        published_mean: None,
    },
    BuiltIn {
        name: "hadoop-hpcc",
        source: "Facebook Hadoop (SIGCOMM 2015) in bytes, as in HPCC's files (SIGCOMM 2019)",
        unit: SizeUnit::Bytes,
        points: &[
            (0, 0.0),
            (100, 0.01),
            (200, 0.02),
            (300, 0.05),
            (350, 0.15),
            (400, 0.2),
            (500, 0.3),
            (600, 0.4),
            (700, 0.5),
            (1000, 0.6),
            (2000, 0.67),
            (7000, 0.7),
            (30_000, 0.72),
            (50_000, 0.82),
            (80_000, 0.87),
            (120_000, 0.9),
            (300_000, 0.95),
            (1_000_000, 0.975),
            (2_000_000, 0.99),
            (10_000_000, 1.0),
        ],
        published_mean: None,
    },
    BuiltIn {
        name: "storage-alibaba-hpcc",
        source: "Alibaba storage 2019 in bytes, as in HPCC's files",
        unit: SizeUnit::Bytes,
        points: &[
            (0, 0.0),
            (4000, 0.2293),
            (8000, 0.6921),
            (16_000, 0.8061),
            (32_000, 0.9047),
            (64_000, 0.9353),
            (128_000, 0.9677),
            (256_000, 0.9753),
            (2_000_000, 1.0),
        ],
        published_mean: None,
    },
    BuiltIn {
        name: "cqrd-assumed",
        source: "assumed for CQRD's figure 3 (Computer Networks 2015), whose numbers are lost: 80 % \
                 of flows to 10 KB, 90 % to 100 KB, 97 % to 1 MB, 99.5 % to 10 MB, all to 100 MB, \
                 straight against log size",
        unit: SizeUnit::Bytes,
        points: &[
            (1000, 0.0),
            (1334, 0.1),
            (1778, 0.2),
            (2371, 0.3),
            (3162, 0.4),
            (4217, 0.5),
            (5623, 0.6),
            (7499, 0.7),
            (10_000, 0.8),
            (13_335, 0.8125),
            (17_783, 0.825),
            (23_714, 0.8375),
            (31_623, 0.85),
            (42_170, 0.8625),
            (56_234, 0.875),
            (74_989, 0.8875),
            (100_000, 0.9),
            (133_352, 0.90875),
            (177_828, 0.9175),
            (237_137, 0.92625),
            (316_228, 0.935),
            (421_697, 0.94375),
            (562_341, 0.9525),
            (749_894, 0.96125),
            (1_000_000, 0.97),
            (1_333_521, 0.973125),
            (1_778_279, 0.97625),
            (2_371_374, 0.979375),
            (3_162_278, 0.9825),
            (4_216_965, 0.985625),
            (5_623_413, 0.98875),
            (7_498_942, 0.991875),
            (10_000_000, 0.995),
            (13_335_214, 0.995625),
            (17_782_794, 0.99625),
            (23_713_737, 0.996875),
            (31_622_777, 0.9975),
            (42_169_650, 0.998125),
            (56_234_133, 0.99875),
            (74_989_421, 0.999375),
            (100_000_000, 1.0),
        ],
        published_mean: None,
    },
    BuiltIn {
        name: "cqrd-assumed-short-tail",
        source: "assumed for CQRD's figure 3 (Computer Networks 2015), whose numbers are lost: 80 % \
                 of flows to 10 KB, 90 % to 100 KB, 97 % to 1 MB, all to 10 MB, \
                 straight against log size",
        unit: SizeUnit::Bytes,
        points: &[
            (1000, 0.0),
            (1334, 0.1),
            (1778, 0.2),
            (2371, 0.3),
            (3162, 0.4),
            (4217, 0.5),
            (5623, 0.6),
            (7499, 0.7),
            (10_000, 0.8),
            (13_335, 0.8125),
            (17_783, 0.825),
            (23_714, 0.8375),
            (31_623, 0.85),
            (42_170, 0.8625),
            (56_234, 0.875),
            (74_989, 0.8875),
            (100_000, 0.9),
            (133_352, 0.90875),
            (177_828, 0.9175),
            (237_137, 0.92625),
            (316_228, 0.935),
            (421_697, 0.94375),
            (562_341, 0.9525),
            (749_894, 0.96125),
            (1_000_000, 0.97),
            (1_333_521, 0.97375),
            (1_778_279, 0.9775),
            (2_371_374, 0.98125),
            (3_162_278, 0.985),
            (4_216_965, 0.98875),
            (5_623_413, 0.9925),
            (7_498_942, 0.99625),
            (10_000_000, 1.0),
        ],
        published_mean: None,
    },
];
