#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ipcost_fuzz::run("server_replies", bytes));
