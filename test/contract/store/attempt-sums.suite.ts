// What every store of calls tells of the attempts of the calls that it got, and of the last uses of tokens.
import { expect, test } from "bun:test";
import { LATENCY_BOUNDS_MS } from "../../../src/store/calls/calls.ts";
import { attemptOf, DAY_ONE, HOUR_MS, newTraceId, rowOf } from "./call-records.ts";
import type { NewStore } from "./log-search.suite.ts";

export function attemptSumsSuite(newStore: NewStore): void {
  test("[d14.1] the last use of a token is when its newest call began", async () => {
    const store = await newStore([
      rowOf({ tokenId: "one" }),
      rowOf({ tokenId: "one", startedAtMs: DAY_ONE + 5 }),
      rowOf({ tokenId: "two", startedAtMs: DAY_ONE + 9 }),
    ]);
    expect(await store.lastUses(["none", "one"])).toEqual([{ tokenId: "one", timeMs: DAY_ONE + 5 }]);
    expect(await store.lastUses([])).toEqual([]);
  });

  test("[d9.9] attempts are summed by provider, model and outcome, each once, and none of calls that asked nobody", async () => {
    const saved = [
      attemptOf({ provider: "first", model: "m", code: "upstream_error", status: 500, startMs: 10, totalMs: 70 }),
      attemptOf({ provider: "second", model: "n", startMs: 70, totalMs: 400 }),
    ];
    const killed = newTraceId();
    const rows = [
      rowOf({ attempts: saved, provider: "second", model: "n" }),
      rowOf({ attempts: saved, provider: "second", model: "n", startedAtMs: DAY_ONE + 1 }),
      rowOf({ attempts: [attemptOf({ provider: "second", model: "n", fromCache: true })] }),
      rowOf({ attempts: [], provider: null, model: null, status: 429, code: "rate_limit_exceeded" }),
      rowOf({ traceId: killed, attempts: [] }, false),
      rowOf({ attempts: saved, startedAtMs: DAY_ONE - HOUR_MS }),
      rowOf({ attempts: saved, projectId: "app" }),
      rowOf({ attempts: saved, tenantId: "beta" }),
    ];
    const store = await newStore(rows);
    const late = rowOf({ traceId: killed, attempts: [attemptOf({ provider: "first", model: "m" })] });
    await store.ingest([late, rows[0]!]);
    const told = async (projectId?: string) => {
      const scope = { tenantId: "acme", ...(projectId !== undefined && { projectId }), fromHourMs: DAY_ONE };
      const { data } = await store.attempts(scope);
      return data
        .map(({ provider, model, code, attempts }) => `${provider} ${model} ${code} ${attempts}`)
        .toSorted((a, b) => (a < b ? -1 : 1));
    };
    expect(await told()).toEqual(["first m null 1", "first m upstream_error 3", "second n null 3"]);
    expect(await told("site")).toEqual(["first m null 1", "first m upstream_error 2", "second n null 2"]);
    expect(await told("nowhere")).toEqual([]);
    const { data } = await store.attempts({ tenantId: "acme", projectId: "site", fromHourMs: DAY_ONE });
    const failed = data.find(({ code }) => code !== null)!;
    expect(failed.lastTraceId).toBe(rows[1]!.record.traceId);
    expect(failed.latency).toEqual([2n, ...LATENCY_BOUNDS_MS.map(() => 0n)]);
  });
}
