//! Compresses what we write.

use std::io::Write;

/// Zstandard with a checksum in each frame, so that damage is noticed when it is read.
pub fn zstd_encoder<W: Write>(writer: W, level: i32) -> std::io::Result<zstd::Encoder<'static, W>> {
    let mut encoder = zstd::Encoder::new(writer, level)?;
    encoder.include_checksum(true)?;
    Ok(encoder)
}
