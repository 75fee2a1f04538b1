// The language in which the console filters calls, as parameters of the admin API.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { drawCount } from "../harness/time/long-run.ts";
import { parametersOf, parseFilter, termText, withoutTerm } from "../../console/src/screens/calls/filter.ts";

const asked = (text: string): string => decodeURIComponent(parametersOf(parseFilter(text)).toString());
const problem = (text: string): string | null => parseFilter(text)[0]!.problem;

test.each([
  ["status:429", "status=429"],
  ["status:4xx route:chat", "status_class=4xx&route=chat"],
  ["model:acme:*", "provider=acme"],
  ["model:acme:large-1", "provider=acme&model=large-1"],
  ["model:large-1", "model=large-1"],
  ["model::ft:large-1", "model=ft:large-1"],
  ["cost>0.05", "min_cost_usd=0.050000001"],
  ["cost<1", "max_cost_usd=0.999999999"],
  ["attempts>1 ms>1000", "min_attempts=2&min_ms=1001"],
  ["meta.team:core meta.env:prod", "metadata=team=core&env=prod"],
  ['end_user:"Ann B"', "end_user=Ann+B"],
  [String.raw`end_user:"say \"hi\""`, 'end_user=say+"hi"'],
  ['meta."a b":c', "metadata=a+b=c"],
  ["01a20233ec30522475030a11d58fd6f1", "trace_id=01a20233ec30522475030a11d58fd6f1"],
  ["explained:false copy:false", "explained=false&mirrored=false"],
  ["", ""],
])("%s asks for %s", (text, parameters) => {
  expect(asked(text)).toBe(parameters);
});

test.each([
  "hello",
  "colour:red",
  "constructor:red",
  "constructor>1",
  "status:abc",
  "cost:1",
  "cost>-1",
  "attempts<2",
  "stream:maybe",
  "route>1",
  "trace:zz",
])("%s filters nothing and says why", (text) => {
  expect(problem(text)).toBeString();
  expect(asked(text)).toBe("");
});

test("a term that is written from a value is read back as that value", () => {
  const text = fc.oneof(
    fc.string({ minLength: 1, unit: "binary" }),
    fc.string({ minLength: 1, unit: fc.constantFrom(...'ab"\\: <>.\n\t=&%'.split("")) }),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom("route", "end_user", "model", "meta."), text, text)), (pairs) => {
      const written = pairs.map(([name, key, value]) => [name === "meta." ? name + key : name, value] as const);
      const terms = parseFilter(written.map(([name, value]) => termText(name, value)).join(" "));
      expect(terms.map((term) => [term.name, term.problem])).toEqual(written.map(([name]) => [name, null]));
      const parameters = terms.map(({ parameters: [parameter] }) => parameter);
      expect(parameters).toEqual(
        written.map(([name, value]) =>
          name.startsWith("meta.")
            ? ["metadata", new URLSearchParams([[name.slice(5), value]]).toString()]
            : [name, value],
        ),
      );
    }),
    { numRuns: drawCount(60, 5000) },
  );
});

test("removing a term leaves the others as they were written", () => {
  expect(withoutTerm('status:429  end_user:"Ann B" cost>1', "status:429")).toBe('end_user:"Ann B" cost>1');
});
