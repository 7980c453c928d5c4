//! Names the build by its sources: the manifest of a run records which code made it,
//! also where there is no version control or the tree has uncommitted changes.

use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![root.join("Cargo.lock"), root.join("Cargo.toml")];
    sources(&root.join("crates"), &mut files);
    files.sort();
    let mut hash = Fnv::new();
    for file in &files {
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.strip_prefix(&root).unwrap_or(file);
        hash.eat(name.to_string_lossy().as_bytes());
        hash.eat(&fs::read(file).unwrap_or_default());
    }
    println!("cargo::rerun-if-changed={}", root.join("crates").display());
    println!("cargo::rustc-env=SWITCHBED_BUILD={:016x}", hash.0);
}

/// Everything below `folder` that goes into the build.
fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.')) {
            files.push(path);
        }
    }
}

/// FNV-1a, 64 bits: the standard library's hasher may change between compilers.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
    fn eat(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
