//! Pure text logic: bytes in, values out, no IO and no async.
