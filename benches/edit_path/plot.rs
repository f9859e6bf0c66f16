//! The table as a plot: each row's ratio to its twin by the size of the file, as SVG.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::scene::SIZES;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 420.0;
/// Where the axes cross, and where they end.
const LEFT: f64 = 50.0;
const BOTTOM: f64 = 380.0;
const RIGHT: f64 = 560.0;
const TOP: f64 = 20.0;
/// The largest ratio that is drawn where it is; larger ones stand at the edge, with their figure.
const MOST: f64 = 4.0;
const COLOURS: [&str; 8] = [
    "#1b6ca8", "#c4452d", "#3a8f4d", "#8a4fa3", "#c78a1b", "#2a9d9d", "#6b6b6b", "#b03a78",
];

/// Draws the rows of these names and ratios whose names begin with one of the families.
pub(crate) fn svg(title: &str, families: &[&str], rows: &[(String, f64)]) -> String {
    let mut lines: BTreeMap<&str, Vec<(usize, f64)>> = BTreeMap::new();
    for (name, ratio) in rows {
        let Some((family, label)) = name.rsplit_once(", ") else {
            continue;
        };
        let size = SIZES.iter().position(|(size, _)| *size == label);
        if let (Some(at), true) = (size, families.contains(&family)) {
            lines.entry(family).or_default().push((at, *ratio));
        }
    }
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"14\" font-weight=\"bold\">{title}</text>\n"
    );
    axes(&mut out);
    for (number, (family, points)) in lines.iter().enumerate() {
        line(&mut out, number, family, points);
    }
    out.push_str("</svg>\n");
    out
}

fn x(at: usize) -> f64 {
    LEFT + 20.0 + (RIGHT - LEFT - 40.0) * at as f64 / (SIZES.len() - 1) as f64
}

fn y(ratio: f64) -> f64 {
    BOTTOM - (BOTTOM - TOP - 10.0) * ratio.min(MOST) / MOST
}

fn axes(out: &mut String) {
    for ratio in 0..=MOST as usize {
        let (at, colour) = (y(ratio as f64), if ratio == 1 { "#444" } else { "#ddd" });
        let _ = writeln!(
            out,
            "<line x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"{colour}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{ratio}×</text>",
            LEFT - 6.0,
            at + 4.0
        );
    }
    for (at, (label, _)) in SIZES.iter().enumerate() {
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
            x(at),
            BOTTOM + 18.0
        );
    }
}

fn line(out: &mut String, number: usize, family: &str, points: &[(usize, f64)]) {
    let colour = COLOURS[number % COLOURS.len()];
    let path: Vec<_> = points
        .iter()
        .map(|(at, ratio)| format!("{:.1},{:.1}", x(*at), y(*ratio)))
        .collect();
    let _ = writeln!(
        out,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
        path.join(" ")
    );
    for (at, ratio) in points {
        let _ = writeln!(
            out,
            "<circle cx=\"{0:.1}\" cy=\"{1:.1}\" r=\"3\" fill=\"{colour}\"/>",
            x(*at),
            y(*ratio)
        );
        if *ratio > MOST {
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">{ratio:.1}</text>",
                x(*at) + 5.0,
                y(*ratio) + 12.0
            );
        }
    }
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">{family}</text>",
        RIGHT + 14.0,
        TOP + 16.0 + 20.0 * number as f64
    );
}
