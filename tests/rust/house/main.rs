//! The dependency rules of the core, read off its sources: stages import the shared words and nothing
//! of each other, only `hot` reaches for `simd` and `log` for `cold`, and `unsafe` lives where it is expected.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};

const STAGES: [&str; 10] = [
    "cold", "log", "hot", "items", "simd", "tokens", "pack", "evict", "text", "turns",
];
/// Which stage uses which other one.
const USES: [(&str, &str); 4] = [
    ("hot", "simd"),
    ("log", "cold"),
    ("items", "log"),
    ("items", "hot"),
];
const UNSAFE: [&str; 3] = ["cold/map.rs", "simd/x86.rs", "simd/neon.rs"];
/// Lines of code that a file has at most; blank lines and comments do not count.
const CEILING: usize = 400;

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn files(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            out.push(path);
        }
    }
}

fn all() -> Vec<(String, String)> {
    let root = source();
    let mut paths = Vec::new();
    files(&root, &mut paths);
    let mut all: Vec<(String, String)> = paths
        .into_iter()
        .map(|path| {
            let name = path
                .strip_prefix(&root)
                .unwrap()
                .to_string_lossy()
                .replace('\\', "/");
            (name, fs::read_to_string(&path).unwrap())
        })
        .collect();
    all.sort();
    assert!(all.len() > 20, "the sources were not found");
    all
}

/// The code of a file without its tests and comments.
fn code(text: &str) -> String {
    let library = text.split("#[cfg(test)]").next().unwrap_or_default();
    library
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn stages_do_not_import_each_other() {
    for (name, text) in all() {
        let Some(stage) = STAGES
            .iter()
            .find(|stage| name.starts_with(&format!("{stage}/")))
        else {
            continue;
        };
        for other in STAGES.iter().filter(|other| *other != stage) {
            let allowed = USES.contains(&(*stage, *other));
            let (code, path) = (code(&text), format!("crate::{other}"));
            let imports = code.match_indices(&path).any(|(at, _)| {
                let next = code[at + path.len()..].chars().next();
                next.is_none_or(|next| !next.is_alphanumeric()) // `packed` is not `pack`
            });
            assert!(!imports || allowed, "{name} imports {other}");
        }
    }
}

#[test]
fn unsafe_stands_only_where_it_is_expected() {
    for (name, text) in all() {
        let has = code(&text).contains("unsafe {");
        assert_eq!(has, UNSAFE.contains(&name.as_str()), "{name}");
    }
}

#[test]
fn files_stay_under_their_ceiling() {
    for (name, text) in all() {
        let lines = text
            .lines()
            .map(str::trim_start)
            .filter(|line| !line.is_empty() && !line.starts_with("//"))
            .count();
        assert!(
            lines <= CEILING,
            "{name} has {lines} lines of code: it is two concepts"
        );
    }
}

#[test]
fn every_stage_opens_with_its_promise() {
    for stage in STAGES {
        let text = fs::read_to_string(source().join(stage).join("mod.rs")).unwrap();
        let opening: String = text
            .lines()
            .take_while(|line| line.starts_with("//!"))
            .collect();
        assert!(
            opening.to_lowercase().contains("promise"),
            "{stage} promises nothing"
        );
    }
}
