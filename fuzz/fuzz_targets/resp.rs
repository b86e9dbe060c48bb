#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ipcost_inputs::run("resp", bytes));
