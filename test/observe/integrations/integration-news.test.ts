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
    setTimeout: (run: () => void, waitMs: number) => {
      const timer = { id: turned(run, waitMs), unref: () => timer };
      return timer;
    },
  });
  const news = integrationNews(log, { integration: "mine" }, time.clock);
  for (let count = 0; count < 50; count++) {
    news.failing("calls", `no. ${count} ${"x".repeat(5000)}`);
    news.back("calls");
  }
  expect(told).toEqual(["fails: no. 0 xx", "back"]);
  news.failing("calls", "no. 50  ");
  expect(told).toHaveLength(2);
  await time.drain(70_000);
  expect(told).toEqual(["fails: no. 0 xx", "back", "fails: no. 50  "]);
  news.back("calls");
  expect(told.at(-1)).toBe("back");
});

test("an integration works again when both its calls and its metrics are delivered", () => {
  const told: string[] = [];
  const log = { warn: () => void told.push("fails"), info: () => void told.push("back") };
  const news = integrationNews(log, {}, time.clock);
  news.failing("calls", "no");
  news.failing("metrics", "no");
  news.back("metrics");
  expect(told).toEqual(["fails"]);
  news.back("calls");
  expect(told).toEqual(["fails", "back"]);
});

test("a failure that another thread reports is reported, also where one was in the thread before", () => {
  const told: string[] = [];
  const log = { warn: () => void told.push("fails"), info: () => void told.push("back") };
  let nowMs = 0;
  const news = integrationNews(log, {}, { monotonic: () => nowMs });
  news.failing("calls", "no");
  news.forget();
  nowMs = 70_000;
  news.failing("calls", "no");
  news.back("calls");
  expect(told).toEqual(["fails", "fails", "back"]);
});
