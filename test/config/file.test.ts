// A configuration file from bytes to value: places and messages of problems, which YAML is refused, and which values
// the environment fills in.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { readEnvironment } from "../../src/config/environment.ts";
import { MAX_CONFIG_FILE_BYTES, readConfigFile, readConfigText } from "../../src/config/file.ts";
import { ConfigurationError } from "../../src/config/problem.ts";

const schema = z.strictObject({
  server: z
    .strictObject({
      host: z.string().min(1).default("here"),
      port: z.int().min(1).max(65_535).default(80),
      ratio: z.number().gt(0).max(1).default(0.5),
      open: z.boolean().default(false),
    })
    .prefault({}),
  level: z.enum(["debug", "info"]).default("info"),
  providers: z
    .record(
      z.string().regex(/^[a-z]+$/, "expected small letters"),
      z.strictObject({
        api_key: z.string().optional(),
        models: z.array(z.union([z.string(), z.strictObject({ id: z.string() })])).default([]),
      }),
    )
    .default({}),
});

function read(text: string, environment: Readonly<Record<string, string>> = {}): z.output<typeof schema> {
  return readConfigFile({ file: "dragoman.yaml", text, schema, environment: readEnvironment(environment) });
}
function problemsOf(text: string, environment: Readonly<Record<string, string>> = {}): readonly string[] {
  try {
    read(text, environment);
  } catch (thrown) {
    if (!(thrown instanceof ConfigurationError)) throw thrown;
    return thrown.message.split("\n");
  }
  return [];
}

describe("problems of a configuration file", () => {
  test("have file, line, column, path and what was expected", () => {
    const text = "# a comment\n\nserver:\n  port: 80\n\nproviders:\n  openai:\n    api_key: 5\n";
    expect(problemsOf(text)).toEqual(["dragoman.yaml:8:5 providers.openai.api_key: expected string, got number"]);
  });

  test("name each form that a value may have, where it has none of them", () => {
    const forms = z.strictObject({ workers: z.union([z.int().min(1), z.literal("auto")]) });
    const faultOf = (value: string): string => {
      const text = `workers: ${value}`;
      try {
        readConfigFile({ file: "a.yaml", text, schema: forms, environment: readEnvironment({}) });
        return "";
      } catch (thrown) {
        return (thrown as Error).message;
      }
    };
    expect(["four", "1.5", "true", "0"].map(faultOf)).toEqual([
      "a.yaml:1:1 workers: expected number or auto, got string",
      "a.yaml:1:1 workers: expected a whole number or auto, got a fraction",
      "a.yaml:1:1 workers: expected number or auto, got boolean",
      "a.yaml:1:1 workers: expected at least 1",
    ]);
  });

  test("come all at once, in the order of the file", () => {
    expect(
      problemsOf(
        'server:\n  prot: 1\n  port: 70000\n  ratio: 0\n  open: "yes"\nlevel: inof\nproviders:\n  a: {models: [m, 5, {name: x}]}\n',
      ),
    ).toEqual([
      'dragoman.yaml:2:3 server.prot: unknown key "prot"; did you mean "port"?',
      "dragoman.yaml:3:3 server.port: expected at most 65535",
      "dragoman.yaml:4:3 server.ratio: expected more than 0",
      "dragoman.yaml:5:3 server.open: expected true or false, got string",
      'dragoman.yaml:6:1 level: expected one of debug, info; did you mean "info"?',
      "dragoman.yaml:8:19 providers.a.models[1]: expected string or a mapping, got number",
      "dragoman.yaml:8:22 providers.a.models[2].id: is missing: expected string",
      'dragoman.yaml:8:23 providers.a.models[2].name: unknown key "name"',
    ]);
  });

  test.each([
    [
      "a list as the whole file",
      "[1]\n",
      "dragoman.yaml:1:1: expected a mapping, got a list; write its members as `key: value`, without dashes",
    ],
    [
      "a brace that is not closed",
      "server: {port: 1\nlevel: info\n",
      "dragoman.yaml:2:1: the indentation is wrong, or a bracket or brace before it is not closed",
    ],
    ["a duplicate key", "level: info\nlevel: debug\n", "dragoman.yaml:2:1 level: duplicate key"],
    ["a duplicate key that is quoted", "level: info\n'level': debug\n", "dragoman.yaml:2:1 level: duplicate key"],
    ["an anchor", "server: &s {port: 1}\n", "dragoman.yaml:1:1 server: anchors are not allowed"],
    ["an anchor that holds itself", "providers: &x [*x]\n", "dragoman.yaml:1:1 providers: anchors are not allowed"],
    ["an alias", "server:\n  host: &h a\nlevel: *h\n", "dragoman.yaml:3:1 level: aliases are not allowed"],
    ["a tag", "level: !word info\n", "dragoman.yaml:1:1 level: tags are not allowed"],
    [
      "a directive that changes the meaning of words",
      "%YAML 1.1\n---\nserver: {open: on}\n",
      "dragoman.yaml:1:1: directives are not allowed",
    ],
    [
      "a directive for tags",
      "%TAG !e! tag:example.org,2000:\n---\nlevel: info\n",
      "dragoman.yaml:1:1: directives are not allowed",
    ],
    ["an unknown directive", "%FOO bar\n---\nlevel: info\n", "dragoman.yaml:1:1: directives are not allowed"],
    ["a merge key", "server: {port: 1}\n<<: {level: info}\n", 'dragoman.yaml:2:1 <<: unknown key "<<"'],
    [
      "two documents",
      "level: info\n---\nlevel: debug\n",
      "dragoman.yaml:2:1: a file must contain only one document; remove the `---`",
    ],
    ["a key that is not text", "? [a]\n: 1\n", "dragoman.yaml:1:3: a key must be a text"],
    ["a tab", "server:\n\tport: 1\n", "dragoman.yaml:2:1: tabs cannot be used for indentation; use spaces"],
    [
      "the key that JavaScript treats specially",
      "providers:\n  __proto__: {api_key: x}\n",
      "dragoman.yaml:2:3 providers.__proto__: unknown key",
    ],
    ["an id that cannot be", "providers:\n  Up: {}\n", "dragoman.yaml:2:3 providers.Up: expected small letters"],
    [
      "a missing variable",
      'providers:\n  a:\n    api_key: "${NOPE}"\n',
      "dragoman.yaml:3:5 providers.a.api_key: the environment variable NOPE is not set",
    ],
  ])("%s", (_name, text, problem) => {
    expect(problemsOf(text)).toContain(problem);
  });

  test("are reported once: an unreadable part is not reported as missing as well", () => {
    expect(problemsOf('providers:\n  a:\n    models: ["${NOPE}", {id: "${NOPE}"}]\n')).toEqual([
      "dragoman.yaml:3:14 providers.a.models[0]: the environment variable NOPE is not set",
      "dragoman.yaml:3:26 providers.a.models[1].id: the environment variable NOPE is not set",
    ]);
  });

  test("never show a value of the file or of the environment", () => {
    const secret = "sk-Sup3rS3cret";
    const texts = [
      `providers:\n  a:\n    api_key:${secret}\n`,
      `providers:\n  a:\n    api_key:${secret}\n    models: []\n`,
      `providers:\n  a:\n    api_key: "${secret}\n`,
      `providers:\n  a:\n    api_key: "\\q${secret}"\n`,
      `providers:\n  a:\n    api_key: [${secret}]\n`,
      `providers:\n  a: ${secret}\n`,
      `providers:\n  a:\n    api_key: @${secret}\n`,
      `providers:\n  a:\n    api_key: x\n      ${secret}: y\n`,
      `level: ${secret}\n`,
      `server: {port: ${secret}}\n`,
      `server: {port: "\${SECRET}", open: "\${SECRET}"}\nlevel: "\${SECRET}"\n`,
      `level: "\${${secret}}"\n`,
      `*${secret}\n`,
      `level: !${secret} info\n`,
    ];
    for (const text of texts) {
      const problems = problemsOf(text, { SECRET: secret });
      expect(problems.length).toBeGreaterThan(0);
      expect(problems.join("\n")).not.toContain("Sup3r");
    }
  });

  test.each([
    ["unclosed brackets", "[".repeat(20_000)],
    ["closing braces", "}\n".repeat(5000)],
    ["unknown keys", Array.from({ length: 5000 }, (_, index) => `key${index}: 1\n`).join("")],
    ["the same key", "level: info\n".repeat(5000)],
    ["values of the wrong type", `providers:\n  a:\n    models:\n${"      - 5\n".repeat(5000)}`],
    ["missing variables", `providers:\n  a:\n    models:\n${'      - "${NOPE}"\n'.repeat(5000)}`],
  ])("of a file full of %s are a bounded list", (_name, text) => {
    const problems = problemsOf(text);
    expect(problems.length).toBeGreaterThan(0);
    expect(problems.length).toBeLessThanOrEqual(100);
  });

  test("of a file that is nested too deeply are reported", () => {
    expect(problemsOf(`a: ${"{a: ".repeat(300)}1${"}".repeat(300)}`)).not.toEqual([]);
  });
});

describe("values of a configuration file", () => {
  test("an empty file, one of comments, and sections without members are the defaults", () => {
    const defaults = {
      server: { host: "here", port: 80, ratio: 0.5, open: false },
      level: "info" as const,
      providers: {},
    };
    for (const text of ["", "# nothing\n", "---\n", "server:\nlevel:\nproviders:\n", "\ufeff# with a mark\n"])
      expect(read(text)).toEqual(defaults);
  });

  test("the environment fills in texts, numbers and booleans as the schema asks", () => {
    const text =
      'server: {host: "${N}", port: "${N}", ratio: "${R:-0.25}", open: "${O}"}\nproviders: {a: {api_key: "${N}", models: ["${N}"]}}\n';
    expect(read(text, { N: "8080", O: "true" })).toEqual({
      server: { host: "8080", port: 8080, ratio: 0.25, open: true },
      level: "info",
      providers: { a: { api_key: "8080", models: ["8080"] } },
    });
  });

  test("the environment fills in numbers and booleans also where a value may have one of several forms", () => {
    const forms = z.strictObject({
      workers: z.union([z.int(), z.literal("auto")]),
      targets: z.array(z.union([z.string(), z.strictObject({ model: z.string(), weight: z.number() })])),
    });
    const environment = readEnvironment({ N: "3", AUTO: "auto" });
    const filled = (text: string): unknown => readConfigFile({ file: "a.yaml", text, schema: forms, environment });
    expect(filled('workers: "${N}"\ntargets: ["${N}", {model: "${N}", weight: "${N}"}]\n')).toEqual({
      workers: 3,
      targets: ["3", { model: "3", weight: 3 }],
    });
    expect(filled('workers: "${AUTO}"\ntargets: []\n')).toEqual({ workers: "auto", targets: [] });
    expect(() => filled('workers: "${N}"\ntargets: [{model: a, weight: "3"}]\n')).toThrow("weight: expected number");
  });

  test("a number in quotes is not a number, nor is a variable that contains no number", () => {
    expect(problemsOf('server: {port: "8080"}\n')).toEqual([
      "dragoman.yaml:1:10 server.port: expected number, got string",
    ]);
    for (const value of ["80a", "0x50", "1e3", "", " "])
      expect(problemsOf('server: {port: "${P:-x}"}\n', { P: value })).toEqual([
        "dragoman.yaml:1:10 server.port: expected number, got string",
      ]);
    expect(problemsOf('server: {port: "${P}"}\n', { P: "70000" })).toEqual([
      "dragoman.yaml:1:10 server.port: expected at most 65535",
    ]);
    expect(problemsOf('server: {open: "${P}"}\n', { P: "yes" })).toEqual([
      "dragoman.yaml:1:10 server.open: expected true or false, got string",
    ]);
  });

  test("a value of the environment cannot change the structure of the file", () => {
    expect(read("providers:\n  a:\n    api_key: ${KEY}\n", { KEY: "x\n    models: [m] # }" }).providers).toEqual({
      a: { api_key: "x\n    models: [m] # }", models: [] },
    });
  });

  test("a text is bounded", () => {
    const comment = (bytes: number): string => `#${"x".repeat(bytes - 1)}`;
    expect(read(comment(MAX_CONFIG_FILE_BYTES)).level).toBe("info");
    expect(problemsOf(comment(MAX_CONFIG_FILE_BYTES + 1))).toEqual(["dragoman.yaml: is larger than 1048576 bytes"]);
  });
});

describe("reading the bytes of a file", () => {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-file-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const put = (name: string, content: string | Uint8Array): string => {
    const file = join(folder, name);
    writeFileSync(file, content);
    return file;
  };

  test("gives the text", () => {
    expect(readConfigText(put("good.yaml", "level: \u00e9\n"))).toBe("level: \u00e9\n");
    expect(readConfigText(put("full.yaml", "x".repeat(MAX_CONFIG_FILE_BYTES))).length).toBe(MAX_CONFIG_FILE_BYTES);
  });

  test.each([
    ["no file", () => join(folder, "none.yaml"), "there is no such file"],
    ["a folder", () => folder, "cannot be read: it is a folder and not a file"],
    ["invalid UTF-8", () => put("latin.yaml", Uint8Array.of(0x61, 0xe9)), "is not UTF-8"],
    ["too many bytes", () => put("large.yaml", "x".repeat(MAX_CONFIG_FILE_BYTES + 1)), "is larger than 1048576 bytes"],
  ])("refuses %s", (_name, make, message) => {
    const file = make();
    expect(() => readConfigText(file)).toThrow(
      new ConfigurationError([{ file, line: null, column: null, path: "", message }]),
    );
  });
});
