// `${NAME}` and `${file:/path}` in a text: what is expanded, what is left unchanged, and what is a problem.
import { describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expand as expandWith } from "../../src/config/expansion.ts";
import { MAX_SECRET_FILE_BYTES, readSecretFile } from "../../src/config/secret-file.ts";

const variables = { get: (name: string) => ({ A: "alpha", B_2: "b", EMPTY: "", TRICKY: "${A} $& $1" })[name] };
const expand = (text: string, from: typeof variables) => expandWith(text, from, readSecretFile);
const textOf = (text: string): string => expand(text, variables).text;

describe("expansion of ${NAME}", () => {
  test.each([
    ["plain", "plain"],
    ["${A}", "alpha"],
    ["x${A}y${B_2}z", "xalphaybz"],
    ["${NONE:-fallback}", "fallback"],
    ["${A:-fallback}", "alpha"],
    ["${NONE:-}", ""],
    ["${EMPTY:-fallback}", "fallback"],
    ["${NONE:-a: b # c}", "a: b # c"],
    ["$${A}", "${A}"],
    ["$${A} ${A}", "${A} alpha"],
    ["$A $ {A} {A}", "$A $ {A} {A}"],
  ])("%p is %p", (text, expected) => {
    expect(expand(text, variables)).toMatchObject({ text: expected, problems: [] });
  });

  test("the value of a variable is never expanded or interpreted again", () => {
    expect(textOf("<${TRICKY}>")).toBe("<${A} $& $1>");
  });

  test("a variable that is not set, or empty, is a problem that names it", () => {
    expect(expand("${NONE}${EMPTY}", variables).problems).toEqual([
      "the environment variable NONE is not set",
      "the environment variable EMPTY is not set",
    ]);
  });

  test.each(["${", "${A", "${}", "${1A}", "${A B}", "${A-b}", "${A:-${B_2}}", "${sk-secret}"])(
    "%p is a problem that does not show the text",
    (text) => {
      const { problems } = expand(text, variables);
      expect(problems).toEqual(["expected ${NAME}, ${NAME:-default} or ${file:/path}; write a literal ${ as $${"]);
    },
  );

  test("only a reference counts as an expansion", () => {
    expect(expand("$${A}", variables).expanded).toBe(false);
    expect(expand("${NONE:-1}", variables).expanded).toBe(true);
  });
});

describe("expansion of ${file:/path}", () => {
  const folder = mkdtempSync(join(tmpdir(), "secrets-"));
  const file = (name: string, content: string | Uint8Array): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const problemsOf = (path: string): readonly string[] => expand(`\${file:${path}}`, variables).problems;

  test("is the content of the file, without the line break at its end", () => {
    expect(expand(`Bearer \${file:${file("a", "sk-1\n")}}!`, variables)).toEqual({
      text: "Bearer sk-1!",
      expanded: true,
      problems: [],
    });
    expect(textOf(`\${file:${file("b", "two\nlines\r\n")}}`)).toBe("two\nlines");
    expect(textOf(`\${file:${file("c", "${A} $&")}}`)).toBe("${A} $&");
  });

  test("a problem names the path and never the content", () => {
    mkdirSync(join(folder, "folder"));
    const gone = join(folder, "gone");
    expect(problemsOf(gone)).toEqual([`the file ${gone} cannot be read: there is no such file`]);
    expect(problemsOf(join(folder, "folder"))).toEqual([
      `the file ${join(folder, "folder")} cannot be read: it is a folder and not a file`,
    ]);
    expect(problemsOf(file("empty", "\n"))).toEqual([`the file ${join(folder, "empty")} is empty`]);
    expect(problemsOf(file("binary", new Uint8Array([0xff, 0xfe, 0x41])))).toEqual([
      `the file ${join(folder, "binary")} is not UTF-8`,
    ]);
    expect(problemsOf(file("large", "s".repeat(MAX_SECRET_FILE_BYTES + 1)))).toEqual([
      `the file ${join(folder, "large")} is larger than ${MAX_SECRET_FILE_BYTES} bytes`,
    ]);
  });

  test.each(["", "secret", "./secret", "../secret"])(
    "the path %p is refused: only an absolute one means the same everywhere",
    (path) => {
      expect(problemsOf(path)).toEqual(["the path of a secret must be absolute, such as /run/secrets/name"]);
    },
  );
});
