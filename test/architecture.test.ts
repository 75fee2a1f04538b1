// The house rules hold in every file: arrows go one way, nothing goes round, no vendor's name outside providers/, no clock, environment or console where
// they do not belong. Sizes are alarms, which the test runner prints. The judges are in architecture/, and each is shown to be able to fail.
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import consoleManifest from "../console/package.json" with { type: "json" };
import manifest from "../package.json" with { type: "json" };
import {
  bareDateViolations,
  callViolations,
  fileNameViolations,
  filePathViolations,
  headCommentViolations,
  languageViolations,
  maybePromiseViolations,
  longFiles,
  longFunctions,
  moduleFormViolations,
  useViolations,
} from "./architecture/house-rules.ts";
import {
  crowdedFolders,
  importLawViolations,
  providerImportViolations,
  importRounds,
  layerOf,
  LAYERS,
  operationViolations,
  packageViolations,
  seamViolations,
  ROOM_IMPORTS,
  roomImportViolations,
  roomOf,
} from "./architecture/import-law.ts";
import { OPERATIONS } from "../src/operations/operations.ts";
import { moduleStateViolations, type StateAllowance } from "./architecture/module-state.ts";
import { parseFile, readTree, type SourceFile, type Violation } from "./architecture/source-tree.ts";
import { ORDINARY_WORDS, vendorNames, vendorNameViolations, type Allowance } from "./architecture/vendor-names.ts";

/** `messages` is a member of the engine's own requests as well. */
const operations = Array.from(OPERATIONS.values(), ({ name }) => name).filter((name) => name !== "messages");
const root = join(import.meta.dir, "..");
const src = readTree(root, ["src/**/*.{ts,tsx}"]);
const consoleSource = readTree(root, ["console/src/**/*.{ts,tsx}"]);
const everything = [
  ...consoleSource,
  ...src,
  ...readTree(root, ["{bin,bench,docs,examples,test}/**/*.{ts,tsx,mjs,mts}", "console/*.ts"]),
];

/** Where a provider's name may stand outside src/providers/, and why. */
const VENDOR_NAMES_ALLOWED: readonly Allowance[] = [
  {
    path: "src/accounting/model-catalogue.ts",
    text: "embed|(^|[/-])(bge|e5|gte|all-minilm|voyage)-",
    reason: "how names of models of vectors begin, at whichever provider they are",
  },
  {
    path: "src/engine/fit/caller-headers.ts",
    text: "openai-organization",
    reason: "a header that promise 2.10 forbids by name",
  },
  {
    path: "src/engine/fit/caller-headers.ts",
    text: "openai-project",
    reason: "a header that promise 2.10 forbids by name",
  },
  {
    path: "src/engine/fit/endpoint-fields.ts",
    text: "^(aws|vertex)_",
    reason: "how the fields of clouds begin that promise 2.4 names",
  },
  { path: "src/admission/settings.ts", text: "custom", reason: "zod's word for a problem that one finds oneself" },
  {
    path: "src/accounting/price-settings.ts",
    text: "custom",
    reason: "zod's word for a problem that one finds oneself",
  },
  { path: "src/mcp/settings.ts", text: "custom", reason: "zod's word for a problem that one finds oneself" },
  {
    path: "src/guards/outside/outside-settings.ts",
    text: "custom",
    reason: "zod's word for a problem that one finds oneself",
  },
  {
    path: "src/auth/settings/content-settings.ts",
    text: "custom",
    reason: "zod's word for a problem that one finds oneself",
  },
  {
    path: "src/policies/policy-settings.ts",
    text: "custom",
    reason: "zod's word for a problem that one finds oneself",
  },
  { path: "src/engine/request/flat-tools.ts", text: "custom", reason: "a type of tools in OpenAI's forms" },
  { path: "src/engine/stream/tool-call-deltas.ts", text: "custom", reason: "a type of tool calls in OpenAI's forms" },
  { path: "src/operations/responses/request-memo.ts", text: "custom", reason: "a type of tools in that API" },
  {
    path: "src/diagnostics/simulation/traffic.ts",
    text: "custom",
    reason: "zod's word for a problem that one finds oneself",
  },
  {
    path: "src/core/configured/client-deviations.ts",
    text: "https://developers.openai.com/codex/config-reference",
    reason: "the page of a client program",
  },
  {
    path: "src/core/configured/client-deviations.ts",
    text: "https://github.com/openai/codex",
    reason: "the page of a client program",
  },
  {
    path: "src/core/configured/client-deviations.ts",
    text: "https://code.claude.com/docs/en/llm-gateway-protocol",
    reason: "the page of a client program",
  },
  {
    path: "src/http/model-forms.ts",
    text: "anthropic-version",
    reason: "the header of that form, whichever provider serves the call",
  },
  {
    path: "src/operations/messages/message-heads.ts",
    text: "anthropic-ratelimit-",
    reason: "the headers of that form begin so, whichever provider serves the call",
  },
  {
    path: "src/operations/messages/message-heads.ts",
    text: "anthropic-version",
    reason: "the header of that form, whichever provider serves the call",
  },
  {
    path: "src/operations/messages/translate-tools.ts",
    text: "custom",
    reason: "that form's word for the client's own tools",
  },
  { path: "src/snapshot/configuration.ts", text: "custom", reason: "zod's word for a problem that one finds oneself" },
];

const SHARED_SEARCH = "remembers where the last search found its text, so that several detectors search a text once";
const SCRATCH = "an array that only one synchronous function uses at a time";
const DRAWN_AHEAD = "random digits that are drawn in blocks; no digit is used twice";

/** State that modules may hold, and why. */
const CONSOLE_STATE_ALLOWED: readonly StateAllowance[] = [
  {
    path: "console/src/format/date-format.ts",
    name: "formats",
    reason: "a format is the same whenever it is made, and a list would make hundreds",
  },
];
const STATE_ALLOWED: readonly StateAllowance[] = [
  {
    path: "src/core/concurrency/event-loop.ts",
    name: "turns",
    reason: "the thread has one event loop, whose turns all that wait for one share",
  },
  { path: "src/core/ids.ts", name: "digits", reason: DRAWN_AHEAD },
  { path: "src/core/ids.ts", name: "used", reason: DRAWN_AHEAD },
  {
    path: "src/guards/work-meter.ts",
    name: "left",
    reason: "bounds one synchronous search from within, and is restored when the search returns",
  },
  { path: "src/guards/detector-national-ids.ts", name: "SEVEN_DIGITS", reason: SHARED_SEARCH },
  { path: "src/guards/detector-national-ids.ts", name: "THIRTEEN_DIGITS", reason: SHARED_SEARCH },
  { path: "src/store/calls/call-keys.ts", name: "KEY", reason: SCRATCH },
  { path: "src/store/calls/call-keys.ts", name: "LOW_HIGH", reason: SCRATCH },
  { path: "src/wire/json/json-scan.ts", name: "COUNTS", reason: SCRATCH },
  { path: "src/wire/json/json-names.ts", name: "HASHES", reason: SCRATCH },
  { path: "src/wire/json/json-names.ts", name: "STARTS", reason: SCRATCH },
  { path: "src/wire/json/json-names.ts", name: "ENDS", reason: SCRATCH },
  { path: "src/wire/json/json-scan.ts", name: "OBJECTS", reason: SCRATCH },
];

/** Where modules are loaded that an operator names. */
const OPERATORS_MODULES: ReadonlySet<string> = new Set(["src/observe/integrations/sinks/callback-sink.ts"]);

const DATA_ROWS = /\/rows(\/|[-.])/;
const MAX_FILE_LINES = 400;
const MAX_FUNCTION_LINES = 60;
const MAX_HANDLE_LINES = 120;

const WALL_CLOCK = ["Date.now", "performance.timeOrigin"];
const STOPWATCH_AND_CHANCE = ["performance.now", "Bun.nanoseconds", "process.hrtime", "process.uptime", "Math.random"];
/** They have the sockets, files and databases, so they may time themselves and jitter their waits. */
const DRIVERS: ReadonlySet<string> = new Set(["wire", "config", "store", "credentials", "observe"]);
/** The layers that decide. */
const RULES = LAYERS.slice(0, LAYERS.indexOf("http")).filter((layer) => !DRIVERS.has(layer));
const ENVIRONMENT = ["process.env", "Bun.env", "import.meta.env"];
const SOCKETS = new Set([
  "fetch",
  "Bun.connect",
  "Bun.listen",
  "Bun.serve",
  "Bun.file",
  "Bun.write",
  "Bun.spawn",
  "Bun.spawnSync",
  "setTimeout",
  "setInterval",
]);
const IO_MODULES = /^(node:(fs|net|tls|http|https|http2|dns|child_process|worker_threads)(\/.*)?|bun:sqlite|bun:ffi)$/;

const inLayer =
  (...layers: readonly string[]): ((path: string) => boolean) =>
  (path) =>
    layers.includes(layerOf(path));
const shown = (violations: readonly Violation[]): readonly string[] =>
  violations.map(({ path, line, what }) => `${path}:${line} ${what}`);
const tree = (files: Readonly<Record<string, string>>): readonly SourceFile[] =>
  Object.entries(files).map(([path, text]) => parseFile(path, text));

describe("imports", () => {
  test("every file of src/ parses", () => {
    expect(src.length).toBeGreaterThan(0);
    expect(everything.flatMap(({ path, parseErrors }) => parseErrors.map((error) => `${path} ${error}`))).toEqual([]);
  });
  test("go to the own folder or to folders on the left", () => {
    expect(shown(importLawViolations(src))).toEqual([]);
  });
  test("of the steps of every call name nothing of one operation", () => {
    expect(shown(seamViolations(src))).toEqual([]);
    expect(shown(operationViolations(src, operations))).toEqual([]);
  });
  test("go from a provider's folder only to those that the table of the law names", () => {
    expect(shown(providerImportViolations(src))).toEqual([]);
  });
  test("go from a room only to those that the table of the law names", () => {
    expect(shown(roomImportViolations(src))).toEqual([]);
  });
  test.each(Object.entries(ROOM_IMPORTS))(
    "the table of the law names all rooms of %s, and no import too many",
    (folder, table) => {
      const rooms = new Set(src.flatMap(({ path }) => roomOf(path, folder) ?? []));
      expect(Object.keys(table).toSorted()).toEqual([...rooms].toSorted());
      const used = new Set(
        src.flatMap(({ path, imports }) =>
          imports.map(({ target }) => `${roomOf(path, folder)} -> ${target === null ? null : roomOf(target, folder)}`),
        ),
      );
      const named = Object.entries(table).flatMap(([from, allowed]) => allowed.map((to) => `${from} -> ${to}`));
      expect(named.filter((arrow) => !used.has(arrow))).toEqual([]);
    },
  );
  test("no folder of src/ or of the console has more entries than a newcomer reads at a glance", () => {
    expect(crowdedFolders([...src, ...consoleSource].map(({ path }) => path))).toEqual([]);
    expect(crowdedFolders(Array.from({ length: 26 }, (_, at) => `src/crowded/${at}.ts`))).toEqual(["src/crowded: 26"]);
  });
  test("never go round", () => {
    expect(importRounds(everything).map((round) => round.join(" -> "))).toEqual([]);
  });
  test("name node: builtins, dependencies of package.json, and files with their endings", () => {
    expect(
      shown(
        packageViolations(
          src,
          new Set(Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })),
          OPERATORS_MODULES,
        ),
      ),
    ).toEqual([]);
  });
});

describe("the console", () => {
  test("imports only its own files and the packages that its package.json names", () => {
    const outside = consoleSource.flatMap(({ path, imports }) =>
      imports.flatMap(({ target, line }) =>
        target === null || target.startsWith("console/src/") ? [] : [{ path, line, what: `imports ${target}` }],
      ),
    );
    expect(consoleSource.length).toBeGreaterThan(0);
    const packages = new Set(Object.keys(consoleManifest.dependencies));
    expect(shown([...outside, ...packageViolations(consoleSource, packages)])).toEqual([]);
  });
  test("has no state in modules and no default exports", () => {
    expect(
      shown([...moduleStateViolations(consoleSource, CONSOLE_STATE_ALLOWED), ...moduleFormViolations(consoleSource)]),
    ).toEqual([]);
  });
  test("names no provider", () => {
    expect(shown(vendorNameViolations(consoleSource, vendorNames(src), []))).toEqual([]);
  });
});

describe("providers", () => {
  const names = vendorNames(src);
  test("tell their names to this test", () => {
    expect([...names.ids]).toEqual(expect.arrayContaining(["openai", "anthropic", "gemini"]));
    expect(names.labels.size).toBeGreaterThan(10);
  });
  test("are named nowhere outside src/providers/", () => {
    expect(shown(vendorNameViolations(src, names, VENDOR_NAMES_ALLOWED))).toEqual([]);
  }, 120_000);
  test("have no exception that is no longer needed", () => {
    const needed = vendorNameViolations(src, names, []);
    expect(
      VENDOR_NAMES_ALLOWED.filter(
        ({ path, text }) =>
          !needed.some((each) => each.path === path && each.what.includes(JSON.stringify(text.slice(0, 80)))),
      ),
    ).toEqual([]);
  }, 120_000);
  test("and core are without socket, file and timer, but for the bounds of core/concurrency/timeout.ts", () => {
    const pure = src.filter(
      ({ path }) =>
        inLayer("core", "providers")(path) &&
        !path.startsWith("src/providers/sandbox/") &&
        path !== "src/core/concurrency/timeout.ts",
    );
    const modules = pure.flatMap(({ path, imports }) =>
      imports.flatMap(({ specifier, line }) =>
        specifier !== null && IO_MODULES.test(specifier) ? [{ path, line, what: `imports ${specifier}` }] : [],
      ),
    );
    expect(shown([...callViolations(pure, SOCKETS), ...modules])).toEqual([]);
  });
});

describe("what is handed in", () => {
  test("the environment: read in src/config only", () => {
    expect(shown(useViolations(src, ENVIRONMENT, inLayer("config")))).toEqual([]);
  });
  test("the date: read in src/core/clock.ts only", () => {
    const elsewhere = src.filter(({ path }) => path !== "src/core/clock.ts");
    expect(shown([...useViolations(elsewhere, WALL_CLOCK, () => false), ...bareDateViolations(elsewhere)])).toEqual([]);
  });
  test("stopwatch and chance: never read where rules are decided", () => {
    const rules = src.filter(({ path }) => path !== "src/core/clock.ts" && inLayer(...RULES)(path));
    expect(shown(useViolations(rules, STOPWATCH_AND_CHANCE, () => false))).toEqual([]);
  });
  test("the console: written in src/cli and src/main.ts only", () => {
    expect(shown(useViolations(src, ["console.*"], inLayer("cli", "main.ts")))).toEqual([]);
  });
});

describe("state", () => {
  test("belongs to objects that are opened and closed, not to modules", () => {
    expect(shown(moduleStateViolations(src, STATE_ALLOWED))).toEqual([]);
  });
  test("has no exception that is no longer needed", () => {
    const needed = moduleStateViolations(src, []);
    expect(
      STATE_ALLOWED.filter(
        ({ path, name }) => !needed.some((each) => each.path === path && each.what.startsWith(`${name} `)),
      ),
    ).toEqual([]);
  });
});

describe("form", () => {
  test("no default export and no file that only hands on", () => {
    expect(shown(moduleFormViolations(src))).toEqual([]);
  });
  test("no enum, namespace or decorator, and no base class but Error", () => {
    expect(shown(languageViolations(everything))).toEqual([]);
  });
  test("a file is found by its path, also in a folder with a space in its name", () => {
    expect(shown(filePathViolations(everything))).toEqual([]);
  });
  test("a value that may have to be awaited is a MaybePromise", () => {
    const elsewhere = src.filter(({ path }) => path !== "src/core/maybe-promise.ts");
    expect(shown(maybePromiseViolations(elsewhere))).toEqual([]);
  });
  test("file names are kebab-case and say a concept", () => {
    expect(shown(fileNameViolations(everything.map(({ path }) => path)))).toEqual([]);
  });
  test("each file begins by saying what it does", () => {
    expect(shown(headCommentViolations(everything))).toEqual([]);
  });
});

describe("sizes", () => {
  const counted = src.filter(({ path }) => !DATA_ROWS.test(path));
  test("src/engine/handle.ts stays one page", () => {
    expect(existsSync(join(root, "src/engine/handle.ts"))).toBe(true);
    expect(src.find(({ path }) => path === "src/engine/handle.ts")?.lines).toBeLessThanOrEqual(MAX_HANDLE_LINES);
  });
  test("long files and functions are told", () => {
    const alarms = shown([...longFiles(counted, MAX_FILE_LINES), ...longFunctions(counted, MAX_FUNCTION_LINES)]);
    for (const alarm of alarms) console.log(`alarm: ${alarm}`);
    const long = tree({
      "src/core/a.ts": `// A.\nexport function f(): void {\n${"  f();\n".repeat(MAX_FUNCTION_LINES)}}\n`,
    });
    expect(shown(longFunctions(long, MAX_FUNCTION_LINES))).toEqual([
      `src/core/a.ts:2 has a function of ${MAX_FUNCTION_LINES + 2} lines`,
    ]);
    expect(shown(longFiles(long, MAX_FUNCTION_LINES))).toEqual([`src/core/a.ts:1 has ${MAX_FUNCTION_LINES + 3} lines`]);
  });
});

describe("the judges can fail", () => {
  test("an import to the right, as a value, as a type, inside a type and on the fly", () => {
    for (const line of [
      'import { a } from "../engine/a.ts";',
      'import type { A } from "../engine/a.ts";',
      'export { a } from "../engine/a.ts";',
      'type A = import("../engine/a.ts").A;',
      'await import("../engine/a.ts");',
    ])
      expect(shown(importLawViolations(tree({ "src/core/b.ts": line })))).toEqual([
        "src/core/b.ts:1 imports src/engine/a.ts, but engine stands to the right of core",
      ]);
    expect(
      importLawViolations(
        tree({
          "src/engine/b.ts":
            'import type { A } from "../core/a.ts"; import { c } from "./c.ts"; import manifest from "../../package.json";',
        }),
      ),
    ).toEqual([]);
  });
  test("an import from the steps of every call to an operation", () => {
    const line = 'import { a } from "../answer/a.ts"; import { b } from "../call/b.ts";';
    expect(shown(seamViolations(tree({ "src/engine/plan/c.ts": line })))).toEqual([
      "src/engine/plan/c.ts:1 imports src/engine/answer/a.ts, but plan/ serves every operation",
    ]);
    expect(seamViolations(tree({ "src/engine/tools/c.ts": line }))).toEqual([]);
  });
  test("an import from one operation to another, and an operation's name in the engine", () => {
    const line = 'import { a } from "../chat/a.ts"; const name = "chat.completions";';
    expect(shown(operationViolations(tree({ "src/operations/other/b.ts": line }), operations))).toEqual([
      "src/operations/other/b.ts:1 imports src/operations/chat/a.ts, which belongs to another operation",
    ]);
    expect(shown(operationViolations(tree({ "src/engine/plan/c.ts": line }), operations))).toEqual([
      "src/engine/plan/c.ts:1 names the operation chat.completions",
    ]);
    expect(operationViolations(tree({ "src/operations/chat/b.ts": line }), operations)).toEqual([]);
  });
  test("a folder without a rank, a way out of src/, and the list itself", () => {
    expect(shown(importLawViolations(tree({ "src/helpers/a.ts": "export const a = 1;" })))).toEqual([
      "src/helpers/a.ts:1 `helpers` has no place in the import law",
    ]);
    expect(importLawViolations(tree({ "src/core/a.ts": 'import { t } from "../../test/run.ts";' }))).toHaveLength(1);
    expect(importLawViolations(tree({ "src/cli/a.ts": 'import "../main.ts";' }))).toHaveLength(1);
    expect(importLawViolations(tree({ "src/main.ts": 'import "./cli/a.ts"; import "./process/gateway.ts";' }))).toEqual(
      [],
    );
    expect(new Set(LAYERS).size).toBe(LAYERS.length);
  });
  test("a round of two, of three, of one, and through types alone", () => {
    const round = (files: Readonly<Record<string, string>>): readonly string[] =>
      importRounds(tree(files)).map((each) => each.join(" -> "));
    expect(round({ "src/core/a.ts": 'import "./b.ts";', "src/core/b.ts": 'import "./a.ts";' })).toEqual([
      "src/core/a.ts -> src/core/b.ts -> src/core/a.ts",
    ]);
    expect(
      round({
        "src/core/a.ts": 'import "./b.ts";',
        "src/core/b.ts": 'import type { C } from "./c.ts";',
        "src/core/c.ts": 'import type { A } from "./a.ts";',
      }),
    ).toHaveLength(1);
    expect(round({ "src/core/a.ts": 'import "./a.ts";' })).toHaveLength(1);
    expect(
      round({
        "src/core/a.ts": 'import "./b.ts"; import "./c.ts";',
        "src/core/b.ts": 'import "./c.ts";',
        "src/core/c.ts": "export const c = 1;",
      }),
    ).toEqual([]);
  });
  test("an import from another provider's folder", () => {
    const judge = (line: string) => providerImportViolations(tree({ "src/providers/cohere/decode.ts": line })).length;
    expect(judge('import type { A } from "../ollama/decode.ts";')).toBe(1);
    expect(judge('import "./citations.ts"; import "../provider.ts"; import "../../core/json.ts";')).toBe(0);
  });
  test("an import from another room", () => {
    const judge = (path: string, line: string) => roomImportViolations(tree({ [path]: line })).length;
    expect(judge("src/store/database/pages.ts", 'import type { A } from "../journal/ledger.ts";')).toBe(1);
    expect(
      judge("src/store/database/pages.ts", 'import "./pruning.ts"; import "../store.ts"; import "../../core/json.ts";'),
    ).toBe(0);
    expect(judge("src/store/audit/a.ts", 'import "../database/pages.ts";')).toBe(0);
    expect(judge("src/store/open-database.ts", 'import "./events/events.ts";')).toBe(0);
    expect(judge("src/store/attic/a.ts", 'import "../database/pages.ts";')).toBe(1);
    expect(judge("src/http/admin/configured/a.ts", 'import "../audit/audit-shapes.ts";')).toBe(0);
    expect(judge("src/http/admin/audit/a.ts", 'import "../configured/history.ts";')).toBe(1);
  });
  test("packages: a builtin without node:, a development package, a computed path, a missing ending", () => {
    const dependencies = new Set(["hono", "@scope/name"]);
    for (const line of ['import "fs";', 'import { OpenAI } from "fast-check";', "await import(name);", 'import "./a";'])
      expect(packageViolations(tree({ "src/core/b.ts": line }), dependencies)).toHaveLength(1);
    expect(
      packageViolations(
        tree({
          "src/core/b.ts":
            'import "node:fs"; import "bun:sqlite"; import "bun"; import "hono/cors"; import "@scope/name/x";',
        }),
        dependencies,
      ),
    ).toEqual([]);
  });
  test("a vendor's name in a string, a template, an expression, a name, a path", () => {
    const names = vendorNames(
      tree({
        "src/providers/acmeai/row.ts":
          'export const row = { id: "acmeai", label: "Acme AI" }; export const other = { id: "together", label: "Together" };',
      }),
    );
    const judge = (line: string): number => vendorNameViolations(tree({ "src/engine/a.ts": line }), names, []).length;
    expect([...names.ids].toSorted()).toEqual(["acmeai", "together"]);
    for (const line of [
      'f("acmeai");',
      'f("use acmeai here");',
      'f("Acme AI is down");',
      "f(`${x} acmeai:`);",
      "f(/^acmeai/);",
      "f(ACMEAI_KEY);",
      "const isAcmeAi = 1;",
      "f(x.acmeaiModel);",
      'f("together");',
      'f("ACMEAI_API_KEY");',
    ])
      expect([line, judge(line)]).toEqual([line, 1]);
    expect(judge('import { a } from "../providers/acmeai/row.ts";')).toBe(1);
    for (const line of [
      "// acmeai wants this\nf();",
      'f("put them together");',
      "const together = 1;",
      'f("acmeaish");',
    ])
      expect([line, judge(line)]).toEqual([line, 0]);
    expect(
      vendorNameViolations(tree({ "src/engine/a.ts": 'f("acmeai");' }), names, [
        { path: "src/engine/a.ts", text: "acmeai", reason: "a test" },
      ]),
    ).toEqual([]);
    expect(ORDINARY_WORDS.has("together")).toBe(true);
  });
  test("the environment, the clock, the console and sockets, also taken apart or in brackets", () => {
    const uses = (line: string, names: readonly string[]): number =>
      useViolations(tree({ "src/engine/a.ts": line }), names, () => false).length;
    for (const line of [
      "f(process.env.HOME);",
      'f(process["env"]);',
      "const { env } = process;",
      "f(Bun.env.X);",
      "f(import.meta.env.X);",
    ])
      expect([line, uses(line, ENVIRONMENT)]).toEqual([line, 1]);
    expect(uses("f(Date.now());", WALL_CLOCK)).toBe(1);
    expect(uses("const { random } = Math;", STOPWATCH_AND_CHANCE)).toBe(1);
    expect(uses("console.log(1);", ["console.*"])).toBe(1);
    expect(
      uses("f(clock.now(), request.env, mine.console.log);", [
        ...WALL_CLOCK,
        ...STOPWATCH_AND_CHANCE,
        ...ENVIRONMENT,
        "console.*",
      ]),
    ).toBe(0);
    expect(bareDateViolations(tree({ "src/engine/a.ts": "f(new Date(), Date(), new Date(5));" }))).toHaveLength(2);
    expect(
      callViolations(tree({ "src/core/a.ts": "await fetch(url); Bun.connect({}); upstream.send(x);" }), SOCKETS),
    ).toHaveLength(2);
  });
  test("state: a variable, a cache, an object that can change, a changed table, a static field", () => {
    const judge = (text: string, allowed: readonly StateAllowance[] = []): readonly string[] =>
      moduleStateViolations(tree({ "src/core/a.ts": text }), allowed).map(({ what }) => what);
    for (const text of [
      "let last = 0;",
      "export var last = 0;",
      "const known = new WeakMap(); export function f(a) { known.set(a, 1); }",
      "const names = []; const add = (name) => names.push(name);",
      "const state = { count: 0 }; export function f() { state.count += 1; }",
      "const table = {}; export function f(name) { delete table[name]; }",
      "const pool = new Pool();",
      "export class A { static count = 0; }",
    ])
      expect([text, judge(text).length]).toEqual([text, 1]);
    for (const text of [
      "const NAMES: ReadonlySet<string> = new Set(['a']); export function f(a) { return NAMES.has(a); }",
      "const TABLE = new Uint8Array(256); for (const code of [1, 2]) TABLE[code] = 1;",
      "const f = () => { let count = 0; const known = new Map(); known.set(1, count++); return known; };",
      "const STEP = /a/g; export function f(text) { STEP.lastIndex = 5; return STEP.exec(text); }",
      "export class A { static readonly NONE = new A(); #count = 0; next() { return this.#count++; } }",
      "declare let ambient: number;",
    ])
      expect([text, judge(text)]).toEqual([text, []]);
    expect(judge("let last = 0;", [{ path: "src/core/a.ts", name: "last", reason: "a test" }])).toEqual([]);
  });
  test("a value or its promise, and a question for a promise", () => {
    const judge = (line: string): number => maybePromiseViolations(tree({ "src/core/a.ts": `// A.\n${line}` })).length;
    expect(judge("export type A = string | Promise<string>;")).toBe(1);
    expect(judge("export const isA = (value: unknown): boolean => value instanceof Promise;")).toBe(1);
    expect(judge("export let running: Promise<void> | null; export type B = Promise<string | null>;")).toBe(0);
  });
  test("forms: default export, barrel, enum, namespace, decorator, base class", () => {
    for (const text of [
      "export default 1;",
      "const a = 1; export { a as default };",
      'export * from "./b.ts";',
      'import { b } from "./b.ts"; export { b };',
    ])
      expect([text, moduleFormViolations(tree({ "src/core/a.ts": text })).length]).toEqual([text, 1]);
    expect(
      moduleFormViolations(tree({ "src/core/a.ts": 'import { b } from "./b.ts"; const c = b; export { c };' })),
    ).toEqual([]);
    for (const text of [
      "enum E { A }",
      "namespace N { const a = 1; }",
      "@sealed class A {}",
      "class A extends B {}",
      "class A extends mixin(B) {}",
    ])
      expect([text, languageViolations(tree({ "src/core/a.ts": text })).length]).toEqual([text, 1]);
    expect(
      languageViolations(
        tree({ "src/core/a.ts": "class A extends Error {} class B implements C {} declare global {}" }),
      ),
    ).toEqual([]);
  });
  test("the pathname of an address for a path", () => {
    const judge = (text: string) => filePathViolations(tree({ "test/a.ts": text })).length;
    expect(judge('f(new URL("./b.ts", import.meta.url).pathname);')).toBe(1);
    expect(judge('f(new URL("./b.ts", import.meta.url).href, new URL(request.url).pathname);')).toBe(0);
  });
  test("names and heads", () => {
    expect(
      fileNameViolations([
        "src/core/Chat.ts",
        "src/core/chat_request.ts",
        "src/core/chat-utils.ts",
        "src/core/helpers.ts",
        "test/a.spec.ts",
      ]),
    ).toHaveLength(5);
    expect(
      fileNameViolations([
        "src/core/chat.ts",
        "test/a-b.test.ts",
        "test/contract/store/store.suite.ts",
        "bin/runtime.d.mts",
      ]),
    ).toEqual([]);
    expect(
      headCommentViolations(
        tree({
          "src/core/a.ts": "export const a = 1; // late",
          "src/core/b.ts": `${"// long\n".repeat(6)}export const b = 1;`,
        }),
      ),
    ).toHaveLength(2);
    expect(
      headCommentViolations(
        tree({
          "src/core/a.ts": "// Says what it does.\n\n// not the head\nexport const a = 1;",
          "bin/b.mjs": "#!/usr/bin/env node\n// Says what it does.\nf();",
        }),
      ),
    ).toEqual([]);
  });
});
