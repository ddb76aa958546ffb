//! A drawing as PDF.

use super::error::FigureError;
use super::raster::tree;
use super::scene::Scene;

/// A drawing as a PDF of one page of its size. Lines stay lines, text stays text, and the
/// glyphs it uses are embedded.
///
/// # Errors
/// [`FigureError::Draw`] with what the library said.
pub fn pdf(scene: &Scene) -> Result<Vec<u8>, FigureError> {
    let conversion = svg2pdf::ConversionOptions {
        embed_text: true,
        ..svg2pdf::ConversionOptions::default()
    };
    // The tree's unit is the CSS pixel: 96 of them an inch keep the size of the drawing.
    let page = svg2pdf::PageOptions { dpi: 96.0 };
    svg2pdf::to_pdf(&tree(scene, "PDF")?, conversion, page).map_err(|error| FigureError::Draw {
        format: "PDF",
        message: error.to_string(),
    })
}
