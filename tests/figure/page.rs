//! The report, as text and in a browser.

use crate::sample;
use resvg::tiny_skia::Pixmap;
use rooftrace::figure::palette::COLOURS;
use rooftrace::figure::report::{page, text};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The browser, or nothing where none is installed.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn chromium() -> Option<&'static str> {
    let found = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| {
            Command::new(name)
                .arg("--version")
                .output()
                .is_ok_and(|out| out.status.success())
        });
    if found.is_none() {
        eprintln!("SKIPPED: no chromium is installed (Debian: apt install chromium)");
    }
    found
}

fn headless(browser: &str, profile: &Path) -> Command {
    let mut command = Command::new(browser);
    command
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
        ])
        .args(["--window-size=1000,2400", "--virtual-time-budget=3000"])
        .arg(format!("--user-data-dir={}", profile.display()));
    command
}

#[test]
fn the_page_needs_nothing_besides_itself() {
    let page = page(&sample::ladder(), false).unwrap();
    // Namespaces are names, not addresses that are fetched.
    let page = page.replace("http://www.w3.org/2000/svg", "");
    for address in [
        "http://", "https://", "//cdn", "@import", "src=\"", "href=\"",
    ] {
        assert!(!page.contains(address), "{address}");
    }
}

#[test]
fn the_page_has_every_section_figure_and_row() {
    let rows = sample::ladder();
    let page = page(&rows, false).unwrap();
    let place = |section: &str| page.find(&format!("<section id=\"{section}\">"));
    assert!(place("roofline") < place("verdicts") && place("verdicts") < place("figures"));
    for section in [
        "roofline",
        "verdicts",
        "figures",
        "measurements",
        "method",
        "provenance",
    ] {
        assert!(
            page.contains(&format!("<section id=\"{section}\">")),
            "{section}"
        );
    }
    for caption in ["Roofline", "Throughput", "Variants", "Speedup"] {
        assert!(
            page.contains(&format!("<figcaption>{caption}</figcaption>")),
            "{caption}"
        );
    }
    assert_eq!(page.matches("<tr><td>").count(), rows.len());
    for text in [
        "Memory roof 4.33 TB/s measured (90.2 % of the datasheet&apos;s)",
        "Ridge point at 13.94 FLOP/byte, datasheet.",
        "580.65",
        "0123456789abcdef",
    ] {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn names_cannot_break_out_of_the_page() {
    let mut rows = sample::sweep();
    for row in &mut rows {
        row.device = "<script>alert(1)</script>\"".to_owned();
        row.variant = "\"><b>".to_owned();
    }
    let page = page(&rows, false).unwrap();
    assert!(!page.contains("<script>alert") && !page.contains("\"><b>"));
}

#[test]
fn in_a_browser_points_labels_hover_and_zoom_are_there() {
    let Some(browser) = chromium() else { return };
    let folder = tempfile::tempdir().unwrap();
    // Measures what the reader sees, and leaves the findings in an attribute of the page.
    const PROBE: &str = "<script>
      const texts = [...document.querySelectorAll('svg text')];
      const points = [...document.querySelectorAll('[data-tip]')];
      const seen = (e) => { const b = e.getBoundingClientRect(); return b.width > 1 && b.height > 1; };
      const inside = texts.filter((t) => {
        const [b, s] = [t.getBoundingClientRect(), t.closest('svg').getBoundingClientRect()];
        return b.left >= s.left - 1 && b.right <= s.right + 1 && b.top >= s.top - 1 && b.bottom <= s.bottom + 1;
      });
      const box = points[0].getBoundingClientRect();
      points[0].dispatchEvent(new PointerEvent('pointermove',
        { bubbles: true, clientX: box.left, clientY: box.top }));
      const tip = document.getElementById('tip');
      const shown = !tip.hidden && tip.textContent === points[0].dataset.tip;
      const svg = document.querySelector('figure svg');
      document.querySelector('[data-zoom=in]').click();
      const zoomed = svg.viewBox.baseVal.width < 504;
      document.querySelector('[data-zoom=reset]').click();
      const reset = svg.viewBox.baseVal.width === 504;
      tip.hidden = true;
      document.body.dataset.probe = [texts.length, texts.filter(seen).length, inside.length,
        points.length, points.filter(seen).length, shown, zoomed, reset,
        document.fonts.check('10px \"Liberation Sans\"')].join(' ');
    </script></body>";
    let html = page(&sample::ladder(), false)
        .unwrap()
        .replace("</body>", PROBE);
    let path = folder.path().join("report.html");
    fs::write(&path, html).unwrap();
    let address = format!("file://{}", path.display());
    let dump = headless(browser, &folder.path().join("a"))
        .arg("--dump-dom")
        .arg(&address)
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&dump.stdout);
    let (_, probe) = dom.rsplit_once("data-probe=\"").expect("the probe ran");
    let found: Vec<&str> = probe.split_once('"').unwrap().0.split(' ').collect();
    let count = |i: usize| found[i].parse::<usize>().unwrap();
    assert!(count(0) > 80, "{found:?}");
    assert_eq!(
        (count(1), count(2)),
        (count(0), count(0)),
        "texts seen and inside: {found:?}"
    );
    assert!(count(3) > 150, "{found:?}");
    assert_eq!(count(4), count(3), "points seen: {found:?}");
    assert_eq!(
        found[5..],
        ["true"; 4],
        "hover, zoom, reset, font: {found:?}"
    );

    for (scheme, dark) in [("1", false), ("0", true)] {
        let shot = folder.path().join("shot.png");
        let status = headless(browser, &folder.path().join("b"))
            .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
            .arg(format!("--screenshot={}", shot.display()))
            .arg(&address)
            .output()
            .unwrap();
        assert!(status.status.success());
        let image = Pixmap::decode_png(&fs::read(&shot).unwrap()).unwrap();
        for colour in &COLOURS[..4] {
            let pixels = pixels_of(&image, colour);
            assert!(pixels > 100, "{colour}: {pixels} pixels");
        }
        let corner = image.pixel(2, 2).unwrap();
        assert_eq!(corner.red() < 64, dark, "{corner:?}");
    }
}

#[test]
fn the_verdicts_are_text_too() {
    let text = text(&sample::levels(), false).unwrap();
    for line in [
        "NVIDIA H200: 80 points measured, 80 of them with a verified result; 0 skipped, 0 failed.",
        "Memory roof 4.33 TB/s measured (90.2 % of the datasheet's).",
        "Ridge point at 13.94 FLOP/byte, datasheet.",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
    }
    for part in [
        "Cache roof L2 6.",
        "Ridge point with the L2 at ",
        "copy vector warm: best at N = ",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

#[test]
fn in_print_the_roofline_and_the_verdicts_share_a_page() {
    let Some(browser) = chromium() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.html");
    // Without the figures and tables below.
    let html = page(&sample::ladder(), false).unwrap();
    let (before, _) = html.split_once("<section id=\"figures\">").unwrap();
    fs::write(&path, format!("{before}</main></body></html>")).unwrap();
    let pdf = folder.path().join("report.pdf");
    let status = headless(browser, &folder.path().join("a"))
        .arg(format!("--print-to-pdf={}", pdf.display()))
        .arg(format!("file://{}", path.display()))
        .output()
        .unwrap();
    assert!(status.status.success());
    let pdf = fs::read(&pdf).unwrap();
    let pages = String::from_utf8_lossy(&pdf)
        .split("/Type /Page")
        .skip(1)
        .filter(|rest| !rest.starts_with('s'))
        .count();
    assert_eq!(pages, 1);
}

fn pixels_of(image: &Pixmap, hex: &str) -> usize {
    let channel = |i: usize| u8::from_str_radix(&hex[i..i + 2], 16).unwrap();
    let wanted = [channel(1), channel(3), channel(5)];
    image
        .pixels()
        .iter()
        .filter(|p| [p.red(), p.green(), p.blue()] == wanted)
        .count()
}
