//! Seeds of valid inputs enter, inputs that may be anything leave; the same random numbers give the same input.

/// Random numbers (splitmix64): a case is known by one of them.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, 0 where there is none.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// A range of at most `most` within `length`.
    fn range(&mut self, length: usize, most: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        start..start + self.below((length - start).min(most) + 1)
    }
}

/// What parsers care about.
const TOKENS: &[&[u8]] = &[
    b"\"",
    b"\"\"",
    b"'",
    b",",
    b",,",
    b"\t",
    b"\n",
    b"\r\n",
    b"\r",
    b" ",
    b"[",
    b"]",
    b"{",
    b"}",
    b"[]",
    b"{}",
    b"[[",
    b"]]",
    b":",
    b"::",
    b";",
    b"|",
    b"\\",
    b"\\\"",
    b"\\u0000",
    b"\\ud800",
    b"\0",
    b"\xff",
    b"\xc3",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xae",
    b"\x1b[31m",
    b"null",
    b"true",
    b"false",
    b"nan",
    b"NaN",
    b"inf",
    b"-inf",
    b"1e999",
    b"-0",
    b"-1",
    b"0",
    b"00",
    b"1.5",
    b"0x10",
    b"+1",
    b"1e3",
    b"qid:",
    b"qid:1",
    b"#",
    b"=",
    b"<",
    b">",
    b">=",
    b"!=",
    b"%",
    b"&",
    b"PAR1",
    b"\x28\xb5\x2f\xfd",
    b"\x1f\x8b",
    b"type",
    b"version",
    b"Q",
    b"C",
    b"e",
    b"-",
    b".",
    b"/",
    b"*",
    b"..",
    b"\xf0\x9f\x98\x80",
    b"\xcc\x81",
    b"\xe2\x80\xa8",
];

/// Numbers at which something ends.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "127",
    "128",
    "255",
    "256",
    "65535",
    "65536",
    "99999",
    "100000",
    "100001",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "1e309",
    "-1e309",
    "1e-320",
    "0.1",
    "1.0",
    "1e18",
    "253402300800",
    "99999999999999999999999999",
];

/// Bytes at which something ends.
const BYTES: &[u8] = &[0, 1, 0x0a, 0x7f, 0x80, 0xfe, 0xff];

/// An input made of one of the seeds.
pub fn mutated(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = random.pick(seeds).clone();
    // Mostly one or two changes: the rest of the input should still make sense.
    let mut count = 1 + random.below(2);
    while random.one_in(3) && count < 10 {
        count += 1;
    }
    for _ in 0..count {
        change(&mut bytes, seeds, random);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Random) {
    let length = bytes.len();
    let at = random.below(length);
    match random.below(16) {
        0..=2 if length > 0 => bytes[at] ^= 1 << random.below(8),
        3 if length > 0 => bytes[at] = *random.pick(BYTES),
        4 if length > 0 => bytes[at] = random.next() as u8,
        5 => insert(bytes, at, &random.next().to_le_bytes()[..1 + random.below(8)]),
        6 | 7 => {
            let token = *random.pick(TOKENS);
            insert(bytes, at, token);
        }
        8 | 9 => {
            let number = *random.pick(NUMBERS);
            replace_number(bytes, at, number);
        }
        10 => drop(bytes.drain(random.range(length, 40))),
        11 => bytes.truncate(at),
        12 => {
            let slice = bytes[random.range(length, 200)].to_vec();
            insert(bytes, at, &slice);
        }
        13 => swap(bytes, random),
        14 => {
            let other = random.pick::<Vec<u8>>(seeds);
            splice(bytes, other, random);
        }
        _ => repeat(bytes, random),
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, what: &[u8]) {
    bytes.splice(at..at, what.iter().copied());
}

/// Replaces the next number in a text.
fn replace_number(bytes: &mut Vec<u8>, from: usize, number: &str) {
    let Some(start) = bytes[from.min(bytes.len())..].iter().position(u8::is_ascii_digit).map(|at| from + at) else {
        return;
    };
    let length = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    bytes.splice(start..start + length, number.bytes());
}

fn swap(bytes: &mut Vec<u8>, random: &mut Random) {
    let cut = bytes.drain(random.range(bytes.len(), 60)).collect::<Vec<u8>>();
    let at = random.below(bytes.len() + 1);
    insert(bytes, at, &cut);
}

/// Goes on with a part of another seed.
fn splice(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    bytes.truncate(random.below(bytes.len() + 1));
    bytes.extend_from_slice(&other[random.below(other.len() + 1)..]);
}

/// A slice many times: what takes more than linear time shows there. Rarely a long one, since most cases should be fast.
fn repeat(bytes: &mut Vec<u8>, random: &mut Random) {
    let most = match random.below(2000) {
        0 => 1 << 20,
        1..40 => 1 << 14,
        _ => 1 << 9,
    };
    let slice = bytes[random.range(bytes.len(), 30)].to_vec();
    let at = random.below(bytes.len() + 1);
    if !slice.is_empty() {
        insert(bytes, at, &slice.repeat(1 + random.below(most / slice.len())));
    }
}
