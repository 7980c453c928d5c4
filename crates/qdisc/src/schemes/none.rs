//! No scheme at all: the buffer drops what does not fit.

use crate::hooks::Nobody;
use crate::schemes::definition::{About, Definition, Equivalents, marker};
use crate::schemes::site::{Built, Site};
use switchbed_config::params;

params! {
    /// Parameters of the scheme `none`, which has no parameters.
    pub struct NoParams {}
}

impl Definition for Nobody {
    type Params = NoParams;

    const ABOUT: About = About {
        name: "none",
        paper: "",
        summary: "Nothing is marked: the buffer drops what does not fit.",
        source: "",
        seats: marker("none"),
        needs_pool: false,
    };

    const EQUIVALENTS: Equivalents = Equivalents { tc: "bfifo", wred: "off", ..Equivalents::NONE };

    fn acts(_: &NoParams) -> bool {
        false
    }

    fn build(_: &NoParams, site: Site) -> Built {
        site.mark(Nobody)
    }
}
