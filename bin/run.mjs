// Runs a development script under Bun, as npm test, npm run bench and npm run docs do: node bin/run.mjs <script.ts> [args]
import { resolve } from "node:path";
import { start } from "./runtime.mjs";

const [script, ...args] = process.argv.slice(2);
if (script === undefined) {
  process.stderr.write("usage: node bin/run.mjs <script.ts> [args]\n");
  process.exit(2);
}
start(resolve(script), args, { development: true });
