#!/usr/bin/env node
// Starts the binary of the package for this processor, which npm has installed beside this one.

"use strict";

const { spawnSync } = require("node:child_process");

const name = `ipcost-${process.platform}-${process.arch}`;
let binary;
try {
  binary = require.resolve(`${name}/ipcost`);
} catch {
  console.error(`ipcost: npm has no binary for this system (${name}); build it from source: cargo install ipcost`);
  process.exit(1);
}
const { status, signal, error } = spawnSync(binary, process.argv.slice(2), { stdio: "inherit" });
if (error) {
  console.error(`ipcost: cannot start ${binary}: ${error.message}`);
  process.exit(1);
}
if (signal) process.kill(process.pid, signal);
process.exit(status ?? 1);
