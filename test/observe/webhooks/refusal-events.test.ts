// A storm of refusals does not become a storm of events.
import { afterEach, beforeEach, describe, expect, jest, test } from "bun:test";
import type { NewEvent } from "../../../src/core/record/event.ts";
import type { CallRecord } from "../../../src/core/record/record.ts";
import { refusalEvents } from "../../../src/observe/webhooks/refusal-events.ts";
import { attemptOf, rowOf } from "../../contract/store/call-records.ts";

const refused = (own: Partial<CallRecord>): CallRecord => ({
  ...rowOf({}).record,
  status: 429,
  code: "rate_limit_exceeded",
  tenantId: "acme",
  projectId: "site",
  limits: [
    {
      id: "lim_1",
      value: "",
      unit: "requests",
      before: 1,
      reserved: 0,
      settled: 0,
      after: 1,
      wouldRefuse: false,
      refused: "rate_limit_exceeded",
    },
  ],
  ...own,
});

describe("refusals as events", () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());
  const opened = () => {
    const told: NewEvent[] = [];
    let nowMs = 1_800_000_000_000;
    const events = refusalEvents({ emit: (event) => told.push(event) }, { now: () => nowMs });
    return {
      told,
      events,
      later: (ms: number) => {
        nowMs += ms;
        jest.advanceTimersByTime(ms);
      },
    };
  };

  test("[d11.4] the first of a rule in a project is reported at once, and then their number, once a minute, until there are none", () => {
    const { told, events, later } = opened();
    for (let n = 0; n < 5000; n++) events.publish(refused({}));
    expect(told.map(({ data }) => data["count"])).toEqual([1]);
    expect(told[0]).toMatchObject({
      type: "call.refused",
      tenantId: "acme",
      projectId: "site",
      data: { code: "rate_limit_exceeded", rule_kind: "limit", rule: "lim_1" },
    });
    later(60_000);
    expect(told.map(({ data }) => data["count"])).toEqual([1, 4999]);
    later(60_000);
    later(60_000);
    expect(told).toHaveLength(2);
    events.publish(refused({}));
    expect(told.map(({ data }) => data["count"])).toEqual([1, 4999, 1]);
    events.close();
  });

  test("[d9.4] an explanation that is refused is no call that was, and no event", () => {
    const { told, events } = opened();
    events.publish(refused({ explained: true }));
    expect(told).toEqual([]);
    events.close();
  });

  test("[d11.4] rules and projects are distinguished; a provider's refusal, and a refusal after which another target answered, is no event", () => {
    const { told, events } = opened();
    events.publish(refused({}));
    events.publish(refused({ projectId: "other" }));
    events.publish(
      refused({
        status: 403,
        code: "policy_violation",
        limits: [],
        policies: [{ name: "no-streams", effect: "denied" }],
      }),
    );
    events.publish(refused({ status: 403, code: "model_unpriced", limits: [] }));
    events.publish(refused({ limits: [] }));
    // the limit has refused one target, and the provider of another has ended the call
    events.publish(refused({ attempts: [attemptOf({ status: 429, code: "rate_limit_exceeded" })] }));
    events.publish(refused({ status: 200, code: null }));
    events.publish(refused({ status: 403, code: "insufficient_role", limits: [] }));
    expect(told.map(({ projectId, data }) => [projectId, data["rule_kind"], data["rule"]])).toEqual([
      ["site", "limit", "lim_1"],
      ["other", "limit", "lim_1"],
      ["site", "policy", "no-streams"],
      ["site", "price", null],
    ]);
    events.close();
  });

  test("[d11.4] a tenant with a storm of rules displaces no other tenant's, and has its own room again after a quiet minute", () => {
    const { told, events, later } = opened();
    for (let n = 0; n < 10_000; n++) events.publish(refused({ projectId: `p${n}` }));
    events.publish(refused({ tenantId: "other", projectId: "quiet" }));
    expect(told.at(-1)).toMatchObject({ tenantId: "other", projectId: "quiet" });
    for (let tenant = 0; tenant < 20; tenant++)
      for (let n = 0; n < 1000; n++) events.publish(refused({ tenantId: `t${tenant}`, projectId: `p${n}` }));
    expect(told).toHaveLength(5000);
    later(60_000);
    told.length = 0;
    events.publish(refused({ projectId: "p9999" }));
    expect(told).toHaveLength(1);
    events.close();
  });

  test("[d11.4] counted refusals are reported at the end, and invented names take bounded room", () => {
    const { told, events } = opened();
    for (let n = 0; n < 10_000; n++) events.publish(refused({ projectId: `p${n}` }));
    expect(told).toHaveLength(500);
    events.publish(refused({ projectId: "p7" }));
    events.close();
    expect(told.at(-1)).toMatchObject({ projectId: "p7", data: { count: 1 } });
  });
});
