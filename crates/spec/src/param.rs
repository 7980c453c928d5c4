//! A key of a scenario file ([`switchbed_config::param`]), and what more than one section takes.

pub use switchbed_config::param::*;

/// Hosts: `"all"`, `3`, `"0-7"`, `[0, 1, "4-6"]`. The reader hands over the word or their numbers.
pub const HOSTS: ParamKind = ParamKind::Named(
    "hosts",
    &ParamKind::Either(&[
        ParamKind::Text,
        HOST,
        ParamKind::List(&ParamKind::Either(&[ParamKind::Text, HOST])),
    ]),
);
/// One host, written like several. The reader hands over its number.
pub const ONE_HOST: ParamKind =
    ParamKind::Named("host", &ParamKind::Either(&[HOST, ParamKind::Text]));
/// A host's number.
const HOST: ParamKind = count(0, crate::topology::MAX_HOSTS - 1);

/// A flow-size distribution. The reader hands over its points and its mean.
pub const SIZES: ParamKind = ParamKind::Named(
    "sizes",
    &ParamKind::Either(&[ParamKind::Text, ParamKind::Table(SIZES_TABLE)]),
);
/// One, or several in a list. The reader hands over a list.
pub const SIZES_BY_SERVICE: ParamKind = ParamKind::Either(&[SIZES, ParamKind::List(&SIZES)]);
/// The keys of a flow-size distribution that is written as a table.
pub const SIZES_TABLE: &[Param] = &[
    Param::optional("name", ParamKind::Text, "A built-in table, or what to call these points."),
    Param::optional(
        "file",
        ParamKind::Text,
        "A table from a CSV file, found from the scenario's folder.",
    ),
    Param::optional(
        "points",
        ParamKind::List(&ParamKind::List(&ParamKind::Either(&[ParamKind::Size, FRACTION]))),
        "Points of size and cumulative probability, [[\"10KB\", 0.5], [\"1MB\", 1]]; linear \
         between them.",
    ),
    Param::optional(
        "mean",
        ParamKind::Size,
        "The mean that turns a load into an arrival rate. Default: the table's own.",
    ),
    Param::optional(
        "round_up_to",
        ParamKind::Size,
        "Sizes are rounded up to whole multiples of this. Default: the table's own, or whole \
         bytes.",
    ),
];

/// A file, found from the scenario's folder. The reader hands over its path, if it is there.
pub const FILE: ParamKind = ParamKind::Named("file", &ParamKind::Text);

/// A host profile: its name, or a file of one's own, found from the scenario's folder. The reader
/// hands over the name, or the file's path.
pub const PROFILE: ParamKind = ParamKind::Named("profile", &ParamKind::Text);

/// A port: `leaf0:3`, a switch and its port's number, or `host2`.
pub const PORT: ParamKind = ParamKind::Named("port", &ParamKind::Text);
/// Several.
pub const PORTS: ParamKind = ParamKind::List(&PORT);
