//! Names of colours to style sheets, one colour each for light and for dark surroundings.
//!
//! Elements of a figure say `class="c-NAME"`, which sets `color`, and are painted in the current colour. So programs that
//! know little of style sheets draw them too, where variables would leave them black.

/// A name, with its colours on light and on dark ground.
type Colour = (&'static str, &'static str, &'static str);

/// Texts and grounds.
const GROUND: [Colour; 10] = [
    ("surface", "#ffffff", "#14171b"),
    ("raised", "#f5f6f8", "#1d2127"),
    ("ink", "#1b1f24", "#e4e7eb"),
    ("soft", "#59616b", "#a2abb6"),
    ("axis", "#8d96a1", "#68717d"),
    ("grid", "#e4e7eb", "#2a2f37"),
    ("neutral", "#cbd0d8", "#4a525d"),
    ("good", "#0b6e4f", "#57c79c"),
    ("bad", "#a8321e", "#f28b74"),
    ("open", "#6b5700", "#d6b64c"),
];

/// Series in the order in which they are given out. Neighbours differ in lightness as well as in hue, so that they stay
/// apart for eyes that see fewer hues; markers differ besides.
pub const SERIES: [Colour; 8] = [
    ("s0", "#0a5fb0", "#6db3f7"),
    ("s1", "#b8470b", "#f0935f"),
    ("s2", "#0b7a53", "#4fc79b"),
    ("s3", "#8c3f86", "#d997d2"),
    ("s4", "#7d5f00", "#d8b64d"),
    ("s5", "#2b8aa8", "#8fd6ea"),
    ("s6", "#b3245c", "#ff93b6"),
    ("s7", "#5d6873", "#b4bdc8"),
];

/// The number of colours of a heat map.
pub const STEPS: usize = 12;

/// The palest, a middle and the deepest colour of heat maps, on light and on dark ground.
const HEAT: [[[u8; 3]; 3]; 2] =
    [[[243, 246, 250], [110, 168, 218], [8, 58, 114]], [[30, 36, 45], [38, 97, 160], [176, 216, 252]]];

/// Texts on heat maps: whichever of the two is easier to read.
const ON_HEAT: [[u8; 3]; 2] = [[16, 20, 26], [255, 255, 255]];

/// Rules for the classes of figures, in both surroundings.
pub fn figure_css() -> String {
    let class = |name: &str, colour: &str| match name {
        // Hollow markers show the ground and not the line that passes below them.
        "surface" => format!(".c-surface{{color:{colour}}}.hollow{{fill:{colour}}}"),
        _ => format!(".c-{name}{{color:{colour}}}"),
    };
    themed(|dark| colours(dark).iter().map(|(name, colour)| class(name, colour)).collect::<Vec<_>>())
}

/// The same colours as variables, for the page around the figures.
pub fn page_css() -> String {
    themed(|dark| {
        let variables: String = colours(dark).iter().map(|(name, colour)| format!("--{name}:{colour};")).collect();
        vec![format!("{{{variables}}}")]
    })
}

/// Rules for light ground, then the same for a reader who prefers dark and for one who chose it. Paper is always light.
fn themed(rules: impl Fn(bool) -> Vec<String>) -> String {
    let under = |root: &str, dark: bool| -> String {
        rules(dark)
            .iter()
            .flat_map(|rule| rule.split_inclusive('}'))
            .map(|rule| format!("{root}{}{rule}\n", gap(rule)))
            .collect()
    };
    format!(
        "{}@media screen and (prefers-color-scheme:dark){{\n{}}}\n@media screen{{\n{}}}\n",
        under(":root", false),
        under(":root:not([data-theme=light])", true),
        under(":root[data-theme=dark]", true),
    )
}

/// A class lies below the root, a bare block belongs to it.
fn gap(rule: &str) -> &'static str {
    if rule.starts_with('.') { " " } else { "" }
}

fn colours(dark: bool) -> Vec<(String, String)> {
    let fixed = GROUND.iter().chain(&SERIES);
    let fixed = fixed.map(|&(name, light, deep)| (name.to_string(), if dark { deep } else { light }.to_string()));
    let heat = (0..STEPS).map(|step| (format!("h{step}"), hex(heat(step, dark))));
    let on_heat = (0..STEPS).map(|step| (format!("t{step}"), hex(on_heat(step, dark))));
    fixed.chain(heat).chain(on_heat).collect()
}

fn heat(step: usize, dark: bool) -> [u8; 3] {
    let [low, middle, high] = HEAT[dark as usize];
    let t = 2.0 * step as f64 / (STEPS - 1) as f64;
    if t <= 1.0 { mix(low, middle, t) } else { mix(middle, high, t - 1.0) }
}

fn mix(a: [u8; 3], b: [u8; 3], t: f64) -> [u8; 3] {
    std::array::from_fn(|i| (a[i] as f64 + (b[i] as f64 - a[i] as f64) * t).round() as u8)
}

fn on_heat(step: usize, dark: bool) -> [u8; 3] {
    let ground = heat(step, dark);
    let [first, second] = ON_HEAT;
    if contrast(first, ground) >= contrast(second, ground) { first } else { second }
}

fn hex(colour: [u8; 3]) -> String {
    format!("#{:02x}{:02x}{:02x}", colour[0], colour[1], colour[2])
}

/// The contrast of two colours, 1 to 21, by the definition of WCAG 2.
fn contrast(a: [u8; 3], b: [u8; 3]) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

fn luminance(colour: [u8; 3]) -> f64 {
    let linear = colour.map(|channel| {
        let c = channel as f64 / 255.0;
        if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(hex: &str) -> [u8; 3] {
        std::array::from_fn(|i| u8::from_str_radix(&hex[1 + 2 * i..3 + 2 * i], 16).unwrap())
    }

    /// WCAG 2 asks for 4.5 for texts and 3 for shapes.
    #[test]
    fn everything_is_readable_on_light_and_on_dark_ground() {
        for dark in [false, true] {
            let pick = |colour: &Colour| parse(if dark { colour.2 } else { colour.1 });
            let texts = [2, 3, 7, 8, 9].map(|i| GROUND[i]);
            for ground in [&GROUND[0], &GROUND[1]].map(pick) {
                for text in &texts {
                    assert!(contrast(pick(text), ground) >= 4.5, "{text:?}, dark: {dark}");
                }
                for series in &SERIES {
                    assert!(contrast(pick(series), ground) >= 3.0, "{series:?}, dark: {dark}");
                }
            }
            assert!(contrast(pick(&GROUND[2]), pick(&GROUND[6])) >= 4.5);
            for step in 0..STEPS {
                assert!(contrast(on_heat(step, dark), heat(step, dark)) >= 4.5, "step {step}, dark: {dark}");
            }
        }
    }

    #[test]
    fn deeper_steps_stand_out_more() {
        for dark in [false, true] {
            let ground = parse(if dark { GROUND[0].2 } else { GROUND[0].1 });
            let contrasts: Vec<f64> = (0..STEPS).map(|step| contrast(heat(step, dark), ground)).collect();
            assert!(contrasts.is_sorted(), "{contrasts:?}");
        }
    }

    #[test]
    fn rules_come_for_light_then_for_dark() {
        let css = figure_css();
        assert!(css.starts_with(":root .c-surface{color:#ffffff}\n:root .hollow{fill:#ffffff}\n"));
        assert!(css.contains(":root[data-theme=dark] .c-surface{color:#14171b}"));
        assert!(page_css().starts_with(":root{--surface:#ffffff;"));
    }
}
