#!/usr/bin/env node
// Starts the binary of the package for this processor, which npm has installed next to this one.

"use strict";

const { spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");

const PACKAGES = ["ipcost-linux-x64", "ipcost-linux-arm64"];

function fail(message) {
  console.error(`ipcost: ${message}`);
  process.exit(1);
}

const name = `ipcost-${process.platform}-${process.arch}`;
let binary;
try {
  binary = require.resolve(`${name}/ipcost`);
} catch {
  fail(
    PACKAGES.includes(name)
      ? `the package ${name} is missing; install it too: npm leaves it out with --omit=optional`
      : `npm has no binary for ${process.platform} on ${process.arch}; build it from source: cargo install ipcost`,
  );
}
try {
  fs.accessSync(binary, fs.constants.X_OK);
} catch (error) {
  fail(`cannot start ${binary}: ${error.message}`);
}

const args = process.argv.slice(2);
// In place of this process, so that signals and the exit code are the program's: Node.js 22.15 and later.
if (process.execve) process.execve(binary, [binary, ...args], process.env);

// A terminal sends Ctrl-C to the program as well, and a second one would end it at once.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
const child = spawn(binary, args, { stdio: "inherit" });
child.on("error", (error) => fail(`cannot start ${binary}: ${error.message}`));
child.on("exit", (status, signal) => {
  if (signal === null) process.exit(status);
  // Ends as the program did; Node.js ignores some signals.
  process.exitCode = 128 + os.constants.signals[signal];
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
