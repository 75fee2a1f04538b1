// `${NAME}` in a text: what is filled in, what is left alone, what is a problem.
import { describe, expect, test } from "bun:test";
import { expand } from "../../src/config/expansion.ts";

const variables = { get: (name: string) => ({ A: "alpha", B_2: "b", EMPTY: "", TRICKY: "${A} $& $1" })[name] };
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

  test("what a variable holds is never expanded or interpreted again", () => {
    expect(textOf("<${TRICKY}>")).toBe("<${A} $& $1>");
  });

  test("a variable that is not set, or empty, is a problem that names it", () => {
    expect(expand("${NONE}${EMPTY}", variables).problems).toEqual(["the environment variable NONE is not set", "the environment variable EMPTY is not set"]);
  });

  test.each(["${", "${A", "${}", "${1A}", "${A B}", "${A-b}", "${A:-${B_2}}", "${sk-secret}"])("%p is a problem that does not show the text", (text) => {
    const { problems } = expand(text, variables);
    expect(problems).toEqual(["expected ${NAME} or ${NAME:-default}; a plain ${ is written $${"]);
  });

  test("only a reference counts as an expansion", () => {
    expect(expand("$${A}", variables).expanded).toBe(false);
    expect(expand("${NONE:-1}", variables).expanded).toBe(true);
  });
});
