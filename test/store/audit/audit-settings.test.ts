// How long rows of the audit log are kept, by their content.
import { expect, test } from "bun:test";
import { auditSection, pruneAudit } from "../../../src/store/audit/audit-settings.ts";

const DAY_MS = 86_400_000;

test("changes stay for ever and refused attempts for 400 days, unless the configuration says otherwise", async () => {
  const asked: object[] = [];
  const left = [1000, 5, 0, 0, 0];
  const store = {
    pruneAudit: (before: object) => {
      asked.push(before);
      return Promise.resolve(left.shift() ?? 0);
    },
  };
  expect(await pruneAudit(store, auditSection.parse({}), 500 * DAY_MS)).toBe(1005);
  expect(asked.splice(0)).toEqual(Array.from({ length: 3 }, () => ({ doneMs: null, refusedMs: 100 * DAY_MS })));
  await pruneAudit(store, auditSection.parse({ keep_days: 30 }), 500 * DAY_MS);
  expect(asked.splice(0)).toEqual([{ doneMs: 470 * DAY_MS, refusedMs: 470 * DAY_MS }]);
  await pruneAudit(store, auditSection.parse({ keep_refused_days: "forever" }), DAY_MS);
  expect(asked).toEqual([]);
  for (const wrong of [{ keep_days: 0 }, { keep_days: "never" }, { keep_refused_days: 1.5 }, { other: 1 }])
    expect(auditSection.safeParse(wrong).success).toBe(false);
});
