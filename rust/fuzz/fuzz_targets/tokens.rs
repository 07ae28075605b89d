//! Text is counted, whatever it is: at least one token, at most one a byte.

#![no_main]

use libfuzzer_sys::fuzz_target;
use warmset_core::tokens::Encoding;

fuzz_target!(|text: &str| {
    let bytes = u64::try_from(text.len()).expect("fits");
    for encoding in Encoding::ALL {
        let count = encoding.count(text);
        assert_eq!(count, encoding.count(text));
        if encoding.is_exact() {
            assert!(
                count <= bytes,
                "{}: {count} of {bytes} bytes",
                encoding.name()
            );
            assert_eq!(count == 0, text.is_empty());
        } else {
            assert!(count <= 2 * bytes);
        }
    }
});
