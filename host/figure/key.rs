//! What the roofs of a figure are, in words: at them, in the note below, and in a list beside a picture
//! that has no room for labels.

use super::chart::{Key, Line};
use super::levels;
use super::roofline;
use super::roofs::{self, Origin, Roof};
use crate::roofline::units::significant;

/// How to read the short labels of roofs of several pipes or levels, and the labels themselves where
/// there are more than find a place; how the roof of a cache came about.
pub(super) fn roof_note(roofs: &[Roof]) -> String {
    if !have_short_labels(roofs) {
        return levels::note(roofs);
    }
    let mut note = match (known_word(roofs), roofs.iter().any(Roof::is_measured)) {
        (Some(known), true) => format!(" Roofs: {known} (dashed) / measured (solid)"),
        _ if in_note(roofs) => " Roofs".to_owned(),
        _ => return levels::note(roofs),
    };
    if in_note(roofs) {
        let devices = roofline::devices(roofs);
        let labels = roofs
            .iter()
            .filter(|roof| !roof.is_of_memory())
            .map(|roof| (roof, roof.short_label(roofs)))
            .filter(|(_, label)| !label.is_empty())
            .map(
                |(roof, label)| match roofline::mark(&devices, &roof.device) {
                    Some(letter) => format!("{letter}: {label}"),
                    None => label,
                },
            );
        note.push_str(": ");
        note.push_str(&labels.collect::<Vec<_>>().join(", "));
    }
    note.push('.');
    note.push_str(&levels::note(roofs));
    note
}

/// Where the roofs that were not measured are from.
fn known_word(roofs: &[Roof]) -> Option<&'static str> {
    roofs.iter().find_map(|roof| match roof.origin {
        Origin::Known(word) => Some(word),
        Origin::Measured => None,
    })
}

/// Whether roofs of the datasheet and measured ones share a label.
pub(super) fn have_short_labels(roofs: &[Roof]) -> bool {
    roofs::of_several_pipes(roofs) || roofs::of_several_levels(roofs)
}

/// What is written at a roof: nothing if [`roof_note`] has it.
pub(super) fn roof_label(roof: &Roof, roofs: &[Roof]) -> String {
    match have_short_labels(roofs) {
        true if !roof.is_of_memory() && in_note(roofs) => String::new(),
        true => roof.short_label(roofs),
        false => roof.label(),
    }
}

/// Whether there are too many roofs of pipes for a label at each.
fn in_note(roofs: &[Roof]) -> bool {
    /// Most that find a place.
    const LABELLED: usize = 4;
    roofs::compute(roofs) > LABELLED
}

/// What the lines of a roofline are, a few words each, for a picture without labels at all of them.
/// Roofs of pipes come from the highest down; `right` is where they end.
pub(super) fn entries(roofs: &[Roof], lines: &[Line], right: f64) -> Vec<Key> {
    if !have_short_labels(roofs) {
        let labels = lines.iter().filter(|line| !line.label.is_empty());
        let entry = |line: &Line| Key {
            text: line.label.clone(),
            name: String::new(),
            at: None,
        };
        return labels.map(entry).collect();
    }
    let pairs = roofs::pairs(roofs);
    let ridges = roofs::ridges(&pairs);
    let devices = roofline::devices(roofs);
    let mut entries: Vec<(&Roof, Key)> = Vec::new();
    for roof in roofs {
        let label = roof.short_label(roofs);
        // Its partner has the label of both.
        if label.is_empty() {
            continue;
        }
        let letter = roofline::mark(&devices, &roof.device);
        let lettered = |text: String| match letter {
            Some(letter) => format!("{letter}: {text}"),
            None => text,
        };
        let ridge = ridges
            .iter()
            .find(|(_, compute)| compute.limit == roof.limit && compute.device == roof.device);
        let mut text = lettered(label);
        if let Some((memory, compute)) = ridge {
            text.push_str(", ridge ");
            text.push_str(&significant(compute.rate / memory.rate, 3));
        }
        let key = Key {
            text,
            name: lettered(roof.name().to_owned()),
            at: (!roof.is_of_memory()).then_some((right, roof.rate)),
        };
        entries.push((roof, key));
    }
    // Memory first, then pipes from the highest down; devices stay together.
    entries.sort_by(|(a, _), (b, _)| {
        let place = |roof: &Roof| {
            devices
                .iter()
                .position(|device| *device == roof.device)
                .map(|device| (device, !roof.is_of_memory()))
        };
        place(a).cmp(&place(b)).then(b.rate.total_cmp(&a.rate))
    });
    let mut entries: Vec<Key> = entries.into_iter().map(|(_, key)| key).collect();
    if let (Some(known), true) = (known_word(roofs), roofs.iter().any(Roof::is_measured)) {
        entries.push(Key {
            text: format!("({known}/measured, ridge points in FLOP/byte)"),
            name: String::new(),
            at: None,
        });
    }
    entries
}
