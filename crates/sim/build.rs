//! A hash of the crates' sources, so that results say which code they come from.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

fn main() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    if !crates.join("qdisc/src").is_dir() {
        // A published crate: it names the versions of the others, and they the code.
        println!("cargo::rustc-env=SWITCHBED_BUILD={}", env!("CARGO_PKG_VERSION"));
        return;
    }
    let mut files = Vec::new();
    for name in ["units", "config", "wire", "qdisc", "congestion", "scenario", "sim"] {
        let src = crates.join(name).join("src");
        println!("cargo::rerun-if-changed={}", src.display());
        collect(&src, &mut files);
    }
    files.sort();
    // Fixed keys: the same sources give the same hash.
    let mut hasher = DefaultHasher::new();
    for file in files {
        let name = file.strip_prefix(&crates).expect("below the crates");
        name.to_string_lossy().hash(&mut hasher);
        fs::read(&file).expect("a readable source").hash(&mut hasher);
    }
    println!("cargo::rustc-env=SWITCHBED_BUILD={:016x}", hasher.finish());
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a readable folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            files.push(path);
        }
    }
}
