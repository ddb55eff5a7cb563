//! Writes protocol buffers: fields enter, the bytes of a message leave.
//!
//! Only what ONNX needs, and only writing: five kinds of fields, where a library would bring a code generator.

/// A message under construction. Fields stand in the order in which they were added.
#[derive(Debug, Default)]
pub(super) struct Message(Vec<u8>);

/// How the value of a field is laid out, as the lowest bits of its tag say.
#[derive(Clone, Copy)]
enum Wire {
    Varint = 0,
    Length = 2,
    Fixed32 = 5,
}

impl Message {
    /// Adds an integer that is not negative.
    pub(super) fn integer(mut self, field: u32, value: u64) -> Self {
        self.tag(field, Wire::Varint);
        self.varint(value);
        self
    }

    /// Adds a single-precision number.
    pub(super) fn float(mut self, field: u32, value: f32) -> Self {
        self.tag(field, Wire::Fixed32);
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Adds text.
    pub(super) fn text(self, field: u32, value: &str) -> Self {
        self.bytes(field, value.as_bytes())
    }

    /// Adds bytes.
    pub(super) fn bytes(mut self, field: u32, value: &[u8]) -> Self {
        self.tag(field, Wire::Length);
        self.varint(value.len() as u64);
        self.0.extend(value);
        self
    }

    /// Adds a message inside this one.
    pub(super) fn message(self, field: u32, value: Message) -> Self {
        self.bytes(field, &value.0)
    }

    /// Adds integers that are not negative, packed into one field.
    pub(super) fn integers(self, field: u32, values: impl IntoIterator<Item = u64>) -> Self {
        let mut packed = Message::default();
        values.into_iter().for_each(|value| packed.varint(value));
        self.message(field, packed)
    }

    /// Adds one field for each of `values`: protocol buffers spell lists as repeated fields.
    pub(super) fn each<T>(self, values: impl IntoIterator<Item = T>, add: impl Fn(Self, T) -> Self) -> Self {
        values.into_iter().fold(self, add)
    }

    /// The bytes of the message.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn tag(&mut self, field: u32, wire: Wire) {
        self.varint(u64::from(field) << 3 | wire as u64);
    }

    /// Seven bits a byte, the lowest first; the eighth says that more follow.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the encoding's own description: field 1 is 150; field 2 is "testing"; field 3 is a message.
    #[test]
    fn fields_are_encoded_as_described() {
        assert_eq!(Message::default().integer(1, 150).into_bytes(), [0x08, 0x96, 0x01]);
        assert_eq!(Message::default().text(2, "testing").into_bytes(), *b"\x12\x07testing");
        let inner = Message::default().integer(1, 150);
        assert_eq!(Message::default().message(3, inner).into_bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        assert_eq!(Message::default().float(2, 1.0).into_bytes(), [0x15, 0, 0, 0x80, 0x3f]);
        assert_eq!(Message::default().integer(20, 1).into_bytes(), [0xa0, 0x01, 0x01]);
        let packed = Message::default().integers(6, [3, 270, 86942]);
        assert_eq!(packed.into_bytes(), [0x32, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05]);
    }
}
