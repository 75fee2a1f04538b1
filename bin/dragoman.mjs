#!/usr/bin/env node
// The command `dragoman`: Node starts it, Bun runs src/main.ts. Needs no install script to have run.
import { join } from "node:path";
import { packageFolder, start } from "./runtime.mjs";

start(join(packageFolder, "src", "main.ts"), process.argv.slice(2));
