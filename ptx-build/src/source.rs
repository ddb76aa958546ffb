//! The hash that says whether prebuilt PTX belongs to the sources at hand.

use crate::Error;
use crate::compile::FLAGS;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// SHA-256, in lower-case hexadecimal, over the compiler flags and every `.rs` file below
/// `kernels/src`: for each its path relative to `kernels`, its length and its bytes, in the
/// order of the paths.
///
/// # Errors
/// A folder or file that cannot be read.
pub fn sha256(kernels: &Path) -> Result<String, Error> {
    let mut files = Vec::new();
    collect(&kernels.join("src"), &mut files)?;
    files.sort();
    let mut hash = Sha256::new();
    for flag in FLAGS {
        hash.update(flag.as_bytes());
        hash.update([0]);
    }
    for target in crate::TARGETS {
        hash.update(target.as_bytes());
        hash.update([0]);
    }
    for file in files {
        let bytes = std::fs::read(&file).map_err(|e| Error::io("reading", &file, e))?;
        let name = file
            .strip_prefix(kernels)
            .unwrap_or(&file)
            .to_string_lossy()
            .replace('\\', "/");
        hash.update(name.as_bytes());
        hash.update([0]);
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(&bytes);
    }
    Ok(hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

/// Adds every `.rs` file below `dir`.
fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    let entries = std::fs::read_dir(dir).map_err(|e| Error::io("reading", dir, e))?;
    for entry in entries {
        let path = entry.map_err(|e| Error::io("reading", dir, e))?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crate_with(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join("src").join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        dir
    }

    #[test]
    fn depends_on_names_and_contents_but_not_on_the_folder() {
        let one = crate_with(&[("lib.rs", "a"), ("x/y.rs", "b")]);
        let same = crate_with(&[("x/y.rs", "b"), ("lib.rs", "a")]);
        let renamed = crate_with(&[("lib.rs", "a"), ("x/z.rs", "b")]);
        let edited = crate_with(&[("lib.rs", "a"), ("x/y.rs", "c")]);
        let shifted = crate_with(&[("lib.rs", "ab"), ("x/y.rs", "")]);
        let hash = |dir: &tempfile::TempDir| sha256(dir.path()).unwrap();
        assert_eq!(hash(&one), hash(&same));
        assert_ne!(hash(&one), hash(&renamed));
        assert_ne!(hash(&one), hash(&edited));
        assert_ne!(hash(&one), hash(&shifted));
    }

    #[test]
    fn a_missing_folder_is_named() {
        let error = sha256(Path::new("no-such-crate")).unwrap_err();
        assert!(error.to_string().contains("no-such-crate"), "{error}");
    }
}
