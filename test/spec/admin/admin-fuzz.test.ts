// Random requests, generated from the OpenAPI document: valid bodies, nearly valid ones, and hostile text in every string: SQL, line breaks, keys of
// prototypes, half letters. Whatever is sent, the answer is one of the document's, never an internal error, and nothing of another tenant changes.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { ConfigurationScope } from "../../../src/store/records.ts";
import { allDatabases } from "../../harness/servers/databases.ts";
import { type AdminWorld, openAdminWorld, type Told } from "../../harness/admin.ts";
import { type Described, describedOperations } from "../../harness/admin-document.ts";
import { exampleBody, furnish, type PathValues } from "../../harness/admin-examples.ts";
import { drawCount } from "../../harness/time/long-run.ts";

const RUNS = Number(process.env["DRAGOMAN_FUZZ_RUNS"] ?? drawCount(150, 700));
/** The same requests each time, unless another seed is asked for. */
const SEED = Number(process.env["DRAGOMAN_FUZZ_SEED"] ?? "20261120");

const NASTY = [
  "'; DROP TABLE tenants; --",
  "' OR '1'='1",
  '" OR ""="',
  "1; SELECT pg_sleep(10)",
  "%' UNION SELECT * FROM access_tokens --",
  "\\'; --",
  "a\r\nx-injected: 1",
  "a\nSet-Cookie: b=c",
  "\u0000",
  "a\u0000b",
  "\ud800",
  "\u202e",
  "😀".repeat(50),
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "../../etc/passwd",
  "%2e%2e%2f",
  "${HOME}",
  "${file:/etc/passwd}",
  "{{7*7}}",
  "<script>alert(1)</script>",
  "*** 0123456789ab",
  "*** ",
  "a".repeat(5000),
  "",
  " ",
  "null",
  "NaN",
  "-0",
  "1e400",
  "^(a+)+$",
  "(?<x>",
  "[",
  "request.model ==",
  "http://169.254.169.254/",
  "file:///etc/passwd",
  "http://a@b/",
  "http://[::1]/",
  "2026-13-45T99:99:99Z",
  "9".repeat(400),
  "\ufeff",
  "ﬀ",
  "İ",
  "\u0130".normalize("NFD"),
];
const ODD_VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e308,
  -1e308,
  2 ** 53,
  [],
  {},
  [[]],
  [null],
  { "": "" },
  { a: { b: { c: {} } } },
  ...NASTY,
];

let world: AdminWorld;
let values: PathValues;
let operations: readonly Described[];
let schemas: Readonly<Record<string, any>>;
const ACME: ConfigurationScope = { tenantId: "acme", projectId: null };
const SITE: ConfigurationScope = { tenantId: "acme", projectId: "site" };

const nastyText = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...NASTY) },
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.string({ maxLength: 20 }),
);
const oddValue = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(...ODD_VALUES) },
  { weight: 2, arbitrary: nastyText },
  fc.jsonValue({ maxDepth: 3 }),
);

/** What a schema of the document allows, now and then bent in one place. */
function valueFor(schema: any, depth = 0): fc.Arbitrary<unknown> {
  if (depth > 4 || schema === undefined) return oddValue;
  if (schema.$ref !== undefined) return valueFor(schemas[schema.$ref.split("/").at(-1)], depth + 1);
  const right = ((): fc.Arbitrary<unknown> => {
    if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
    const forms = schema.anyOf ?? schema.oneOf;
    if (forms !== undefined) return fc.oneof(...forms.map((form: any) => valueFor(form, depth + 1)));
    const type: string = Array.isArray(schema.type) ? schema.type[0] : schema.type;
    if (type === "object") {
      const required: readonly string[] = schema.required ?? [];
      const fields = Object.entries<any>(schema.properties ?? {}).map(
        ([name, of]) =>
          [
            name,
            required.includes(name)
              ? valueFor(of, depth + 1)
              : fc.option(valueFor(of, depth + 1), { nil: undefined, freq: 2 }),
          ] as const,
      );
      return fc
        .record(Object.fromEntries(fields))
        .map((record) =>
          Object.fromEntries(Object.entries(record as object).filter(([, value]) => value !== undefined)),
        );
    }
    if (type === "array") return fc.array(valueFor(schema.items, depth + 1), { maxLength: 3 });
    if (type === "boolean") return fc.boolean();
    if (type === "integer")
      return fc.integer({ min: schema.minimum ?? 0, max: Math.min(schema.maximum ?? 1000, 2 ** 31) });
    if (type === "number") return fc.double({ min: schema.minimum ?? 0, max: schema.maximum ?? 1000, noNaN: true });
    return fc.oneof(
      nastyText,
      fc.constantFrom(
        "sandbox:echo",
        "fresh",
        "kept",
        "12.50",
        "acme-viewer",
        "a@example.com",
        "https://93.184.215.14/v1",
        "10.0.0.0/8",
      ),
      fc.stringMatching(/^[a-z][a-z0-9-]{0,8}$/),
    );
  })();
  return fc.oneof({ weight: 12, arbitrary: right }, { weight: 1, arbitrary: oddValue });
}

interface Sent {
  readonly operation: Described;
  readonly body: string | undefined;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

const HEADER_SAFE = /^[\x20-\x7e]*$/;

function requestFor(operation: Described): fc.Arbitrary<Sent> {
  const { bodySchema } = operation;
  const place = operation.path.includes("{project}") ? SITE : ACME;
  const variables = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  const body: fc.Arbitrary<string | undefined> =
    bodySchema === null
      ? fc.constant(undefined)
      : fc.oneof(
          { weight: 6, arbitrary: valueFor(schemas[bodySchema]).map((value) => JSON.stringify(value)) },
          // a right one with one wrong field
          {
            weight: 6,
            arbitrary: fc
              .tuple(fc.nat(), oddValue)
              .map(([at, value]) =>
                JSON.stringify(bent(exampleBody(bodySchema, place) as Record<string, unknown>, at, value)),
              ),
          },
          {
            weight: 1,
            arbitrary: fc.constantFrom(
              "",
              "{",
              "[]",
              "null",
              '{"__proto__": {"a": 1}}',
              '{"a": 1, "a": 2}',
              `${'{"a":'.repeat(600)}1${"}".repeat(600)}`,
              '{"limit": 1e999}',
              '"text"',
            ),
          },
        );
  const parts = fc.tuple(
    ...variables.map((name) =>
      fc.oneof(
        { weight: 8, arbitrary: fc.constant(values(name, operation.tag, place)) },
        { weight: 1, arbitrary: nastyText.filter((text) => text.isWellFormed()) },
      ),
    ),
  );
  const query = fc.array(
    fc.tuple(
      fc.oneof(
        {
          weight: 5,
          arbitrary: operation.query.length === 0 ? fc.constant("limit") : fc.constantFrom(...operation.query),
        },
        nastyText,
      ),
      fc.oneof(nastyText, fc.constantFrom("1", "0", "true", "2026-01-01T00:00:00Z")),
    ),
    { maxLength: 2 },
  );
  const headers = fc.record(
    {
      "if-match": fc.constantFrom("", "*", '"1.0"', 'W/"1"', "'; --"),
      "idempotency-key": nastyText.filter((text) => HEADER_SAFE.test(text) && text.length < 300),
    },
    { requiredKeys: [] },
  );
  return fc.tuple(body, parts, query, headers).map(([text, named, asked, extra]) => {
    const path = operation.path.replaceAll(
      /\{(\w+)\}/g,
      (_, name: string) => encodeURIComponent(named[variables.indexOf(name)]!).replaceAll(".", "%2E") || "%20",
    );
    const search = new URLSearchParams(
      asked.map(([name, value]): [string, string] => [name.toWellFormed(), value.toWellFormed()]),
    );
    // the world has to be there for the next request
    if (operation.method !== "GET" && !/^(create|replace|update)/.test(operation.operationId))
      search.set("dry_run", "true");
    return { operation, body: text, path: `${path}?${search.toString()}`, headers: extra };
  });
}

function bent(body: Readonly<Record<string, unknown>>, at: number, value: unknown): unknown {
  const names = [...Object.keys(body), "surplus"];
  return { ...body, [names[at % names.length]!]: value };
}

function fault({ operation, body, path }: Sent, { status, text, body: told, headers }: Told): string | null {
  const words = `${operation.operationId} ${path.slice(0, 200)} ${body?.slice(0, 300) ?? ""} -> ${status} ${text.slice(0, 300)}`;
  if (status >= 500) return words;
  if (headers.get("x-injected") !== null || headers.get("set-cookie") !== null)
    return `a header was injected: ${words}`;
  if (status >= 400)
    return typeof told?.error?.code === "string" &&
      typeof told.error.message === "string" &&
      told.x_gateway_trace_id !== undefined
      ? null
      : `no error body: ${words}`;
  return operation.statuses.includes(String(status)) ||
    (status === 200 && operation.statuses.includes("201")) ||
    (status === 201 && operation.method === "PUT")
    ? null
    : `a status that the document does not have: ${words}`;
}

const kinds = await allDatabases();
afterAll(async () => void (await Promise.all(kinds.map((kind) => kind.dispose()))));

for (const kind of kinds)
  describe.skipIf(kind.isMissing)(`in ${kind.name}`, () => {
    beforeAll(async () => {
      world = await openAdminWorld({ kind });
      values = await furnish(world, [ACME, SITE]);
      const { body: document } = await world.send(null, "GET", "/api/v1/openapi.json");
      schemas = document.components.schemas;
      operations = describedOperations(document);
    });
    afterAll(() => world.close());

    describe("random requests", () => {
      test(`[d9.3] [d5.6] ${RUNS} of them, generated from the document: no answer is an internal error, and each refusal has the common error body`, async () => {
        const before = JSON.stringify(
          [
            await world.send("beta.owner", "GET", "/api/v1/admin/tenants/beta/users"),
            await world.send("beta.owner", "GET", "/api/v1/admin/tenants/beta/versions"),
          ].map(({ text }) => text),
        );
        const outcomes = new Map<number, number>();
        const anyRequest = fc.constantFrom(...operations).chain(requestFor);
        await fc.assert(
          fc.asyncProperty(
            anyRequest,
            fc.constantFrom("acme.owner", "acme.owner", "acme.site.maintainer"),
            async (sent, as) => {
              const told = await world.send(as, sent.operation.method, sent.path, sent.body, sent.headers);
              outcomes.set(told.status, (outcomes.get(told.status) ?? 0) + 1);
              const wrong = fault(sent, told);
              if (wrong !== null) throw new Error(wrong);
            },
          ),
          { numRuns: RUNS, seed: SEED },
        );
        console.log(
          [...outcomes]
            .toSorted(([a], [b]) => a - b)
            .map(([status, count]) => `${count} times ${status}`)
            .join(", "),
        );
        expect(outcomes.get(200) ?? 0).toBeGreaterThan(RUNS / 50);
        expect(outcomes.get(400) ?? 0).toBeGreaterThan(RUNS / 20);
        expect(
          JSON.stringify(
            [
              await world.send("beta.owner", "GET", "/api/v1/admin/tenants/beta/users"),
              await world.send("beta.owner", "GET", "/api/v1/admin/tenants/beta/versions"),
            ].map(({ text }) => text),
          ),
        ).toBe(before);
        expect(({} as Record<string, unknown>)["a"]).toBeUndefined();
      });

      test("[d9.3] text that looks like SQL, a header or a formula is stored and shown unchanged where it is allowed, and refused where it is not", async () => {
        // of its own: in the other one the names are whatever came to mind
        const fresh = await openAdminWorld({ kind });
        try {
          for (const name of ["'; DROP TABLE tenants; --", '"x" OR 1=1', "=1+1", "a%_b", "Bobby \\ Tables"]) {
            const { status, body } = await fresh.send("acme.owner", "PATCH", "/api/v1/admin/projects/app", { name });
            expect([name, status, body.name]).toEqual([name, 200, name]);
            const found = await fresh.send(
              "acme.owner",
              "GET",
              `/api/v1/admin/projects?search=${encodeURIComponent(name)}`,
            );
            expect([name, found.body.data.map((one: any) => one.id)]).toEqual([name, ["app"]]);
          }
          for (const name of ["a\r\nb", "a\nb", "a\u0000b", "\ud800", "a\u2028b"]) {
            const { status, body } = await fresh.send("acme.owner", "PATCH", "/api/v1/admin/projects/app", { name });
            expect([JSON.stringify(name), status, body.error.param]).toEqual([JSON.stringify(name), 400, "name"]);
          }
          expect(
            (await fresh.send("acme.owner", "GET", "/api/v1/admin/projects?search=%25")).body.data.map(
              (one: any) => one.id,
            ),
          ).toEqual([]);
        } finally {
          await fresh.close();
        }
      });
    });
  });
