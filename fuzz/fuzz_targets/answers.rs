#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ipcost_fuzz::run("answers", bytes));
