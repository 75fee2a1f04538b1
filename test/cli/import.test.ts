// `dragoman import`: what it writes and prints, that its files are accepted by `check`, and that `simulate` sends calls
// where the other gateway sent them.
import { afterAll, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Report } from "../../src/diagnostics/simulation/report.ts";
import { type Ran, runHere } from "../harness/processes/command-line.ts";

const folder = mkdtempSync(join(tmpdir(), "dragoman-import-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
function written(text: string): string {
  const file = join(folder, `${(files += 1)}.yaml`);
  writeFileSync(file, text);
  return file;
}
const fresh = (): string => join(folder, `out-${(files += 1)}`);
const run = (...args: readonly string[]): Promise<Ran> => runHere(args, {}, folder);

const SECRET = "sk-planted-0f4e2b7a9c1d";
const CONFIGURATION = `
model_list:
  - model_name: chat
    litellm_params: {model: openai/gpt-4o, api_key: ${SECRET}, weight: 3}
  - model_name: chat
    litellm_params: {model: anthropic/claude-haiku-4-5, api_key: os.environ/ANTHROPIC_API_KEY, weight: 1}
  - model_name: backup
    litellm_params: {model: groq/llama-3.3-70b-versatile, api_key: os.environ/GROQ_API_KEY}
router_settings:
  num_retries: 0
  fallbacks: [{chat: [backup]}]
litellm_settings:
  drop_params: true
  unheard_of: 5
`;

describe("the files", () => {
  test("[d15.2] a secret has a file of its own, and is neither printed nor anywhere else", async () => {
    const out = fresh();
    const { code, stdout, stderr } = await run("import", "litellm", written(CONFIGURATION), "--out", out);
    expect([code, stderr]).toEqual([0, ""]);
    expect(readdirSync(out).toSorted()).toEqual(["dragoman.yaml", "report.json", "secrets"]);
    expect(readFileSync(join(out, "secrets/openai_api_key"), "utf8")).toBe(`${SECRET}\n`);
    expect(statSync(join(out, "secrets/openai_api_key")).mode & 0o777).toBe(0o600);
    const shown = [stdout, ...["dragoman.yaml", "report.json"].map((name) => readFileSync(join(out, name), "utf8"))];
    for (const text of shown) expect(text).not.toContain(SECRET);
    expect(stdout).toContain("openai_api_key");
  });
  test("[d15.2] a setting that was taken alike from many models is printed once, and is in the report for each", async () => {
    const models = Array.from(
      { length: 40 },
      (_, at) => `  - {model_name: m${at}, litellm_params: {model: openai/m${at}}, model_info: {mode: chat}}\n`,
    );
    const out = fresh();
    const { stdout } = await run("import", "litellm", written(`model_list:\n${models.join("")}`), "--out", out);
    const printed = stdout.split("\n").filter((line) => line.includes("model_list["));
    expect(printed.filter((line) => / taken /.test(line))).toHaveLength(2);
    expect(printed.filter((line) => / no counterpart /.test(line))).toHaveLength(40);
    expect(printed[0]).toMatch(/model_list\[0\]\.model_name and 39 like it +taken +routes\.m0 and others$/);
    expect(stdout).toContain("120 values of LiteLLM: 80 taken, 0 changed, 40 without counterpart.");
    expect(JSON.parse(readFileSync(join(out, "report.json"), "utf8"))).toHaveLength(120);
  });
  test("check accepts them, without a variable of the environment", async () => {
    const out = fresh();
    await run("import", "litellm", written(CONFIGURATION), "--out", out);
    expect(await run("check", join(out, "dragoman.yaml"))).toMatchObject({ code: 0, stderr: "" });
  });
  test("nothing that exists is overwritten", async () => {
    const out = fresh();
    mkdirSync(out);
    writeFileSync(join(out, "mine"), "mine");
    const { code, stderr } = await run("import", "litellm", written(CONFIGURATION), "--out", out);
    expect(code).toBe(1);
    expect(stderr).toContain("is not empty");
    expect(readdirSync(out)).toEqual(["mine"]);
  });
  test("a configuration that is refused leaves nothing behind", async () => {
    const out = fresh();
    const before = readdirSync(folder);
    const { code, stderr } = await run("import", "litellm", written("model_list: 5\n"), "--out", out);
    expect(code).toBe(2);
    expect(stderr).toContain("model_list: expected a list of models");
    expect(existsSync(out)).toBe(false);
    expect(readdirSync(folder)).toHaveLength(before.length + 1);
  });
  test("without --out nothing is written", async () => {
    const file = written(CONFIGURATION);
    const before = readdirSync(folder);
    const { code, stdout } = await run("import", "litellm", file);
    expect(code).toBe(0);
    expect(stdout).toContain("Nothing was written");
    expect(readdirSync(folder)).toEqual(before);
  });
});

test("[d15.2] the report has a line for each value, and says what has no counterpart", async () => {
  const { stdout } = await run("import", "litellm", written(CONFIGURATION), "--json");
  const printed = JSON.parse(stdout) as {
    readonly values: number;
    readonly taken: number;
    readonly changed: number;
    readonly without: number;
    readonly report: readonly {
      readonly path: string;
      readonly line: number;
      readonly outcome: string;
      readonly note: string;
    }[];
  };
  expect(printed.values).toBe(15);
  expect(printed.taken + printed.changed + printed.without).toBe(printed.values);
  expect(printed.report.find(({ path }) => path === "litellm_settings.unheard_of")).toMatchObject({
    line: 14,
    outcome: "without",
    note: "the import does not know this setting",
  });
});

describe("an import that is not whole", () => {
  const PORTKEY = JSON.stringify({ retry: { attempts: 2 }, targets: [{ virtual_key: "openai-1" }] });
  test("[d15.2] without a route it says so, and ends with 1", async () => {
    const { code, stdout } = await run("import", "portkey", written(PORTKEY));
    expect(code).toBe(1);
    expect(stdout).toContain("The import is incomplete: the configuration has no route.");
    const printed = JSON.parse((await run("import", "portkey", written(PORTKEY), "--json")).stdout) as object;
    expect(printed).toMatchObject({ complete: false, routes: 0, missing_targets: [{ line: 1, path: "targets[0]" }] });
    expect(await run("import", "portkey", written(PORTKEY), "--model", "gpt-4o")).toMatchObject({ code: 0 });
  });
  test("[d15.2] with a target less than the file it names it, writes the rest, and ends with 1", async () => {
    const out = fresh();
    const text = `${CONFIGURATION}\n`.replace(
      "router_settings:",
      "  - model_name: draw\n    litellm_params: {model: openai/dall-e-3}\nrouter_settings:",
    );
    const { code, stdout } = await run("import", "litellm", written(text), "--out", out);
    expect(code).toBe(1);
    expect(stdout).toContain("1 of the targets in the file are not in the configuration.");
    expect(stdout).toMatch(/model_list\[3\]: .*images/);
    expect((await run("check", join(out, "dragoman.yaml"))).code).toBe(0);
  });
});

describe("calls go where they went", () => {
  const simulated = async (out: string, traffic: object): Promise<Report> => {
    const { code, stdout, stderr } = await run(
      "simulate",
      join(out, "dragoman.yaml"),
      "--traffic",
      written(JSON.stringify(traffic)),
      "--json",
    );
    expect([code, stderr]).toEqual([0, ""]);
    return JSON.parse(stdout) as Report;
  };
  const shareOf = (report: Report, target: string): number => {
    const row = report.targets.find((each) => each.target === target);
    return row === undefined ? 0 : row.successes / report.totals.succeeded;
  };
  test("by weight while all targets are healthy, and to the fallback when they fail", async () => {
    const out = fresh();
    await run("import", "litellm", written(CONFIGURATION), "--out", out);
    const calls = [{ model: "chat", count: 400, every_ms: 50 }];
    const healthy = await simulated(out, { calls });
    expect(shareOf(healthy, "openai:gpt-4o")).toBeCloseTo(0.75, 1);
    expect(shareOf(healthy, "anthropic:claude-haiku-4-5")).toBeCloseTo(0.25, 1);
    const failing = await simulated(out, {
      calls,
      faults: ["openai:*", "anthropic:*"].map((target) => ({ target, kind: "status", status: 503 })),
    });
    expect(shareOf(failing, "groq:llama-3.3-70b-versatile")).toBe(1);
  });
  test("[d15.2] under the name that clients asked for, although no route can have it", async () => {
    const out = fresh();
    const text = `
model_list:
  - model_name: groq/llama
    litellm_params: {model: groq/llama-3.3-70b-versatile, api_key: os.environ/GROQ_API_KEY}
  - model_name: other
    litellm_params: {model: openai/gpt-4o}
router_settings:
  fallbacks: [{groq/llama: [other]}]
`;
    expect((await run("import", "litellm", written(text), "--out", out)).code).toBe(0);
    const calls = [{ model: "groq/llama", count: 50, every_ms: 50 }];
    const healthy = await simulated(out, { calls });
    expect(shareOf(healthy, "groq:llama-3.3-70b-versatile")).toBe(1);
    const failing = await simulated(out, { calls, faults: [{ target: "groq:*", kind: "status", status: 503 }] });
    expect(shareOf(failing, "openai:gpt-4o")).toBe(1);
  });
  test("in the order of a Portkey config", async () => {
    const out = fresh();
    const config = {
      strategy: { mode: "fallback" },
      targets: [
        { override_params: { model: "@openai-prod/gpt-4o" } },
        { override_params: { model: "@groq-backup/llama" } },
      ],
    };
    await run("import", "portkey", written(JSON.stringify(config)), "--out", out, "--name", "main");
    const report = await simulated(out, { calls: [{ model: "main", count: 50, every_ms: 50 }] });
    expect(shareOf(report, "openai-prod:gpt-4o")).toBe(1);
  });
});
