// The addresses that the command line makes of names.
import { expect, test } from "bun:test";
import { pathOf, placePath } from "../../src/cli/admin/run.ts";

test("a name stands in an address as it is, or is refused: none leads to another thing", () => {
  expect(pathOf("routes", "a/b ?#%2e.", { tenant: "acme" })).toBe("/tenants/acme/routes/a%2Fb%20%3F%23%252e.");
  for (const name of ["", ".", ".."]) {
    expect(() => pathOf("routes", name, {})).toThrow("cannot be the name of a thing of the gateway");
    expect(() => placePath({ tenant: name })).toThrow("cannot be the name of a thing of the gateway");
    expect(() => placePath({ project: name })).toThrow("cannot be the name of a thing of the gateway");
  }
});
