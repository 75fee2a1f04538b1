// What answers show of a thing follows from their schemas.
import { expect, test } from "bun:test";
import { z } from "zod";
import { orNull, time } from "../../../src/http/admin/schemas.ts";
import { shownAs } from "../../../src/http/admin/shown.ts";

const part = z.strictObject({ what: z.string(), cost_usd: z.string().nullable() }).meta({ id: "Part" });

test("names, times, seconds and amounts of an answer are made of the properties of a thing, and nothing else of it is shown", () => {
  const schema = z.strictObject({
    tenant_id: z.string(),
    created_at: time.meta({ description: "When." }),
    ended_at: time.nullable(),
    until: orNull(time, "When it ends."),
    total_ms: z.number(),
    idle_s: z.number(),
    cost_usd: z.string(),
  });
  const thing = {
    tenantId: "acme",
    createdAtMs: 0,
    endedAtMs: null,
    untilMs: 86_400_000,
    totalMs: 7,
    idleMs: 1500,
    costNanoUsd: 1_500_000_000n,
    secretHash: "not shown",
  };
  expect(shownAs(schema, thing)).toEqual({
    tenant_id: "acme",
    created_at: "1970-01-01T00:00:00.000Z",
    ended_at: null,
    until: "1970-01-02T00:00:00.000Z",
    total_ms: 7,
    idle_s: 1.5,
    cost_usd: "1.5",
  });
});

test("objects in lists and behind null are shown by their own schemas, and free documents as they are", () => {
  const schema = z.strictObject({
    parts: z.array(part),
    first_part: orNull(part, "The first."),
    no_part: part.nullable(),
    document: z.record(z.string(), z.unknown()),
    loose: z.looseObject({ some_name: z.string() }),
  });
  const shown = shownAs(schema, {
    parts: [
      { what: "a", costNanoUsd: null },
      { what: "b", costNanoUsd: -1 },
    ],
    firstPart: { what: "a", costNanoUsd: null },
    noPart: null,
    document: { someName: 1 },
    loose: { some_name: "as it is" },
  });
  expect(shown).toEqual({
    parts: [
      { what: "a", cost_usd: null },
      { what: "b", cost_usd: "-0.000000001" },
    ],
    first_part: { what: "a", cost_usd: null },
    no_part: null,
    document: { someName: 1 },
    loose: { some_name: "as it is" },
  });
});

test("a thing that lacks what an answer shows is refused by the type check, and a time that is missing by an error", () => {
  const schema = z.strictObject({ tenant_id: z.string(), created_at: time });
  // @ts-expect-error createdAtMs is missing
  expect(() => shownAs(schema, { tenantId: "acme" })).toThrow("Invalid Date");
});
