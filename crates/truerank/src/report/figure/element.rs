//! Elements of SVG to text; every attribute and every text is escaped here, and nowhere else.

use std::fmt;

use crate::report::escape::xml;

/// An element with its attributes and content.
#[derive(Debug, Clone)]
pub struct Element {
    tag: &'static str,
    attributes: String,
    content: String,
}

impl Element {
    pub fn new(tag: &'static str) -> Self {
        Element { tag, attributes: String::new(), content: String::new() }
    }

    pub fn group(class: &str) -> Self {
        Element::new("g").with("class", class)
    }

    /// A straight line.
    pub fn line(class: &str, from: (f64, f64), to: (f64, f64)) -> Self {
        Element::path(
            class,
            &format!("M{} {}L{} {}", coordinate(from.0), coordinate(from.1), coordinate(to.0), coordinate(to.1)),
        )
    }

    pub fn path(class: &str, d: &str) -> Self {
        Element::new("path").with("class", class).with("d", d)
    }

    pub fn rect(class: &str, x: f64, y: f64, width: f64, height: f64) -> Self {
        let rect = Element::new("rect").with("class", class).number("x", x).number("y", y);
        rect.number("width", width.max(0.0)).number("height", height.max(0.0))
    }

    /// A text whose baseline starts, ends or has its middle at a point; the class says which.
    pub fn label(class: &str, x: f64, y: f64, text: &str) -> Self {
        Element::new("text").with("class", class).number("x", x).number("y", y).text(text)
    }

    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.attributes += &format!(" {name}=\"{}\"", xml(value));
        self
    }

    pub fn number(self, name: &str, value: f64) -> Self {
        self.with(name, &coordinate(value))
    }

    pub fn text(mut self, text: &str) -> Self {
        self.content += &xml(text);
        self
    }

    /// What a pointer that rests on the element shows.
    pub fn title(self, text: &str) -> Self {
        self.child(Element::new("title").text(text))
    }

    pub fn child(mut self, child: Element) -> Self {
        self.content += &child.to_string();
        self
    }

    pub fn children(self, children: impl IntoIterator<Item = Element>) -> Self {
        children.into_iter().fold(self, Element::child)
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Element { tag, attributes, content } = self;
        match content.is_empty() {
            true => write!(f, "<{tag}{attributes}/>"),
            false => write!(f, "<{tag}{attributes}>{content}</{tag}>"),
        }
    }
}

/// A coordinate to a tenth of a pixel, without trailing zeros.
pub fn coordinate(value: f64) -> String {
    let value = (value * 10.0).round() / 10.0;
    // Adding 0 turns −0 into 0.
    format!("{}", value + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_and_text_are_escaped() {
        let element = Element::new("text").with("data-x", "\"><b>").text("<i>&").title("</title>");
        let expected = "<text data-x=\"&quot;&gt;&lt;b&gt;\">&lt;i&gt;&amp;<title>&lt;/title&gt;</title></text>";
        assert_eq!(element.to_string(), expected);
    }

    #[test]
    fn coordinates_are_short() {
        assert_eq!([1.0, 1.26, -0.01].map(coordinate), ["1", "1.3", "0"]);
    }
}
