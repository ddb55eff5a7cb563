//! How much room texts take, before any browser has measured them: widths, shortening, and spreading of labels.

/// The size of letters in figures, in pixels.
pub const SIZE: f64 = 12.0;

/// About the width of a text in pixels, rather too wide than too narrow, since fonts differ.
pub fn width(text: &str) -> f64 {
    text.chars().map(letter).sum::<f64>() * SIZE
}

/// The width of a letter in a sans-serif font of size 1.
fn letter(c: char) -> f64 {
    match c {
        '\u{300}'..='\u{36f}' => 0.0,
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' | '\u{202f}' => 0.34,
        'f' | 'r' | 't' | '(' | ')' | '[' | ']' | '/' | '-' | '"' => 0.42,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.96,
        'A'..='Z' => 0.72,
        ' '..='~' => 0.63,
        '\u{1100}'.. => 1.05,
        _ => 0.68,
    }
}

/// The text, or as much of its beginning as fits, with an ellipsis.
pub fn shorten(text: &str, room: f64) -> String {
    if width(text) <= room {
        return text.to_string();
    }
    let mut left = room - width("…");
    let kept: String = text
        .chars()
        .take_while(|&c| {
            left -= letter(c) * SIZE;
            left >= 0.0
        })
        .collect();
    format!("{}…", kept.trim_end())
}

/// The text in lines that fit, broken after spaces and hyphens; what `most` lines do not hold is cut off.
pub fn folded(text: &str, room: f64, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for piece in text.split_inclusive([' ', '-']) {
        let is_last = lines.len() == most;
        match lines.last_mut() {
            Some(line) if is_last || width(format!("{line}{piece}").trim_end()) <= room => line.push_str(piece),
            _ => lines.push(piece.to_string()),
        }
    }
    lines.iter().map(|line| shorten(line.trim_end(), room)).collect()
}

/// The widest of some texts, but no more than `most`.
pub fn widest<'a>(texts: impl Iterator<Item = &'a str>, most: f64) -> f64 {
    texts.map(width).fold(0.0, f64::max).min(most)
}

/// Places at least `gap` apart and within two ends, as near to their targets as one pass down and one up bring them.
///
/// They keep the order of their targets, and where there are too many they start from `low` regardless of `high`.
pub fn spread(targets: &[f64], gap: f64, low: f64, high: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..targets.len()).collect();
    order.sort_by(|&a, &b| targets[a].total_cmp(&targets[b]));
    let mut places = vec![0.0; targets.len()];
    let mut floor = high;
    for &i in order.iter().rev() {
        places[i] = targets[i].min(floor);
        floor = places[i] - gap;
    }
    let mut ceiling = low;
    for &i in &order {
        places[i] = f64::max(places[i], ceiling);
        ceiling = places[i] + gap;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_end_in_an_ellipsis_within_their_room() {
        let text = "a very long name of a method that nobody would print";
        let short = shorten(text, 100.0);
        assert!(short.ends_with('…') && width(&short) <= 100.0, "{short}");
        assert_eq!(shorten("short", 100.0), "short");
        assert_eq!(shorten(text, 0.0), "…");
    }

    #[test]
    fn long_texts_are_folded_where_words_end() {
        let room = width("user-aware-smoothed,");
        assert_eq!(folded("user-aware-smoothed, shrunk", room, 3), ["user-aware-smoothed,", "shrunk"]);
        assert_eq!(
            folded("user-aware-smoothed, shrunk", width("user-aware-"), 3),
            ["user-aware-", "smoothed,", "shrunk"]
        );
        let cut = folded(&"long ".repeat(100), room, 3);
        assert!(cut.len() == 3 && cut[2].ends_with('…') && cut.iter().all(|line| width(line) <= room), "{cut:?}");
        assert_eq!(folded("short", room, 3), ["short"]);
        assert!(folded("", room, 3).is_empty());
    }

    #[test]
    fn labels_are_spread_apart_in_the_order_of_their_targets() {
        assert_eq!(spread(&[50.0, 51.0, 10.0], 10.0, 0.0, 100.0), [41.0, 51.0, 10.0]);
        assert_eq!(spread(&[0.0, 0.0, 0.0], 10.0, 0.0, 100.0), [0.0, 10.0, 20.0]);
        assert_eq!(spread(&[100.0, 100.0], 10.0, 0.0, 100.0), [90.0, 100.0]);
        assert_eq!(spread(&[], 10.0, 0.0, 100.0), [] as [f64; 0]);
    }
}
