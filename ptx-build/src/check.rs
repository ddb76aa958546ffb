//! What PTX must hold before it is shipped.

use gpu_kernels::params::Entry;

/// Checks PTX for `target` against the table of entries.
///
/// # Errors
/// Says what is wrong: another `.target`; an `.extern .func`, which no driver can resolve (a
/// function of `core` that was not inlined, usually a panic path); any call; local memory (an array
/// that did not stay in registers); a missing or unknown entry; an entry of fused arithmetic
/// without `fma.rn.f32`; an entry without launch bounds.
pub fn check(ptx: &str, target: &str, entries: &[Entry]) -> Result<(), String> {
    let lines = || {
        ptx.lines()
            .map(|line| line.split("//").next().unwrap_or(line).trim())
    };
    let found: Vec<&str> = lines()
        .filter_map(|line| line.strip_prefix(".target "))
        .collect();
    let is_target = |line: &str| line.split(',').next().map(str::trim) == Some(target);
    if found.len() != 1 || !is_target(found[0]) {
        return Err(format!("its .target is {found:?}, not {target}"));
    }
    if let Some(line) = lines().find(|line| line.starts_with(".extern .func")) {
        return Err(format!(
            "it calls a function that nothing provides: `{line}` (a panic path or a function of \
             core that was not inlined)"
        ));
    }
    if let Some(line) = lines().find(|line| line.starts_with("call")) {
        return Err(format!(
            "it calls a function instead of inlining it: `{line}` (a panic path: a division or an \
             index that the compiler could not prove safe)"
        ));
    }
    if let Some(line) = lines().find(|line| line.starts_with(".local")) {
        return Err(format!("it keeps an array in local memory: `{line}`"));
    }
    let bodies = bodies(ptx);
    for (name, _) in &bodies {
        if !entries.iter().any(|entry| entry.name == *name) {
            return Err(format!("entry `{name}` is not in the table of params.rs"));
        }
    }
    for entry in entries {
        let Some((_, body)) = bodies.iter().find(|(name, _)| *name == entry.name) else {
            return Err(format!("entry `{}` of params.rs is not in it", entry.name));
        };
        if entry.fused && !body.contains("fma.rn.f32") {
            return Err(format!(
                "entry `{}` has no fma.rn.f32: multiply and add were not fused",
                entry.name
            ));
        }
        if !body.contains(".maxntid") || !body.contains(".minnctapersm") {
            return Err(format!("entry `{}` has no launch bounds", entry.name));
        }
    }
    Ok(())
}

/// Name and text of every entry, from its name to the line that closes its body.
pub fn bodies(ptx: &str) -> Vec<(&str, &str)> {
    const HEAD: &str = ".visible .entry ";
    ptx.match_indices(HEAD)
        .filter_map(|(start, _)| {
            let text = &ptx[start + HEAD.len()..];
            let name = text[..text.find('(')?].trim();
            let end = text.find("\n}").map_or(text.len(), |end| end + 2);
            Some((name, &text[..end]))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "\
.version 7.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 tile[];
.visible .entry one(
\t.param .u64 one_param_0
)
.maxntid 64, 1, 1
.minnctapersm 1
{
\tfma.rn.f32 \t%r1, %r2, %r3, %r4;
\tret;
}
";

    fn entries() -> [Entry; 1] {
        [Entry {
            name: "one",
            max_threads: [64, 1, 1],
            min_blocks_per_sm: 1,
            fused: true,
            cluster: 1,
            only: None,
        }]
    }

    fn refused(ptx: &str) -> String {
        check(ptx, "sm_80", &entries()).unwrap_err()
    }

    #[test]
    fn good_ptx_passes() {
        check(GOOD, "sm_80", &entries()).unwrap();
    }

    #[test]
    fn another_target_is_refused() {
        assert!(refused(&GOOD.replace("sm_80", "sm_30")).contains("sm_30"));
        assert!(check(GOOD, "sm_8", &entries()).is_err());
    }

    #[test]
    fn an_external_function_is_refused_but_external_shared_memory_is_not() {
        let error = refused(&GOOD.replace(".visible", ".extern .func panic();\n.visible"));
        assert!(error.contains("panic"), "{error}");
    }

    #[test]
    fn a_call_is_refused() {
        let error = refused(&GOOD.replace("\tret;", "\tcall.uni panic_const_div_by_zero, ();"));
        assert!(error.contains("panic_const_div_by_zero"), "{error}");
    }

    #[test]
    fn unfused_arithmetic_is_refused() {
        assert!(refused(&GOOD.replace("fma.rn.f32", "mul.rn.f32")).contains("fused"));
    }

    #[test]
    fn local_memory_is_refused() {
        let error = refused(&GOOD.replace(
            "{\n\tfma",
            "{\n\t.local .align 4 .b8 \t__local_depot0[64];\n\tfma",
        ));
        assert!(error.contains("local memory"), "{error}");
    }

    #[test]
    fn entries_must_be_those_of_the_table() {
        assert!(refused(&GOOD.replace("one", "two")).contains("`two`"));
        let both = [
            entries()[0],
            Entry {
                name: "other",
                ..entries()[0]
            },
        ];
        assert!(check(GOOD, "sm_80", &both).unwrap_err().contains("`other`"));
    }

    #[test]
    fn missing_bounds_are_refused() {
        assert!(refused(&GOOD.replace(".minnctapersm 1\n", "")).contains("launch bounds"));
    }
}
