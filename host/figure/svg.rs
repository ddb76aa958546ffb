//! A drawing as SVG. Text stays text.

use std::fmt::Write as _;

use quick_xml::escape::escape;

use super::font;
use super::scene::{Anchor, Ink, Item, Marker, Scene, Stroke, Text};

/// A drawing as a standalone SVG document of its real size: one unit is one point.
#[must_use]
pub fn document(scene: &Scene) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    out.push_str(&element(scene));
    out
}

/// The same with the typeface inside, about 1.1 MB, for viewers that have none of the same widths.
#[must_use]
pub fn document_with_fonts(scene: &Scene) -> String {
    let document = document(scene);
    let style = format!("<style>\n{}</style>\n", font::rules());
    // Behind the start tag of the root, the first `>` after the declaration's.
    match document.match_indices(">\n").nth(1) {
        Some((end, _)) => {
            let (head, tail) = document.split_at(end + 2);
            format!("{head}{style}{tail}")
        }
        None => document,
    }
}

/// The same without the XML declaration, for a page that holds several.
#[must_use]
pub fn element(scene: &Scene) -> String {
    let mut out = String::with_capacity(256 + 96 * scene.items.len());
    let (width, height) = (number(scene.width), number(scene.height));
    // Writing to a String does not fail.
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}pt\" height=\"{height}pt\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"{}\">",
        font::FAMILY
    );
    for item in &scene.items {
        match item {
            Item::Line { points, stroke } => line(&mut out, points, stroke),
            Item::Area { points, ink, tip } => {
                let _ = writeln!(
                    out,
                    "<path{}{} d=\"{}Z\" fill=\"{}\"/>",
                    class("fill", *ink),
                    data_tip(tip.as_deref()),
                    path(points),
                    ink.hex()
                );
            }
            Item::Marker(marker) => draw_marker(&mut out, marker),
            Item::Text(text) => draw_text(&mut out, text),
        }
    }
    out.push_str("</svg>\n");
    out
}

fn line(out: &mut String, points: &[(f64, f64)], stroke: &Stroke) {
    let dash = stroke.dash.map_or(String::new(), |(dash, gap)| {
        format!(" stroke-dasharray=\"{} {}\"", number(dash), number(gap))
    });
    let _ = writeln!(
        out,
        "<path{} d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{dash}/>",
        class("stroke", stroke.ink),
        path(points),
        stroke.ink.hex(),
        number(stroke.width),
    );
}

fn draw_marker(out: &mut String, marker: &Marker) {
    let (x, y) = marker.at;
    // A hollow marker hides the line under it, so that it reads as hollow.
    let (fill, fill_class) = if marker.hollow {
        (Ink::Paper.hex(), class("fill", Ink::Paper))
    } else {
        (marker.colour, String::new())
    };
    let tip = data_tip(marker.tip.as_deref());
    let paint = format!(
        "{fill_class}{tip} fill=\"{fill}\" stroke=\"{}\" stroke-width=\"0.7\"",
        marker.colour
    );
    let corners = marker.shape.corners(marker.radius);
    let _ = if corners.is_empty() {
        let r = number(marker.radius);
        writeln!(
            out,
            "<circle{paint} cx=\"{}\" cy=\"{}\" r=\"{r}\"/>",
            number(x),
            number(y)
        )
    } else {
        let corners: Vec<_> = corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
        writeln!(out, "<path{paint} d=\"{}Z\"/>", path(&corners))
    };
}

/// What the page's script shows, reachable by keyboard as well.
fn data_tip(tip: Option<&str>) -> String {
    tip.map_or(String::new(), |tip| {
        format!(" data-tip=\"{}\" tabindex=\"0\"", escape(tip))
    })
}

fn draw_text(out: &mut String, text: &Text) {
    let (x, y) = (number(text.at.0), number(text.at.1));
    let anchor = match text.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let weight = if text.bold {
        " font-weight=\"bold\""
    } else {
        ""
    };
    let turn = if text.angle == 0.0 {
        String::new()
    } else {
        format!(" transform=\"rotate({} {x} {y})\"", number(text.angle))
    };
    let _ = writeln!(
        out,
        "<text{} x=\"{x}\" y=\"{y}\" font-size=\"{}\"{weight}{anchor}{turn} fill=\"{}\">{}</text>",
        class("fill", text.ink),
        number(text.size),
        text.ink.hex(),
        escape(text.text.as_str())
    );
}

/// A class for the grey levels, which a page may paint otherwise.
fn class(property: &str, ink: Ink) -> String {
    match ink.name() {
        "" => String::new(),
        name => format!(" class=\"{property}-{name}\""),
    }
}

fn path(points: &[(f64, f64)]) -> String {
    let mut d = String::with_capacity(14 * points.len());
    for (i, (x, y)) in points.iter().enumerate() {
        let command = if i == 0 { 'M' } else { 'L' };
        let _ = write!(d, "{command}{} {}", number(*x), number(*y));
    }
    d
}

/// A coordinate to a hundredth of a point, 3.5 µm, without trailing zeros.
fn number(value: f64) -> String {
    let mut text = format!("{value:.2}");
    let kept = text.trim_end_matches('0').trim_end_matches('.').len();
    text.truncate(kept);
    if text == "-0" { "0".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short() {
        assert_eq!(number(12.0), "12");
        assert_eq!(number(0.126), "0.13");
        assert_eq!(number(-0.001), "0");
        assert_eq!(number(100.0), "100");
    }

    #[test]
    fn text_and_tips_are_escaped() {
        let mut scene = Scene::default();
        scene.items.push(Item::Text(Text {
            at: (1.0, 2.0),
            text: "a < b & \"c\"".to_owned(),
            size: 7.0,
            bold: false,
            anchor: Anchor::Start,
            angle: 0.0,
            ink: Ink::Ink,
        }));
        let svg = document(&scene);
        assert!(svg.contains("a &lt; b &amp; "), "{svg}");
    }
}
