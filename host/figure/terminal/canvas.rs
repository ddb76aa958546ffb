//! A field of characters: braille dots or ASCII for lines, signs over them for points.

/// A field of characters.
pub struct Canvas {
    columns: usize,
    rows: usize,
    unicode: bool,
    /// Braille: a bit for each dot. ASCII: the sign itself.
    lines: Vec<u8>,
    /// Signs and letters over the lines, signs in a colour.
    signs: Vec<Option<(char, Option<u8>)>>,
}

impl Canvas {
    /// An empty field.
    pub fn new(columns: usize, rows: usize, unicode: bool) -> Canvas {
        Canvas {
            columns,
            rows,
            unicode,
            lines: vec![0; columns * rows],
            signs: vec![None; columns * rows],
        }
    }

    /// Draws a line between places from 0 to 1, y downwards; `dashed` leaves gaps.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), dashed: bool) {
        // Braille has 2 x 4 dots in a character.
        let (fine_x, fine_y) = if self.unicode { (2, 4) } else { (1, 1) };
        let (wide, high) = (self.columns * fine_x, self.rows * fine_y);
        let (dx, dy) = ((to.0 - from.0) * wide as f64, (to.1 - from.1) * high as f64);
        let sign = match (dx.abs(), dy.abs()) {
            (dx, dy) if dy < 0.2 * dx => {
                if dashed {
                    b'-'
                } else {
                    b'='
                }
            }
            (dx, dy) if dx < 0.2 * dy => b':',
            _ => {
                if dashed {
                    b'/'
                } else {
                    b'%'
                }
            }
        };
        let steps = dx.abs().max(dy.abs()).ceil().max(1.0) as usize;
        for step in 0..=steps {
            if dashed && self.unicode && step % 4 >= 2 {
                continue;
            }
            let t = step as f64 / steps as f64;
            let x = ((from.0 + t * (to.0 - from.0)) * wide as f64).floor();
            let y = ((from.1 + t * (to.1 - from.1)) * high as f64).floor();
            if x < 0.0 || y < 0.0 || x as usize >= wide || y as usize >= high {
                continue;
            }
            let (x, y) = (x as usize, y as usize);
            let cell = (y / fine_y) * self.columns + x / fine_x;
            if self.unicode {
                self.lines[cell] |= dot(x % 2, y % 4);
            } else {
                self.lines[cell] = sign;
            }
        }
    }

    /// Puts a sign at a place from 0 to 1, over what is there.
    pub fn sign(&mut self, (x, y): (f64, f64), sign: char, colour: u8) {
        let cell = |place: f64, of: usize| ((place * of as f64).max(0.0) as usize).min(of - 1);
        let (column, row) = (cell(x, self.columns), cell(y, self.rows));
        self.signs[row * self.columns + column] = Some((sign, Some(colour)));
    }

    /// Writes a name at the end of a level line, in the row above or else below it, as far right as it
    /// covers nothing. Without such a place it is left out.
    pub fn text(&mut self, (x, y): (f64, f64), name: &str) {
        let text: Vec<char> = name.chars().collect();
        let end = ((x * self.columns as f64).max(0.0) as usize).min(self.columns);
        let row = (y * self.rows as f64).max(0.0) as usize;
        for row in [row.checked_sub(1), row.checked_add(1)]
            .into_iter()
            .flatten()
        {
            if row >= self.rows {
                continue;
            }
            let free = |cell: usize| self.signs[cell].is_none() && self.lines[cell] == 0;
            // A blank on either side keeps names apart.
            let place = (0..=end.saturating_sub(text.len())).rev().find(|&start| {
                let last = (start + text.len()).min(self.columns - 1);
                let cells =
                    row * self.columns + start.saturating_sub(1)..=row * self.columns + last;
                start + text.len() <= end && cells.into_iter().all(free)
            });
            if let Some(start) = place {
                for (column, sign) in (start..).zip(text) {
                    self.signs[row * self.columns + column] = Some((sign, None));
                }
                return;
            }
        }
    }

    /// The lines, without blanks at their ends.
    pub fn lines(&self, color: bool) -> Vec<String> {
        (0..self.rows)
            .map(|row| {
                let cells = row * self.columns..(row + 1) * self.columns;
                let mut text = String::new();
                for cell in cells {
                    match (self.signs[cell], self.lines[cell]) {
                        (Some((sign, Some(colour))), _) => {
                            text.push_str(&painted(sign, colour, color));
                        }
                        (Some((letter, None)), _) => text.push(letter),
                        (None, 0) => text.push(' '),
                        (None, dots) if self.unicode => {
                            text.push(char::from_u32(0x2800 + u32::from(dots)).unwrap_or(' '));
                        }
                        (None, sign) => text.push(char::from(sign)),
                    }
                }
                text.trim_end().to_owned()
            })
            .collect()
    }
}

/// The bit of a dot of a braille character.
fn dot(column: usize, row: usize) -> u8 {
    const BITS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
    BITS[column][row]
}

/// A sign in a colour of 256.
pub fn painted(sign: char, colour: u8, color: bool) -> String {
    if color {
        format!("\u{1b}[38;5;{colour}m{sign}\u{1b}[0m")
    } else {
        sign.to_string()
    }
}
