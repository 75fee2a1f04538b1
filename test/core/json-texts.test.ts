// The texts of a JSON value, replaced in one walk.
import { expect, test } from "bun:test";
import { withTexts } from "../../src/core/json.ts";
import { parseJson } from "../../src/wire/json/json.ts";

test("each text of a value is replaced with its path, and everything else stays as it is", () => {
  const places: string[] = [];
  const value = {
    a: { b: ["one", 2, ["three"]], none: undefined },
    c: null,
    d: true,
    raw: parseJson("12345678901234567890"),
  };
  const made = withTexts(value, (text, path) => {
    places.push(`${path}=${text}`);
    return text.toUpperCase();
  });
  expect(made).toEqual({ ...value, a: { b: ["ONE", 2, ["THREE"]], none: undefined } });
  expect(Object.keys(made as object)).toEqual(Object.keys(value));
  expect(places).toEqual(["a.b[0]=one", "a.b[2][0]=three"]);
  expect(withTexts("alone", (text, path) => `${text} at ${path}`, "x.y")).toBe("alone at x.y");
});
