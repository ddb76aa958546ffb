//! The typeface that ships with the program, so that a figure is the same everywhere.
//!
//! Liberation Sans (SIL Open Font License 1.1) has the advance widths of Arial and Helvetica:
//! where an SVG is shown without the embedded fonts, those stand in without a label moving.

use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use ttf_parser::Face;

/// The regular weight, as TrueType.
pub const REGULAR: &[u8] = include_bytes!("fonts/LiberationSans-Regular.ttf");
/// The bold weight, as TrueType.
pub const BOLD: &[u8] = include_bytes!("fonts/LiberationSans-Bold.ttf");
/// What an SVG asks for: the shipped typeface, then those with the same widths.
pub const FAMILY: &str = "'Liberation Sans', Arial, Helvetica, sans-serif";

/// Both weights as style rules that carry them, for pages and pictures that must not depend on
/// what is installed.
#[must_use]
pub fn rules() -> String {
    let rule = |weight, data| {
        let data = base64::engine::general_purpose::STANDARD.encode(data);
        format!(
            "@font-face {{ font-family: 'Liberation Sans'; font-weight: {weight}; \
             src: url(data:font/ttf;base64,{data}) format('truetype'); }}\n"
        )
    };
    rule("normal", REGULAR) + &rule("bold", BOLD)
}

/// Width of `text` set at `size`, in the unit of `size`. Without kerning, which makes it an
/// upper bound for Latin text.
#[must_use]
pub fn width(text: &str, size: f64, bold: bool) -> f64 {
    static FACES: OnceLock<[Option<Face<'static>>; 2]> = OnceLock::new();
    /// Advance of a glyph that the typeface lacks, in em.
    const MISSING: f64 = 0.6;
    let faces = FACES.get_or_init(|| [REGULAR, BOLD].map(|data| Face::parse(data, 0).ok()));
    let Some(face) = &faces[usize::from(bold)] else {
        return MISSING * size * text.chars().count() as f64;
    };
    let em = f64::from(face.units_per_em());
    text.chars()
        .map(|c| {
            let advance = face
                .glyph_index(c)
                .and_then(|id| face.glyph_hor_advance(id));
            size * advance.map_or(MISSING, |units| f64::from(units) / em)
        })
        .sum()
}

/// The shipped typeface for the libraries that draw SVG; no font of the system is used.
#[must_use]
pub(super) fn database() -> Arc<usvg::fontdb::Database> {
    static DATABASE: OnceLock<Arc<usvg::fontdb::Database>> = OnceLock::new();
    DATABASE
        .get_or_init(|| {
            let mut database = usvg::fontdb::Database::new();
            database.load_font_data(REGULAR.to_vec());
            database.load_font_data(BOLD.to_vec());
            database.set_sans_serif_family("Liberation Sans");
            Arc::new(database)
        })
        .clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_the_typeface() {
        // Advance widths of the digits are 1139 of 2048 units.
        assert!((width("0123456789", 10.0, false) - 10.0 * 11390.0 / 2048.0).abs() < 1e-9);
        assert!(width("W", 10.0, true) > width("i", 10.0, true));
    }

    #[test]
    fn every_sign_that_figures_use_has_a_glyph() {
        let face = Face::parse(REGULAR, 0).unwrap();
        for sign in "0aZµ·×%/–±≥√…".chars() {
            assert!(face.glyph_index(sign).is_some(), "{sign}");
        }
    }
}
