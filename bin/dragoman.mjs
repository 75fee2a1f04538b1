#!/usr/bin/env node
// The command `dragoman`: Node starts it, Bun runs src/main.ts. Needs no install script to have run.
import { join } from "node:path";
import { packageFolder, start } from "./runtime.mjs";

const args = process.argv.slice(2);
start(join(packageFolder, "src", "main.ts"), args, { withConsole: args[0] === "serve" });
