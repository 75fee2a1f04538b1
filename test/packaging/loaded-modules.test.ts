// Libraries that a start does not load: those that only some configurations need take megabytes and milliseconds
// (ARCHITECTURE.md).
import { expect, test } from "bun:test";
import { resolve } from "node:path";

const PROJECT = resolve(import.meta.dir, "../..");
const LATER = [
  "@cfworker/json-schema",
  "@hono/zod-openapi",
  "@huggingface/jinja",
  "@marcbachmann/cel-js",
  "@pydantic/genai-prices",
  "google-auth-library",
  "ioredis",
  "jose",
  "openid-client",
  "pg",
  "re2js",
];

/** Packages that a fresh process has loaded after it has run `script`. */
function packagesAfter(script: string): ReadonlySet<string> {
  const list = `${script}; process.stdout.write(JSON.stringify(Object.keys(require.cache)))`;
  const { stdout, stderr, success } = Bun.spawnSync([process.execPath, "--no-env-file", "--no-install", "-e", list], {
    cwd: PROJECT,
    stdout: "pipe",
    stderr: "pipe",
  });
  if (!success) throw new Error(stderr.toString());
  const files = JSON.parse(stdout.toString()) as readonly string[];
  return new Set(
    files.flatMap((file) => /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules\/)/.exec(file)?.[1] ?? []),
  );
}

test("the gateway's modules load no library that only a configuration asks for", () => {
  const loaded = packagesAfter(`await import("./src/process/gateway.ts")`);
  expect(loaded).toContain("kysely");
  expect(LATER.filter((name) => loaded.has(name))).toEqual([]);
});

test("a rule loads the library of rules, a pattern that of patterns", () => {
  const loaded = packagesAfter(
    `const { compileRule } = await import("./src/policies/policy-rule.ts"); compileRule('request.model.matches("^x")')`,
  );
  expect(loaded).toContain("@marcbachmann/cel-js");
  expect(
    packagesAfter(`const { compilePattern } = await import("./src/guards/pattern-program.ts"); compilePattern("x")`),
  ).toContain("re2js");
});
