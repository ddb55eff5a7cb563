//! Any text into text that a page, an SVG file or LaTeX shows as it is.

/// Text for XML and HTML, in content and in attributes.
///
/// Control characters, which XML forbids even as references, become U+FFFD.
pub fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(allowed(c)),
        }
    }
    out
}

fn allowed(c: char) -> char {
    match c {
        '\t' | '\n' | '\r' => c,
        c if c.is_control() || ('\u{fffe}'..='\u{ffff}').contains(&c) => '\u{fffd}',
        c => c,
    }
}

/// Text for LaTeX, on one line: special characters escaped, and what a text font lacks as mathematics.
pub fn latex(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        word.chars().for_each(|c| push_latex(&mut out, c));
    }
    out
}

fn push_latex(out: &mut String, c: char) {
    match c {
        '\\' => out.push_str("\\textbackslash{}"),
        '^' => out.push_str("\\textasciicircum{}"),
        '~' => out.push_str("\\textasciitilde{}"),
        '<' => out.push_str("\\textless{}"),
        '>' => out.push_str("\\textgreater{}"),
        '|' => out.push_str("\\textbar{}"),
        '{' | '}' | '$' | '&' | '#' | '%' | '_' => out.extend(['\\', c]),
        '\u{202f}' => out.push_str("\\,"),
        '…' => out.push_str("\\ldots{}"),
        // Else two in a row would join into another sign: -- is a dash in LaTeX.
        '-' if out.ends_with('-') => out.push_str("{}-"),
        c => match mathematics(c) {
            Some(command) => out.extend(["$", command, "$"]),
            None => out.push(allowed(c)),
        },
    }
}

/// The command of a sign that stands in names of methods and measures.
fn mathematics(c: char) -> Option<&'static str> {
    const SIGNS: [(char, &str); 26] = [
        ('α', "\\alpha"),
        ('β', "\\beta"),
        ('γ', "\\gamma"),
        ('δ', "\\delta"),
        ('ε', "\\varepsilon"),
        ('η', "\\eta"),
        ('θ', "\\theta"),
        ('κ', "\\kappa"),
        ('λ', "\\lambda"),
        ('μ', "\\mu"),
        ('π', "\\pi"),
        ('ρ', "\\rho"),
        ('σ', "\\sigma"),
        ('τ', "\\tau"),
        ('χ', "\\chi"),
        ('ω', "\\omega"),
        ('Δ', "\\Delta"),
        ('Σ', "\\Sigma"),
        ('−', "-"),
        ('±', "\\pm"),
        ('×', "\\times"),
        ('≤', "\\leq"),
        ('≥', "\\geq"),
        ('≈', "\\approx"),
        ('→', "\\rightarrow"),
        ('∞', "\\infty"),
    ];
    SIGNS.iter().find(|(sign, _)| *sign == c).map(|(_, command)| *command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xml_lets_no_markup_through() {
        assert_eq!(
            xml(r#"</script><img a="b" c='d'>&"#),
            "&lt;/script&gt;&lt;img a=&quot;b&quot; c=&#39;d&#39;&gt;&amp;"
        );
        assert_eq!(xml("a\u{0}b\u{1b}c\nd\u{ffff}"), "a\u{fffd}b\u{fffd}c\nd\u{fffd}");
    }

    #[test]
    fn latex_lets_no_command_through() {
        assert_eq!(latex(r"\input{a}"), r"\textbackslash{}input\{a\}");
        assert_eq!(latex("50 % of $a_b & #1~^"), r"50 \% of \$a\_b \& \#1\textasciitilde{}\textasciicircum{}");
        assert_eq!(latex("θ̂ ± β −1"), "$\\theta$\u{302} $\\pm$ $\\beta$ $-$1");
        assert_eq!(latex("---"), "-{}-{}-");
    }

    #[test]
    fn latex_stays_on_one_line() {
        assert_eq!(latex(" a\n\nb\tc "), "a b c");
    }
}
