// The pages explain everything that the code can output, and nothing else: headers, warnings, log fields, commands,
// sandbox models.
import { describe, expect, test } from "bun:test";
import { calledUrl } from "../../src/config/loopback.ts";
import { unservedOperation } from "../../src/http/unserved-operations.ts";
import { OPERATIONS } from "../../src/operations/operations.ts";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { NOUNS } from "../../src/cli/admin/nouns.ts";
import { parseCallerHeaders } from "../../src/engine/fit/caller-headers.ts";
import { GatewayError } from "../../src/core/errors.ts";
import type { CallRecord } from "../../src/core/record/record.ts";
import { attemptOf, bareRecord } from "../contract/store/call-records.ts";
import { VERSION } from "../../src/core/version.ts";
import { callLine } from "../../src/observe/log.ts";
import { SANDBOX_MODELS } from "../../src/providers/sandbox/provider.ts";
import { formatRetryAfter } from "../../src/wire/retry-after.ts";
import { LAYERS } from "../architecture/import-law.ts";
import { readTree } from "../architecture/source-tree.ts";
import { runCli } from "../harness/processes/gateway-process.ts";
import { codeWords, fencesOf, projectFolder, readPage, sortedRows, tableBelow } from "./pages.ts";

const api = readPage("docs/api.md");
const operations = readPage("docs/operations.md");
const wordsIn = (rows: readonly (readonly string[])[], column = 0): readonly string[] =>
  rows.flatMap((row) => codeWords(row[column]!));
const sorted = (words: Iterable<string>): readonly string[] => [...new Set(words)].toSorted();
const found = (text: string, pattern: RegExp): readonly string[] =>
  [...text.matchAll(pattern)].map((match) => match[1]!);

/** A text without its line breaks, so that a pattern finds what the formatter has put on several lines. */
const onOneLine = (text: string): string =>
  text
    .replaceAll(/([([])\s+/g, "$1")
    .replaceAll(/,?\s+([)\]])/g, "$1")
    .replaceAll(/,?\s+\}/g, " }")
    .replaceAll(/\s+/g, " ");

/**
 * The code that speaks with clients; caller-headers.ts is about headers for providers, code-flow.ts about those for
 * issuers of logins, and docs/console.md has those between the console and its page.
 */
const clientSide = readTree(projectFolder, ["src/{engine,http,auth,admission}/**/*.ts"])
  .filter(
    ({ path }) =>
      !["src/engine/fit/caller-headers.ts", "src/auth/logins/code-flow.ts"].includes(path) &&
      !path.startsWith("src/http/console/"),
  )
  .map(({ path, text }) => ({ path, text: onOneLine(text) }));

describe("headers of docs/api.md", () => {
  test("sent by the client: those that the code reads", () => {
    const read = clientSide.flatMap(({ text }) => [
      ...found(text, /\bheaders\.get\("([a-z-]+)"\)/g),
      ...found(text, /\bclientHeader\("([a-z-]+)"\)/g),
      ...found(text, /\breq\.header\("([a-z-]+)"\)/g),
    ]);
    expect(read.length).toBeGreaterThan(5);
    expect(sorted(wordsIn(tableBelow(api, "## Headers")))).toEqual(sorted(read));
  });
  test("on the answer: those that the code writes", () => {
    const inner = clientSide.flatMap(({ text }) =>
      found(text, /headers: \{ ((?:"?[a-z-]+"?: [^{}]*)) \}/g).flatMap((list) =>
        found(list, /(?:^|, )"?([a-z-]+)"?: /g),
      ),
    );
    const quoted = clientSide.flatMap(({ text }) =>
      found(text, /"((?:x|access-control|retry|content|cache|server|www|idempotent)-[a-z-]+)":/g),
    );
    const assigned = clientSide.flatMap(({ text }) => found(text, /\bheaders\["([a-z-]+)"\] = /g));
    const shorthand = clientSide.flatMap(({ text }) => [
      ...found(text, /, (vary): "origin"/g),
      ...found(text, /headers: \{ ([a-z]+) \}/g),
    ]);
    const written = [...inner, ...quoted, ...assigned, ...shorthand, ...Object.keys(formatRetryAfter(1))];
    expect(sorted(wordsIn(tableBelow(api, "### Response headers")))).toEqual(sorted(written));
  });
  test("forbidden for a caller to send to a provider: each that the page names is refused, and no other common one", () => {
    const paragraph =
      /Names that carry credentials or frame the message are refused with 400[^]*?\n- The HTTP headers/.exec(
        api.text,
      )![0];
    const names = codeWords(paragraph).filter((word) => /^[a-z0-9-]+$/.test(word));
    const refusal = (name: string): string | null => {
      try {
        parseCallerHeaders({ [name]: "a" }, undefined);
        return null;
      } catch (thrown) {
        return thrown instanceof GatewayError ? thrown.code : String(thrown);
      }
    };
    for (const name of names)
      expect([name, refusal(name.endsWith("-") ? `${name}other` : name)]).toEqual([name, "header_not_allowed"]);
    for (const name of ["user-agent", "http-referer", "x-title", "anthropic-beta", "traceparent", "accept"])
      expect([name, refusal(name)]).toEqual([name, null]);
    const source = readTree(projectFolder, ["src/engine/fit/caller-headers.ts"])[0]!.text;
    const listed = [
      ...found(source, /"([a-z0-9-]+)"(?=[,\s\]])/g),
      ...found(source, /\^\(([a-z|-]+)\)/g)[0]!.split("|"),
    ].filter((word) => word !== "" && word !== "headers");
    expect(sorted(names)).toEqual(sorted(listed));
  });
  test("x-gateway-warnings: every warning that the code can give", () => {
    const forms = readTree(projectFolder, ["src/operations/**/*.ts"]);
    const words = [...clientSide, ...forms].flatMap(({ text }) => [
      ...found(text, /[wW]arnings(?:: | = )\[[^\]]*"([a-z_]+)"/g),
      ...found(text, /\.warned\("([a-z_]+)"\)/g),
    ]);
    const row = tableBelow(api, "### Response headers").find(([name]) => name === "`x-gateway-warnings`")!;
    expect(sorted(codeWords(row[2]!))).toEqual(sorted(words));
  });
});

/** A record in which nothing is absent. */
const FULL: Required<CallRecord> = {
  mirrorOf: "0af7651916cd43dd8448eb211c80319d",
  mirror: { route: "chat", target: "openai:gpt-5", traceId: null, dropped: "too many copies are in flight" },
  traceId: "0af7651916cd43dd8448eb211c80319c",
  startedAtMs: 1_767_225_600_000,
  clientRequestId: "r",
  otelTraceId: "o",
  trace: null,
  rounds: 2,
  snapshotVersion: 1,
  operation: "unserved",
  tokenId: "t",
  tenantId: "default",
  projectId: "default",
  userId: "u",
  endUser: "e",
  modelAsked: "sandbox:echo",
  route: "direct",
  routeVersion: 3,
  provider: "sandbox",
  model: "echo",
  stream: true,
  explained: true,
  status: 502,
  code: "upstream_error",
  errorDetail: "words",
  dispositions: { stop: "native" },
  messages: { count: 1, roles: { user: 1 }, blocks: ["text"], bodyCharacters: 10 },
  tools: Array.from({ length: 129 }, () => ({
    callId: "call_1",
    server: "s",
    tool: "t",
    round: 1,
    startMs: 1,
    totalMs: 2,
    code: "tool_timeout" as const,
    isError: true,
    resultBytes: 1,
    spanId: null,
  })),
  attempts: [
    attemptOf({
      provider: "sandbox",
      model: "echo",
      status: 500,
      code: "upstream_error",
      round: 2,
      usage: { prompt_tokens: 1, completion_tokens: 0, total_tokens: 1 },
      usageSource: "estimated",
      nativeCode: "server_error",
      retryAfterMs: 2000,
      fromCache: true,
      promptCacheMiss: { why: "not_found" },
    }),
  ],
  candidates: ["sandbox:echo", "sandbox:slow"],
  plan: [{ target: "sandbox:echo", why: "first by order", atMs: 1, waitMs: 2, round: 2, refused: "policy_violation" }],
  headMs: 3,
  keepAlives: 1,
  finishReasons: ["stop"],
  nativeFinishReasons: ["eos"],
  finishInferred: true,
  providerModel: "m-2026",
  providerRequestId: "req-1",
  unnamedUsage: { odd: 1 },
  usage: {
    prompt_tokens: 1,
    completion_tokens: 2,
    total_tokens: 3,
    prompt_tokens_details: { cached_tokens: 1 },
    completion_tokens_details: { reasoning_tokens: 1 },
  },
  usageSource: "provider",
  cost: { nanoUsd: 10, priceId: "p" },
  callerCost: { nanoUsd: 1, priceId: "request" },
  cache: { outcome: "hit", bypass: "no_store", key: "0a", scope: "token", ageMs: 1, savedNanoUsd: 5 },
  limits: [
    {
      id: "lim_1",
      value: "u",
      unit: "tokens",
      before: 0,
      reserved: 5,
      settled: 3,
      after: 3,
      wouldRefuse: true,
      refused: "insufficient_quota",
    },
  ],
  policies: [{ name: "p", effect: "failed", why: "No such key: team" }],
  guardServices: [
    {
      policy: "p",
      type: "request",
      place: "input",
      requests: 1,
      characters: 5,
      waitedMs: 2,
      slowestMs: 2,
      found: ["PERSON"],
      failures: 1,
      costNanoUsd: 1,
    },
  ],
  warnings: ["stop_truncated"],
  cancelled: true,
  metadata: { team: "a" },
  firstContentMs: 2,
  totalMs: 3,
  ownMs: 1,
};

/** Names below free-form objects are the caller's. */
function fieldNames(line: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(line).flatMap(([name, value]) => {
    if (name === "messages" || name === "cache")
      return [name, ...Object.keys(value as object).map((member) => `${name}.${member}`)];
    if (["attempts", "plan", "tools", "limits", "policies", "guard_services"].includes(name))
      return [name, ...Object.keys((value as readonly object[])[0]!).map((member) => `${name}[].${member}`)];
    return [name];
  });
}

describe("docs/operations.md", () => {
  test("log fields: those of a line in which nothing is absent", () => {
    const line = JSON.parse(callLine(FULL)) as Record<string, unknown>;
    expect(sorted(wordsIn(tableBelow(operations, "## Logs")))).toEqual(sorted(fieldNames(line)));
  });
  test("log fields: a field of the record changes the line, if it is not in this list", () => {
    const bare = bareRecord({ totalMs: -1, ownMs: -1, status: -1, snapshotVersion: -1, rounds: -1, startedAtMs: -1 });
    const silent = Object.keys(FULL).filter((name) => {
      const without = { ...FULL, [name]: bare[name as keyof CallRecord] };
      return callLine(without) === callLine(FULL);
    });
    // the ids of its spans are in the traces
    expect(silent).toEqual(["trace"]);
  });
  test("other lines: each message that the code writes, at its level", () => {
    const written = readTree(projectFolder, [
      "src/process/**/*.ts",
      "src/admission/*.ts",
      "src/cache/*.ts",
      "src/observe/**/*.ts",
      "src/cli/*.ts",
    ]).flatMap(({ text }) => [
      ...[...onOneLine(text).matchAll(/\blog(?:ger)?\.(info|warn|error)\(\{.*?\}, "([^"]+)"\)/g)].map(
        ([, level, message]) => `${level!} ${message!}`,
      ),
      ...[...text.matchAll(/faultMessage: "([^"]+)"/g)].map(([, message]) => `error ${message!}`),
    ]);
    const told = tableBelow(operations, "### Other lines").map(
      ([message, level]) => `${level!} ${codeWords(message!)[0]!}`,
    );
    expect(sorted(told)).toEqual(sorted(written));
  });
  test("the command line: every command with its words and options", async () => {
    const real = await commandsBelow([]);
    expect(real.length).toBeGreaterThan(8);
    const told = tableBelow(operations, "## Command line").map(([command, words, options]) => [
      codeWords(command!)[0]!,
      words!,
      codeWords(options!).toSorted().join(" "),
    ]);
    expect(sortedRows(told)).toEqual(sortedRows(real));
  });
});

describe("docs/cli.md", () => {
  test("every noun of the admin API with its verbs and its scopes", () => {
    const told = tableBelow(readPage("docs/cli.md"), "## Nouns").map(([noun, verbs, place]) => [
      codeWords(noun!)[0]!,
      codeWords(verbs!).join(" "),
      place!,
    ]);
    const places = {
      none: "-",
      own: "own, or tenant",
      personal: "own, or project",
      tenant: "tenant",
      either: "tenant or project",
    } as const;
    expect(told).toEqual(NOUNS.map(({ word, verbs, place }) => [word, verbs.join(" "), places[place]]));
  });
});

/** Commands as `dragoman --help` and the help of each tell them: usage, description, options. */
async function commandsBelow(parents: readonly string[]): Promise<readonly (readonly string[])[]> {
  const { stdout } = await runCli([...parents, "--help"]);
  const names = found(/\nCommands:\n([^]*)/.exec(stdout)?.[1] ?? "", /^ {2}([a-z][a-z-]*)\b/gm).filter(
    (name) => name !== "help",
  );
  const noun = NOUNS.find(({ word }) => parents.length === 1 && parents[0] === word);
  // the verbs of the admin API stand on docs/cli.md
  if (noun !== undefined)
    return (
      await Promise.all(
        names.filter((name) => !noun.verbs.includes(name as never)).map((name) => commandsBelow([...parents, name])),
      )
    ).flat();
  if (names.length > 0) return (await Promise.all(names.map((name) => commandsBelow([...parents, name])))).flat();
  const usage = /^Usage: (dragoman .*)$/m.exec(stdout)![1]!.replace(/ \[options\]/, "");
  const description = /^Usage: .*\n\n([^]*?)\n\nOptions:/m.exec(stdout)![1]!.replaceAll("\n", " ");
  const options = found(stdout, /^ {2}(?:-\w, )?(--[a-z-]+(?: <[^>]+>)?)/gm).filter((option) => option !== "--help");
  return [[usage, description, options.toSorted().join(" ")]];
}

describe("docs/sandbox.md", () => {
  const page = readPage("docs/sandbox.md");
  test("every model that is listed has a row, and every row is a model", () => {
    const kinds = (names: readonly string[]): readonly string[] =>
      sorted(names.map((name) => name.replace(/^sandbox:/, "").replace(/-(<\w+>|\d+)$/, "")));
    expect(kinds(wordsIn(tableBelow(page, "# The sandbox")))).toEqual(kinds(SANDBOX_MODELS.map(({ id }) => id)));
  });
});

describe("README.md and CHANGELOG.md", () => {
  test("[d9.6] the status table of README.md has the operations that answer, and names as missing only those that do not", () => {
    const row = readPage("README.md").text.match(/^\| operations \|(.*)\|(.*)\|$/m)!;
    const [served, missing] = row.slice(1).map((cell) => found(cell, /`(\/[a-z_/]+)`/g)) as [string[], string[]];
    expect(sorted(served)).toEqual(sorted(OPERATIONS.keys()));
    expect(missing.length).toBeGreaterThan(10);
    for (const path of missing)
      expect([path, OPERATIONS.has(path), unservedOperation("GET", `/api/v1${path}`)]).toEqual([
        path,
        false,
        path.slice(1),
      ]);
    const unserved = readPage("docs/api.md").text.match(
      /^What OpenAI's API has and the gateway does not serve.*$/m,
    )![0];
    for (const path of missing) expect([path, unserved.includes(`\`${path}\``)]).toEqual([path, true]);
  });
  test("[d2.8] the address that the first start prints can be called, also where the gateway listens on all", () => {
    expect(
      ["http://0.0.0.0:4100", "http://[::]:4100", "http://127.0.0.1:4100", "http://10.0.0.1:80"].map(calledUrl),
    ).toEqual(["http://127.0.0.1:4100", "http://[::1]:4100", "http://127.0.0.1:4100", "http://10.0.0.1"]);
  });
  test("speak of the version of the package", () => {
    expect(readPage("README.md").text).toContain(`Version ${VERSION} is`);
    expect(readPage("CHANGELOG.md").text).toMatch(new RegExp(`^## ${RegExp.escape(VERSION)}( |$)`, "m"));
  });
});

describe("ARCHITECTURE.md", () => {
  const page = readPage("ARCHITECTURE.md");
  const sources = readTree(projectFolder, ["src/**/*.ts"]).map(({ path }) => path);
  const filesNamedOn = (text: string): readonly string[] =>
    [...text.matchAll(/(?<![\w/.-])((?:[a-z-]+\/)*[a-z-]+\.ts)\b/g)].map(([, path]) => path!);
  const missingOf = (named: readonly string[]): readonly string[] =>
    named.filter(
      (path) => !existsSync(join(projectFolder, path)) && !sources.some((source) => source.endsWith(`/${path}`)),
    );
  test("gives the import law as the test of the architecture has it", () => {
    const law = fencesOf(page).find(({ text }) => text.startsWith("core | "))!.text;
    expect(law.split(" | ")).toEqual([...LAYERS]);
  });
  test("has a row for every folder of src/, and none for a missing file or folder", () => {
    const places = wordsIn(tableBelow(page, "## Layout"));
    const folders = sorted(
      sources.map((path) => path.split("/").slice(0, 2).join("/") + (path.split("/").length > 2 ? "/" : "")),
    );
    expect(places.filter((place) => place.startsWith("src/")).toSorted()).toEqual([...folders]);
    for (const place of places) expect([place, existsSync(join(projectFolder, place))]).toEqual([place, true]);
    const named = filesNamedOn(page.text);
    expect(named.length).toBeGreaterThan(30);
    expect(missingOf(named)).toEqual([]);
  });
  test.each(["docs/glossary.md", "docs/request-map.md", "docs/where-decided.md"])(
    "the files that %s names exist",
    (path) => {
      const named = filesNamedOn(readPage(path).text);
      expect(named.length).toBeGreaterThan(10);
      expect(missingOf(named)).toEqual([]);
    },
  );
  test("is a map and no index: at most 12 KB", () => {
    expect(Buffer.byteLength(page.text)).toBeLessThanOrEqual(12 * 1024);
  });
});
