//! Switch chips by name: their packet memory as the configurations that ship for SONiC give it out, and
//! what follows from it (docs/asic.md). What no file shows is absent.
//!
//! All is counted in cells, each size rounded down. A chip's ports are in partitions that share nothing.
//! A group (of an input's classes) filled with n - 1 others pauses at r + α·S/(1 + n·α), and a lossy queue alone
//! drops at r + α·S/(1 + α): r is its reserve, S what its partition shares. Agreement with what
//! was counted on switches (sonic-mgmt, tests/qos/files) is tested below.

use switchbed_config::param::{Field, ParamKind, Serialize, Serializer, Value};

/// A chip as a switch that has it gives its memory out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chip {
    /// Name in scenario files.
    pub name: &'static str,
    /// The switch whose configuration this is.
    pub switch: &'static str,
    /// Parts of the names that SONiC has for switches with it (platform or hwsku, in small letters and digits alone):
    /// platform/mellanox/asic_table.j2 and device/ of sonic-buildimage, ansible/group_vars/sonic/variables of
    /// sonic-mgmt.
    pub models: &'static [&'static str],
    /// Memory is given out in cells of so many bytes.
    pub cell: u32,
    /// Parts of the memory, each for as many ports; `None`: not known.
    pub partitions: Option<u32>,
    /// The switch's ports.
    pub ports: u32,
    /// The memory, and where this is read off.
    pub memory: (u64, &'static str),
    /// The pool that inputs are charged to: its size, what of it or beside it is headroom.
    pub ingress: Ingress,
    /// The pool that lossy queues share, in bytes.
    pub lossy: Option<u64>,
    /// log₂ α of a lossless group.
    pub alpha_group: Option<i8>,
    /// log₂ α of a lossy queue.
    pub alpha_queue: Option<i8>,
    /// log₂ α of a port, where queues' thresholds multiply with their port's.
    pub alpha_port: Option<i8>,
    /// Bytes reserved for a lossy queue.
    pub queue_reserve: Option<u64>,
    /// Bytes reserved for a lossless group.
    pub group_reserve: Option<u64>,
    /// Cells counted on switches.
    pub observed: &'static [Observed],
    /// The files.
    pub source: &'static str,
    /// Further remarks for the reader.
    pub note: &'static str,
}

/// The inputs' pool, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ingress {
    /// Value `size` of the profile.
    pub size: u64,
    /// Headroom, `xoff`, of the profile.
    pub xoff: Option<u64>,
    /// `size` holds headroom and all reserves (which of the two a file means, it does not say).
    pub gross: bool,
}

/// Count that was made on a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observed {
    /// Number of groups, filled alike, and the cells of each as it paused.
    Pause {
        /// Groups.
        groups: u32,
        /// Cells.
        cells: u64,
    },
    /// A lossy queue alone dropped at so many cells.
    Drop {
        /// Cells.
        cells: u64,
    },
}

/// Groups and queues whose reserves a gross pool holds, as shipped: two lossless groups a port, and
/// five lossy queues, a queue once in each partition.
const GROUPS: u64 = 2;
const QUEUES: u64 = 5;

impl Chip {
    /// The chip of this name.
    pub fn named(name: &str) -> Option<&'static Chip> {
        CHIPS.iter().find(|chip| chip.name == name)
    }

    /// Cells of so many bytes.
    pub fn cells(&self, bytes: u64) -> u64 {
        bytes / u64::from(self.cell)
    }

    /// Partitions; where it is not known one is taken.
    pub fn parts(&self) -> u32 {
        self.partitions.unwrap_or(1)
    }

    /// A group's own cells.
    pub fn group_cells(&self) -> u64 {
        self.cells(self.group_reserve.unwrap_or(0))
    }

    /// A queue's own cells.
    pub fn queue_cells(&self) -> u64 {
        self.cells(self.queue_reserve.unwrap_or(0))
    }

    /// Returns the cells that the inputs share, over all partitions.
    pub fn ingress_cells(&self) -> u64 {
        let Ingress { size, xoff, gross } = self.ingress;
        if !gross {
            return self.cells(size);
        }
        let own =
            GROUPS * self.group_cells() + u64::from(self.parts()) * QUEUES * self.queue_cells();
        self.cells(size - xoff.unwrap_or(0)).saturating_sub(u64::from(self.ports) * own)
    }

    /// Returns the cells that lossy queues share, over all partitions.
    pub fn lossy_cells(&self) -> Option<u64> {
        Some(self.cells(self.lossy?))
    }

    /// α of a lossy queue. Where its threshold multiplies with its port's: what has the same effect
    /// on a queue that has its port alone, α_p·α_q/(1 + α_q).
    pub fn queue_alpha(&self) -> Option<f64> {
        let alpha = libm::exp2(f64::from(self.alpha_queue?));
        let port = self.alpha_port.map(|port| libm::exp2(f64::from(port)));
        Some(port.map_or(alpha, |port| port * alpha / (1.0 + alpha)))
    }

    /// Where a lossy queue alone drops, in cells.
    pub fn queue_limit(&self) -> Option<f64> {
        let (alpha, shared) = (self.queue_alpha()?, self.lossy_cells()? as f64);
        let part = shared / f64::from(self.parts());
        Some(self.queue_cells() as f64 + alpha * part / (1.0 + alpha))
    }

    /// Where so many lossless groups that are filled alike pause, in cells.
    pub fn pause(&self, groups: u32) -> Option<f64> {
        let alpha = libm::exp2(f64::from(self.alpha_group?));
        let part = self.ingress_cells() as f64 / f64::from(self.parts());
        Some(self.group_cells() as f64 + alpha * part / (1.0 + f64::from(groups) * alpha))
    }

    /// Returns the model's value for a count.
    pub fn modelled(&self, observed: Observed) -> Option<f64> {
        match observed {
            Observed::Pause { groups, .. } => self.pause(groups),
            Observed::Drop { .. } => self.queue_limit(),
        }
    }
}

impl Observed {
    /// The cells.
    pub fn cells(self) -> u64 {
        match self {
            Observed::Pause { cells, .. } | Observed::Drop { cells } => cells,
        }
    }
}

/// A chip as files name it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asic(pub &'static Chip);

const NAMES: [&str; CHIPS.len()] = {
    let mut names = [""; CHIPS.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = CHIPS[i].name;
        i += 1;
    }
    names
};

impl Field for Asic {
    const KIND: ParamKind = ParamKind::Word(&NAMES);

    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Word(word) => Chip::named(&word).map(Asic),
            _ => None,
        }
    }

    fn to_value(&self) -> Option<Value> {
        Some(Value::Word(self.0.name.to_owned()))
    }
}

impl Serialize for Asic {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.0.name)
    }
}

const UNKNOWN: Chip = Chip {
    name: "",
    switch: "",
    models: &[],
    cell: 1,
    partitions: None,
    ports: 0,
    memory: (0, ""),
    ingress: Ingress { size: 0, xoff: None, gross: false },
    lossy: None,
    alpha_group: None,
    alpha_queue: None,
    alpha_port: None,
    queue_reserve: None,
    group_reserve: None,
    observed: &[],
    source: "",
    note: "",
};
const POOL: &str = "pool size";
const EGRESS: &str = "egress_lossless_pool size";

/// Nvidia's, whose pools are alike.
const SPECTRUM: Chip = Chip {
    cell: 144,
    partitions: Some(1),
    alpha_group: Some(0),
    alpha_queue: Some(3),
    queue_reserve: Some(0),
    ..UNKNOWN
};

/// All of them.
pub const CHIPS: &[Chip] = &[
    Chip {
        name: "trident-2",
        switch: "Force10-S6000 (32x40G)",
        models: &["s6000", "7050qx32", "nexus3132", "nexus3164"],
        cell: 208,
        ports: 32,
        memory: (12_766_208, POOL),
        ingress: Ingress { size: 12_766_208, xoff: None, gross: false },
        lossy: Some(7_326_924),
        alpha_group: Some(-4),
        alpha_queue: Some(3),
        queue_reserve: Some(1518),
        group_reserve: Some(1248),
        source: "device/dell/x86_64-dell_s6000_s1220-r0/Force10-S6000; tests/qos/files/qos_params.td2.yaml (cell)",
        ..UNKNOWN
    },
    Chip {
        name: "trident-3",
        switch: "Arista-7050CX3-32S-C32 (32x100G)",
        models: &["7050cx332"],
        cell: 256,
        partitions: Some(1),
        ports: 32,
        memory: (32_712_448, "pool size, headroom pool included"),
        ingress: Ingress { size: 32_712_448, xoff: Some(1_622_016), gross: true },
        lossy: Some(32_599_040),
        alpha_group: Some(0),
        alpha_queue: Some(3),
        queue_reserve: Some(1792),
        group_reserve: Some(4608),
        observed: &[
            Observed::Pause { groups: 1, cells: 59_605 },
            Observed::Drop { cells: 113_198 },
        ],
        source: "device/arista/x86_64-arista_7050cx3_32s/Arista-7050CX3-32S-C32/BALANCED; qos_params.td3.yaml (topo-t1-lag)",
        note: "its file's egress_lossy_pool of 24709632 bytes would have a queue drop at 85,804 cells; the switch \
               dropped at 113,198, as by the size of egress_lossless_pool, which is taken here",
        ..UNKNOWN
    },
    Chip {
        name: "trident-4",
        switch: "Nokia-IXR7220-D4-36D (28x100G + 8x400G)",
        models: &["ixr7220d4"],
        cell: 318,
        ports: 36,
        memory: (84_219_120, POOL),
        ingress: Ingress { size: 84_219_120, xoff: Some(20_325_220), gross: true },
        lossy: Some(84_219_120),
        alpha_group: Some(0),
        alpha_queue: Some(-4),
        queue_reserve: Some(0),
        group_reserve: Some(1272),
        source: "device/nokia/x86_64-nokia_ixr7220_d4-r0/Nokia-IXR7220-D4-36D",
        note: "cell from divisibility of every size in its files by 318; partitions are not known",
        ..UNKNOWN
    },
    Chip {
        name: "tomahawk",
        switch: "Force10-S6100 (64x40G), Arista-7060CX-32S (32x100G)",
        models: &["s6100", "7060cx32s", "dx010"],
        cell: 208,
        partitions: Some(4),
        ports: 32,
        memory: (15_069_184, "pool + xoff"),
        ingress: Ingress { size: 10_875_072, xoff: Some(4_194_112), gross: false },
        lossy: Some(9_243_812),
        alpha_group: Some(0),
        alpha_queue: Some(3),
        queue_reserve: Some(1518),
        group_reserve: Some(1248),
        observed: &[
            Observed::Pause { groups: 1, cells: 6542 },
            Observed::Pause { groups: 4, cells: 2620 },
        ],
        source: "device/common/profiles/th/6100/BALANCED; qos_params.th.yaml",
        note: "a port reaches a quarter; a lossy queue was seen to drop at 9887 cells, 4 above the model",
        ..UNKNOWN
    },
    Chip {
        name: "tomahawk-2",
        switch: "Arista-7260CX3-C64 (64x100G)",
        models: &["7260cx3"],
        cell: 208,
        partitions: Some(4),
        ports: 64,
        memory: (41_156_544, "pool + xoff (T0)"),
        ingress: Ingress { size: 33_329_088, xoff: Some(7_827_456), gross: false },
        lossy: Some(26_663_272),
        alpha_group: Some(0),
        alpha_queue: Some(-1),
        queue_reserve: Some(1664),
        group_reserve: Some(1248),
        observed: &[Observed::Pause { groups: 1, cells: 20_034 }, Observed::Drop { cells: 10_692 }],
        source: "device/arista/x86_64-arista_7260cx3_64; qos_params.th2.yaml (topo-any)",
        note: "a port reaches a quarter",
        ..UNKNOWN
    },
    Chip {
        name: "tomahawk-3",
        switch: "DellEMC-Z9332f-O32 (32x400G)",
        models: &["z9332f"],
        cell: 254,
        partitions: Some(2),
        ports: 32,
        memory: (67_117_468, "static_th of egress_lossless_profile"),
        ingress: Ingress { size: 66_394_076, xoff: Some(27_200_352), gross: true },
        lossy: Some(38_462_204),
        alpha_group: Some(-2),
        alpha_queue: Some(1),
        queue_reserve: Some(1778),
        group_reserve: Some(2540),
        observed: &[Observed::Pause { groups: 1, cells: 15_152 }, Observed::Drop { cells: 50_482 }],
        source: "device/dell/x86_64-dellemc_z9332f_d1508-r0; qos_params.th3.yaml (topo-t1-lag)",
        note: "a port reaches a half",
        ..UNKNOWN
    },
    Chip {
        name: "tomahawk-4",
        switch: "DellEMC-Z9664f-O64, Nokia-IXR7220-H4-64D (64x400G)",
        models: &["z9664f", "ixr7220h4", "7060dx5"],
        cell: 254,
        ports: 64,
        memory: (113_620_296, POOL),
        ingress: Ingress { size: 113_620_296, xoff: Some(50_653_696), gross: true },
        lossy: Some(113_620_296),
        alpha_queue: Some(2),
        source: "device/dell/x86_64-dell_z9664f-r0/DellEMC-Z9664f-O64",
        note: "partitions and reserves are not known; Nokia's egress pool is half of its ingress pool",
        ..UNKNOWN
    },
    Chip {
        name: "tomahawk-5",
        switch: "Arista-7060X6-64PE (64x800G)",
        models: &["7060x664"],
        cell: 254,
        partitions: Some(2),
        ports: 64,
        memory: (167_546_528, "static_th of profiles"),
        ingress: Ingress { size: 164_733_224, xoff: Some(17_962_880), gross: true },
        lossy: Some(164_733_224),
        alpha_group: Some(0),
        alpha_queue: Some(0),
        queue_reserve: Some(1778),
        group_reserve: Some(8636),
        observed: &[Observed::Pause { groups: 1, cells: 142_285 }],
        source: "device/arista/x86_64-arista_7060x6_64pe_b/Arista-7060X6-64PE-B-P64; qos_params.th5.yaml",
        note: "a port reaches a half; where lossy queues drop was not compared",
        ..UNKNOWN
    },
    Chip {
        name: "tomahawk-6",
        switch: "NH-4210-F-P128 (128x800G)",
        models: &["nexthop4210", "nh4210"],
        cell: 420,
        partitions: Some(1),
        ports: 128,
        memory: (258_035_400, POOL),
        ingress: Ingress { size: 258_035_400, xoff: Some(81_553_920), gross: true },
        lossy: Some(258_035_400),
        alpha_group: Some(0),
        alpha_queue: Some(0),
        source: "device/nexthop/x86_64-nexthop_4210-r0",
        note: "reserves are not known",
        ..UNKNOWN
    },
    Chip {
        name: "spectrum-1",
        switch: "SN2700 (32x100G)",
        models: &["sn2010", "sn2100", "sn2201", "sn2410", "sn2700", "sn2740"],
        cell: 96,
        ports: 32,
        memory: (13_945_824, EGRESS),
        ingress: Ingress { size: 3_302_912, xoff: None, gross: false },
        lossy: Some(3_302_912),
        source: "device/mellanox/x86_64-mlnx_msn2700-r0/ACS-MSN2700 (T1); platform/mellanox/asic_table.j2 (cell)",
        note: "T0 has pools of 4580864",
        ..SPECTRUM
    },
    Chip {
        name: "spectrum-2",
        switch: "SN3700 (32x200G)",
        models: &["sn3420", "sn3700", "sn3800"],
        ports: 32,
        memory: (34_287_552, EGRESS),
        ingress: Ingress { size: 11_622_400, xoff: None, gross: false },
        lossy: Some(11_622_400),
        source: "device/mellanox/x86_64-mlnx_msn3700-r0/ACS-MSN3700 (T1); platform/mellanox/asic_table.j2 (cell)",
        note: "T0 has pools of 14542848",
        ..SPECTRUM
    },
    Chip {
        name: "spectrum-3",
        switch: "SN4600C (64x100G)",
        models: &["sn4280", "sn4410", "sn4600", "sn4700", "sn4800"],
        ports: 64,
        memory: (60_817_392, EGRESS),
        ingress: Ingress { size: 48_332_800, xoff: Some(5_275_648), gross: false },
        lossy: Some(48_332_800),
        source: "device/mellanox/x86_64-mlnx_msn4600c-r0/Mellanox-SN4600C-C64 (T1); platform/mellanox/asic_table.j2 (cell)",
        note: "T0 has 51511296 and headroom of 2097152; the SN4700 (32x400G) has this chip, too",
        ..SPECTRUM
    },
    Chip {
        name: "spectrum-4",
        switch: "SN5600 (64x800G + 1)",
        models: &["sn5400", "sn5600", "sn5610n"],
        cell: 192,
        ports: 65,
        memory: (158_229_504, EGRESS),
        ingress: Ingress { size: 52_161_690, xoff: None, gross: false },
        lossy: Some(52_161_690),
        alpha_port: Some(7),
        source: "device/mellanox/x86_64-nvidia_sn5600-r0/ACS-SN5600 (T1); platform/mellanox/asic_table.j2 (cell)",
        note: "T0 has pools of 67737959",
        ..SPECTRUM
    },
    Chip {
        name: "spectrum-5",
        switch: "SN5640 (up to 512x100G + 2)",
        models: &["sn5640"],
        cell: 192,
        ports: 514,
        memory: (136_209_408, EGRESS),
        ingress: Ingress { size: 136_209_408, xoff: None, gross: false },
        alpha_port: Some(7),
        source: "device/mellanox/x86_64-nvidia_sn5640-r0; platform/mellanox/asic_table.j2 (cell)",
        note: "its pools for lossy traffic are not known, so it cannot be simulated",
        ..SPECTRUM
    },
    Chip {
        name: "spectrum-6",
        switch: "SN6600_LD (up to 128x800G + 2)",
        models: &["sn6600"],
        cell: 256,
        ports: 130,
        memory: (226_492_416, EGRESS),
        ingress: Ingress { size: 226_492_416, xoff: None, gross: false },
        alpha_port: Some(7),
        source: "device/mellanox/x86_64-nvidia_sn6600_ld-r0; platform/mellanox/asic_table.j2 (cell)",
        note: "its pools for lossy traffic are not known, so it cannot be simulated",
        ..SPECTRUM
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chips_hold_what_was_counted_on_switches_within_two_cells() {
        let mut seen = 0;
        for chip in CHIPS {
            for &observed in chip.observed {
                let modelled = chip.modelled(observed).expect("its numbers are known");
                let off = (modelled - observed.cells() as f64).abs();
                assert!(off <= 2.0, "{}: {observed:?} is {modelled}", chip.name);
                seen += 1;
            }
        }
        assert_eq!(seen, 9);
    }

    #[test]
    fn sums_by_hand() {
        let cells = |name: &str| Chip::named(name).unwrap();
        // (66,394,076 - 27,200,352)/254 less 32 ports' 2·10 + 2·5·7.
        assert_eq!(cells("tomahawk-3").ingress_cells(), 154_306 - 32 * 90);
        assert_eq!(cells("tomahawk-3").pause(1), Some(10.0 + 0.25 * 75_713.0 / 1.25));
        // 7 + 8/9·127,340.
        assert_eq!(cells("trident-3").queue_limit(), Some(7.0 + 8.0 * 127_340.0 / 9.0));
        assert_eq!(cells("tomahawk").pause(4), Some(6.0 + 13_071.0 / 5.0));
        // Pool·α_p·α_q/(1 + α_q + α_p·α_q).
        let spectrum = cells("spectrum-4");
        let pool = (52_161_690 / 192) as f64;
        let limit = pool * 1024.0 / (1.0 + 8.0 + 1024.0);
        assert!((spectrum.queue_limit().unwrap() - limit).abs() < 1e-6);
    }

    #[test]
    fn a_model_has_one_chip() {
        let all = || CHIPS.iter().flat_map(|chip| chip.models.iter().map(move |m| (chip.name, *m)));
        for (chip, model) in all() {
            assert!(all().all(|(other, one)| other == chip || !one.contains(model)), "{model}");
        }
    }

    #[test]
    fn names_are_unique_and_what_is_not_known_stays_so() {
        for (i, chip) in CHIPS.iter().enumerate() {
            assert!(CHIPS[..i].iter().all(|other| other.name != chip.name));
            assert!(chip.memory.0 > 0 && chip.ports > 0 && !chip.source.is_empty());
            assert_eq!(chip.queue_limit().is_some(), chip.lossy.is_some());
        }
        assert_eq!(Chip::named("tomahawk-4").unwrap().pause(1), None);
        assert_eq!(Chip::named("spectrum-5").unwrap().queue_limit(), None);
    }
}
