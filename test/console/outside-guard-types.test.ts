// The form of a guard's service shows the fields that the gateway takes for its type, and no other.
import { expect, test } from "bun:test";
import {
  FIELDS,
  LISTS,
  NUMBERS,
  SERVICE_TYPES,
  type SpecialField,
} from "../../console/src/screens/policies/outside-guard-types.ts";
import { GUARD_SERVICE_TYPES } from "../../src/core/configured/outside-guard.ts";
import { serviceSettings } from "../../src/guards/outside/outside-settings.ts";

const VALUES: Readonly<Record<SpecialField, unknown>> = {
  url: "https://judge.test",
  provider: "openai",
  model: "m",
  language: "en",
  project: "p",
  guardrail: "abc",
  version: "1",
  template: "strict",
  entities: ["PERSON"],
  blocklists: ["names"],
  score_threshold: 0.5,
  least_severity: 4,
};
const ALL = Object.keys({ ...FIELDS, ...LISTS, ...NUMBERS }) as SpecialField[];

test("[d16.4] has every type", () => expect(Object.keys(SERVICE_TYPES)).toEqual([...GUARD_SERVICE_TYPES]));

for (const [type, shown] of Object.entries(SERVICE_TYPES))
  test(`[d16.4] of the type ${type}`, () => {
    const document = { type, ...Object.fromEntries(shown.map((field) => [field, VALUES[field]])) };
    expect(serviceSettings.safeParse(document).success).toBe(true);
    for (const field of ALL.filter((each) => !shown.includes(each)))
      expect([field, serviceSettings.safeParse({ ...document, [field]: VALUES[field] }).success]).toEqual([
        field,
        false,
      ]);
  });
