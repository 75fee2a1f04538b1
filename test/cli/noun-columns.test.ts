// The tables that the admin commands print: each column shows a member that the answers of the admin API have.
import { expect, test } from "bun:test";
import { NOUNS, type Noun } from "../../src/cli/admin/nouns.ts";
import { openAdminWorld } from "../harness/admin.ts";

type Schema = any;

const world = await openAdminWorld();
const { body: document } = await world.send(null, "GET", "/api/v1/openapi.json");
await world.close();

const resolved = ({ $ref, ...schema }: Schema): Schema =>
  $ref === undefined ? schema : resolved(document.components.schemas[$ref.split("/").at(-1)]);
/** The forms that a value of the schema may have. */
const formsOf = (schema: Schema): readonly Schema[] => {
  const whole = resolved(schema);
  const among = whole.anyOf ?? whole.oneOf ?? whole.allOf;
  return among === undefined ? [whole] : among.flatMap(formsOf);
};
const memberOf = (schema: Schema, name: string): Schema =>
  formsOf(schema)
    .map(
      (form) => form.properties?.[name] ?? (typeof form.additionalProperties === "object" && form.additionalProperties),
    )
    .find(Boolean);

/** The answers from which a table of the noun is made. */
function rowsOf({ path, verbs }: Noun): readonly Schema[] {
  const listed = verbs.includes("list");
  const asked = new RegExp(`(admin|\\{tenant\\}|\\{project\\})/${path}${listed ? "" : "(/\\{\\w+\\})?"}$`);
  return Object.entries<any>(document.paths)
    .filter(([address, { get }]) => asked.test(address) && get?.["x-required-role"] !== undefined)
    .map(([, { get }]) => get.responses["200"].content["application/json"].schema)
    .map((answer) => (listed ? resolved(memberOf(answer, "data")).items : answer));
}

test.each(NOUNS.map((noun) => [noun.word, noun] as const))(
  "each column of %s shows a member of its answers",
  (_, noun) => {
    const rows = rowsOf(noun);
    expect(rows.length).toBeGreaterThan(0);
    for (const row of rows) {
      const missing = Object.values(noun.columns).filter(
        (column) =>
          column.split(".").reduce<Schema>((within, name) => within && memberOf(within, name), row) === undefined,
      );
      expect(missing).toEqual([]);
    }
  },
);
