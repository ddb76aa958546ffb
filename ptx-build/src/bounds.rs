//! Writes launch bounds, and the alignment of tensor maps, into PTX. rustc has no attribute for
//! them.

use gpu_kernels::params::Entry;

/// How rustc writes a parameter of 16-byte alignment: tensor maps are the only ones.
const PARAMETER: &str = ".param .align 16 .b8 ";
/// How it has to be.
const ALIGNED_PARAMETER: &str = ".param .align 64 .b8 ";

/// Inserts `.maxntid` and `.minnctapersm` behind the parameter list of every entry.
///
/// ptxas then knows how many registers a thread may take; the driver refuses larger blocks.
///
/// # Errors
/// An entry of the table that the PTX does not have.
pub fn inject(ptx: &str, entries: &[Entry]) -> Result<String, String> {
    let mut text = ptx.to_owned();
    for entry in entries {
        let head = format!(".visible .entry {}(", entry.name);
        let start = text
            .find(&head)
            .ok_or_else(|| format!("entry `{}` of params.rs is not in it", entry.name))?;
        let brace = text[start..]
            .find('{')
            .map(|offset| start + offset)
            .ok_or_else(|| format!("entry `{}` has no body", entry.name))?;
        let parameters = text[start..brace].replace(PARAMETER, ALIGNED_PARAMETER);
        text.replace_range(start..brace, &parameters);
        let brace = start + parameters.len();
        let [x, y, z] = entry.max_threads;
        let mut bounds = format!(
            ".maxntid {x}, {y}, {z}\n.minnctapersm {}\n",
            entry.min_blocks_per_sm
        );
        if entry.cluster > 1 {
            bounds.push_str(&format!(".reqnctapercluster {}, 1, 1\n", entry.cluster));
        }
        text.insert_str(brace, &bounds);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = ".visible .entry one(\n\t.param .u64 one_param_0\n)\n{\n\tret;\n}\n";

    fn entry(name: &'static str) -> Entry {
        Entry {
            name,
            max_threads: [64, 2, 1],
            min_blocks_per_sm: 3,
            cluster: 1,
            fused: false,
            only: None,
        }
    }

    #[test]
    fn bounds_stand_between_the_parameters_and_the_body() {
        let text = inject(PTX, &[entry("one")]).unwrap();
        assert!(
            text.contains(")\n.maxntid 64, 2, 1\n.minnctapersm 3\n{"),
            "{text}"
        );
    }

    #[test]
    fn an_entry_that_is_not_there_is_named() {
        let error = inject(PTX, &[entry("two")]).unwrap_err();
        assert!(error.contains("`two`"), "{error}");
    }
}
