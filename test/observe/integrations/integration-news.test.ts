// Log lines of integrations that fail and recover.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { integrationNews } from "../../../src/observe/integrations/integration-news.ts";
import { type TurnedTime, turnTime } from "../../harness/time/turned-time.ts";

let time: TurnedTime;
beforeEach(() => void (time = turnTime()));
afterEach(() => time.stop());

test("a sink that fails and recovers with every call is reported once in a minute, and its final state is reported", async () => {
  const told: string[] = [];
  const log = {
    warn: (fields: Readonly<Record<string, unknown>>) =>
      void told.push(`fails: ${String(fields["error_detail"]).slice(0, 8)}`),
    info: () => void told.push("back"),
  };
  // timers of the turned time are numbers
  const turned = globalThis.setTimeout as unknown as (run: () => void, waitMs: number) => number;
  Object.assign(globalThis, {
    setTimeout: (run: () => void, waitMs: number) => ({ id: turned(run, waitMs), unref: () => {} }),
  });
  const news = integrationNews(log, { integration: "mine" }, time.clock);
  for (let count = 0; count < 50; count++) {
    news.failing(`no. ${count} ${"x".repeat(5000)}`);
    news.back();
  }
  expect(told).toEqual(["fails: no. 0 xx", "back"]);
  news.failing("no. 50  ");
  expect(told).toHaveLength(2);
  await time.drain(70_000);
  expect(told).toEqual(["fails: no. 0 xx", "back", "fails: no. 50  "]);
  news.back();
  expect(told.at(-1)).toBe("back");
});
