//! The name that was probably meant.

/// The allowed name nearest to `given`, if it is near enough to be a slip.
pub fn nearest<'a>(given: &str, allowed: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// Similarity (Jaro-Winkler) from which a name is suggested.
    const NEAR: f64 = 0.7;
    allowed
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&given.to_lowercase(), name), name))
        .filter(|(similarity, _)| *similarity >= NEAR)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// `unknown WHAT "GIVEN"; did you mean "X"? allowed: …`
pub fn unknown<'a>(
    what: &str,
    given: &str,
    allowed: impl IntoIterator<Item = &'a str> + Clone,
) -> String {
    let suggestion = nearest(given, allowed.clone())
        .map(|name| format!("; did you mean \"{name}\"?"))
        .unwrap_or_default();
    let allowed: Vec<&str> = allowed.into_iter().collect();
    format!(
        "unknown {what} \"{given}\"{suggestion} Allowed: {}",
        allowed.join(", ")
    )
    .replace("\" Allowed", "\". Allowed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_nonsense_is_not() {
        let names = ["copy", "saxpy", "triad", "fma", "sgemm"];
        assert_eq!(nearest("sgem", names), Some("sgemm"));
        assert_eq!(nearest("SAXPY", names), Some("saxpy"));
        assert_eq!(nearest("xyz", names), None);
    }

    #[test]
    fn the_message_lists_what_is_allowed() {
        assert_eq!(
            unknown("kernel", "sgem", ["copy", "sgemm"]),
            "unknown kernel \"sgem\"; did you mean \"sgemm\"? Allowed: copy, sgemm"
        );
        assert_eq!(
            unknown("kernel", "qqq", ["copy", "sgemm"]),
            "unknown kernel \"qqq\". Allowed: copy, sgemm"
        );
    }
}
