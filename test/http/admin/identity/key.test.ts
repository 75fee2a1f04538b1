// What `GET /key` costs the thread that serves calls: a tenant may have thousands of projects, and as many limits.
import { expect, test } from "bun:test";
import type { Snapshot } from "../../../../src/core/snapshot.ts";
import { describeKey } from "../../../../src/http/admin/identity/key.ts";
import { stubGateway } from "../../../harness/in-process.ts";
import { limitSet } from "../../../harness/limited.ts";
import { sampleToken } from "../../../harness/sample-tokens.ts";
import { growth, MOST_GROWTH } from "../../../harness/time/cpu-time.ts";

const TOKEN = sampleToken({ tenantId: "default", kind: "personal", projectId: null, userId: "ada", role: null });

function tenantOf(limits: Readonly<Record<string, object>>, projects: readonly string[]): Snapshot {
  return {
    ...stubGateway().context.snapshot(),
    limitRules: limitSet({ limits, tenantWide: Object.keys(limits).filter((name) => name !== "own") }),
    memberships: new Map([["ada", [{ userId: "ada", tenantId: "default", projectId: null, role: "admin" }]]]),
    projects: new Map(projects.map((id) => [id, { id, tenantId: "default", name: id }])),
  };
}

const LIMIT = { metric: "requests", limit: 5, window: "hour" };

test("[d5.8 d9.2] a limit of the whole tenant is looked at once, however many projects it holds in", async () => {
  const names = (n: number) => Array.from({ length: n }, (_, number) => `n${number}`);
  const made = (n: number): Snapshot => tenantOf(Object.fromEntries(names(n).map((name) => [name, LIMIT])), names(n));
  const described = (snapshot: Snapshot) => describeKey(TOKEN, snapshot, null, null);
  expect((await described(made(3)))["limits"]).toHaveLength(3);
  expect(await growth(made, described, 250)).toBeLessThan(MOST_GROWTH);
});

test("[d9.2] the limits are those that may hold for the token: not those of other tokens, nor of projects that it does not reach", async () => {
  const limits = {
    all: LIMIT,
    mine: { ...LIMIT, scope: { token: TOKEN.id } },
    others: { ...LIMIT, scope: { token: "BBBBBBBBBBBB" } },
    each: { ...LIMIT, scope: { token: "*" } },
    own: LIMIT,
  };
  const ids = async (projects: readonly string[]) =>
    ((await describeKey(TOKEN, tenantOf(limits, projects), null, null))["limits"] as readonly { id: string }[]).map(
      ({ id }) => id,
    );
  expect(await ids(["default"])).toEqual(["id_all", "id_mine", "id_each", "id_own"]);
  expect(await ids(["site"])).toEqual(["id_all", "id_mine", "id_each"]);
  expect(await ids([])).toEqual([]);
});

test("[d9.2] the counts of an end user are those that calls are charged to: of a long name, and beside the token's", async () => {
  const snapshot = tenantOf(
    {
      each: { ...LIMIT, scope: { user: "*" } },
      both: { ...LIMIT, scope: { token: "*", user: "*" } },
      elsewhere: { ...LIMIT, scope: { user: "*", model: "*" } },
    },
    ["default"],
  );
  const user = "u".repeat(300);
  const target = { route: "direct", provider: "openai", model: "openai:gpt-4o" };
  const charged = snapshot.limitRules.forCaller("default", "default", TOKEN.id)!.accountsAt(target, user);
  const asked: string[] = [];
  const limits = {
    status({ value }: { readonly value: string }) {
      asked.push(value);
      return { limit: 5, used: 1, remaining: 4, resetsAtMs: null, reserved: null };
    },
  };
  const { limits: shown } = await describeKey(TOKEN, snapshot, limits, user);
  expect((shown as readonly { used: number | null }[]).map(({ used }) => used)).toEqual([1, 1, null]);
  expect(asked).toEqual(charged.slice(0, 2).map(({ value }) => value));
});
