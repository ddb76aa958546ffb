//! A drawing as PNG.

use resvg::tiny_skia::{Pixmap, Transform};

use super::error::FigureError;
use super::scene::Scene;
use super::{font, svg};

/// Points of an inch.
const POINTS: f64 = 72.0;

/// A drawing as PNG on white, with `dpi` pixels an inch.
///
/// # Errors
/// [`FigureError::Draw`] if the picture is too large to be held in memory.
pub fn png(scene: &Scene, dpi: f64) -> Result<Vec<u8>, FigureError> {
    let scale = dpi / POINTS;
    let (width, height) = (scene.width * scale, scene.height * scale);
    let tree = tree(scene, "PNG")?;
    let mut pixels = Pixmap::new(width.ceil() as u32, height.ceil() as u32)
        .ok_or_else(|| failure(format!("{width:.0} x {height:.0} pixels are too many")))?;
    pixels.fill(resvg::tiny_skia::Color::WHITE);
    // The tree's unit is the CSS pixel, of which 96 make an inch.
    let zoom = (dpi / 96.0) as f32;
    resvg::render(
        &tree,
        Transform::from_scale(zoom, zoom),
        &mut pixels.as_mut(),
    );
    pixels.encode_png().map_err(|e| failure(e.to_string()))
}

fn failure(message: String) -> FigureError {
    FigureError::Draw {
        format: "PNG",
        message,
    }
}

/// The drawing as the libraries for pictures take it.
pub(super) fn tree(scene: &Scene, format: &'static str) -> Result<usvg::Tree, FigureError> {
    let options = usvg::Options {
        fontdb: font::database(),
        font_family: "Liberation Sans".to_owned(),
        ..usvg::Options::default()
    };
    usvg::Tree::from_str(&svg::document(scene), &options).map_err(|error| FigureError::Draw {
        format,
        message: error.to_string(),
    })
}
