// How the command line prints text of others.
import { afterEach, expect, spyOn, test } from "bun:test";
import { parse } from "yaml";
import { parseBoundedJson } from "../../src/wire/json/json.ts";
import { printError, printJson, printKept, printLine, printTable, printYaml } from "../../src/cli/output.ts";

const HOSTILE = "name\u001b]0;title\u0007\u001b[2J\u009b31m\u202eback\r";
// eslint-disable-next-line no-control-regex
const STEERS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/;

const spies = [spyOn(process.stdout, "write"), spyOn(process.stderr, "write")];
afterEach(() => spies.forEach((spy) => spy.mockReset()));

function printed(print: () => void): string {
  let text = "";
  const keep = (piece: unknown): boolean => {
    text += String(piece);
    return true;
  };
  for (const spy of spies) spy.mockImplementation(keep);
  print();
  return text;
}

test("no text controls the terminal, in lines, tables, JSON and errors", () => {
  for (const print of [
    () => printLine(HOSTILE),
    () => printTable([HOSTILE], [[HOSTILE, "b"]]),
    () => printJson({ [HOSTILE]: HOSTILE }),
    () => printError(HOSTILE),
  ]) {
    const text = printed(print);
    expect(STEERS.test(text)).toBe(false);
    expect(text).toContain("\\u001b]0;title\\u0007");
  }
});

test("JSON stays the same JSON, and ordinary characters stay unchanged", () => {
  const value = { text: HOSTILE, words: "Grüße 你好 👋\ttab\nline" };
  expect(JSON.parse(printed(() => printJson(value)))).toEqual(value);
  expect(printed(() => printLine("Grüße 你好 👋\ttab\nline"))).toBe("Grüße 你好 👋\ttab\nline\n");
});

test("a number that is longer than YAML can represent is printed digit by digit", () => {
  const value = parseBoundedJson('{"metadata":{"order":12345678901234567890,"count":2}}');
  expect(printed(() => printYaml(value))).toBe('metadata:\n  order: "12345678901234567890"\n  count: 2\n');
});

test("a cell is one line of its table", () => {
  expect(printed(() => printTable(["A", "B"], [["a\nADMIN  yes", "b\tc"]])).split("\n")).toHaveLength(3);
});

test("YAML stays the same YAML, whatever its texts have", () => {
  const value = { [HOSTILE]: HOSTILE, text: "\u200fשלום\u200e", lines: "a\u202e\nb\n", plain: "Grüße: 你好" };
  const text = printed(() => printYaml(value));
  expect(STEERS.test(text)).toBe(false);
  expect(parse(text)).toEqual(value);
});

test("text that its reader may keep is not changed where it does not go to a terminal", () => {
  expect(printed(() => printKept(HOSTILE))).toBe(`${HOSTILE}\n`);
});
