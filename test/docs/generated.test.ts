// Generated pages are up to date with the code, and have a text for everything from which they are made.
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { generatedFiles } from "../../docs/generate.ts";
import { withGeneratedPart } from "../../docs/generators/markdown.ts";
import { parseChatRequest } from "../../src/engine/request/parse.ts";
import { BLOCK_TYPES } from "../../src/core/chat.ts";
import { CATALOGUE } from "../../src/core/errors.ts";
import type { Json } from "../../src/core/json.ts";
import { COMMON, COMMON_PARAMETERS, FIELDS, GATEWAY } from "../../src/core/params.ts";
import { providers } from "../../src/providers/registry.ts";
import { SAMPLES } from "../spec/requests/parameter-samples.ts";
import { codeWords, projectFolder, readPage, sortedRows, tableBelow } from "./pages.ts";

const generated = generatedFiles(projectFolder);
const wordsOfFirstCells = (rows: readonly (readonly string[])[]): readonly string[] =>
  rows.flatMap(([first]) => codeWords(first!));

describe("what `npm run docs` writes is checked in", () => {
  test.each([...generated.keys()])("%s", (path) => {
    expect(readFileSync(join(projectFolder, path), "utf8")).toBe(generated.get(path)!);
  });
  test("a stale page is detected, and a page without its marks is refused", () => {
    const page = "a\n<!-- generated: x -->\nold\n<!-- end of x -->\nb\n";
    expect(withGeneratedPart(page, "x", "new")).toBe("a\n<!-- generated: x -->\nnew\n<!-- end of x -->\nb\n");
    expect(() => withGeneratedPart(page, "y", "new")).toThrow("no part");
  });
  test("no generated page has a table without rows", () => {
    for (const [path, text] of generated)
      expect([path, /\n\|[ |:-]*-[ |:-]*\|\n(?!\|)/.exec(text)?.index]).toEqual([path, undefined]);
  });
  test("no generated page says undefined", () => {
    for (const [path, text] of generated)
      expect([path, /\bundefined\b|\[object|NaN/.test(text)]).toEqual([path, false]);
  });
});

describe("[d6.1] the fields of docs/api.md are those of the one table", () => {
  const page = readPage("docs/api.md");
  test("each field once, in its class", () => {
    expect(wordsOfFirstCells(tableBelow(page, "### Fields of the gateway"))).toEqual(Object.keys(GATEWAY));
    expect(wordsOfFirstCells(tableBelow(page, "### Common parameters"))).toEqual(Object.keys(COMMON));
    expect([...Object.keys(GATEWAY), ...Object.keys(COMMON)]).toEqual([...FIELDS.keys()]);
  });
  test("the fields that need byo_endpoint are those that the page names", () => {
    const row = tableBelow(page, "### Permissions").find(([first]) => first === "`byo_endpoint`")!;
    const samples: Readonly<Record<string, unknown>> = {
      base_url: "https://a.example",
      api_base: "https://a.example",
      api_key: "k",
      api_version: "v1",
      headers: { "x-a": "b" },
      extra_headers: { "x-a": "b" },
      model_list: [],
      route: "direct",
      timeout: 5,
      metadata: { a: "b" },
      drop_params: true,
      extra_body: { a: 1 },
      tenant_id: "t",
      project_id: "p",
      cache: false,
      num_retries: 0,
      max_tool_rounds: 3,
      fallbacks: [],
      context_window_fallback_dict: {},
      functions: [{ name: "f" }],
      function_call: "auto",
      ...Object.fromEntries(COMMON_PARAMETERS.map((name) => [name, SAMPLES[name].values[0]])),
      aws_region_name: "r",
      aws_access_key_id: "a",
      aws_secret_access_key: "s",
      aws_session_token: "t",
      vertex_project: "p",
      vertex_location: "l",
      vertex_access_token: "t",
      top_k: 5,
      vertex_credentials: {
        type: "service_account",
        client_email: "a@b",
        private_key: "-----BEGIN PRIVATE KEY-----\n",
      },
    };
    const beside: Readonly<Record<string, Json>> = {
      stream_options: { stream: true },
      top_logprobs: { logprobs: true },
      aws_access_key_id: { aws_secret_access_key: "s" },
      aws_secret_access_key: { aws_access_key_id: "a" },
      aws_session_token: { aws_access_key_id: "a", aws_secret_access_key: "s" },
    };
    const needing = Object.keys(samples).filter((name) => {
      const request = {
        model: "sandbox:echo",
        messages: [{ role: "user", content: "a" }],
        ...(beside[name] as object),
        [name]: samples[name],
      };
      // a list that asks for something is refused before permissions are looked at
      return parseChatRequest(JSON.stringify(request)).options.needs.has("byo_endpoint");
    });
    const told = codeWords(row[1]!);
    expect([...new Set(needing.map((name) => name.replace(/^(aws_|vertex_).*/, "$1")))].toSorted()).toEqual(
      told.filter((word) => !word.endsWith(".md")).toSorted(),
    );
    const unasked = [...FIELDS.keys()].filter(
      (name) =>
        !(name in samples) && !["model", "messages", "input_cost_per_token", "output_cost_per_token"].includes(name),
    );
    expect(unasked).toEqual([]);
  });
});

describe("docs/errors.md and docs/providers.md", () => {
  test("every code of the catalogue, once, with its status", () => {
    const rows = generated
      .get("docs/errors.md")!
      .split("\n")
      .filter((line) => line.startsWith("| `"))
      .filter((line) => !line.includes("status | `type`"));
    const told = rows.map((row) =>
      row
        .split("|")
        .slice(1, 4)
        .map((cell) => cell.trim().replaceAll("`", "")),
    );
    expect(sortedRows(told)).toEqual(
      sortedRows(Object.entries(CATALOGUE).map(([code, { status, type }]) => [code, String(status), type])),
    );
  });
  test("every provider has its section with address, key variables and all features", () => {
    const sections = new Map(
      generated
        .get("docs/providers.md")!
        .split("\n## ")
        .slice(1)
        .map((section) => [section.split("\n")[0]!, section]),
    );
    expect([...sections.keys()].toSorted()).toEqual([...providers.keys()].toSorted());
    for (const { id, docs, baseUrl, keyVariables } of providers.values()) {
      const section = sections.get(id)!;
      expect(section).toContain(`](${docs})`);
      if (baseUrl?.startsWith("http") === true) expect(section).toContain(`\`${baseUrl}\``);
      for (const name of keyVariables) expect(section).toContain(`\`${name}\``);
      for (const feature of [...COMMON_PARAMETERS, ...BLOCK_TYPES])
        expect([id, section.includes(`| \`${feature}\` | `)]).toEqual([id, true]);
    }
  });
});
