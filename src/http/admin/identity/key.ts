// `GET /key`: the caller's own access token with its rights and its remaining limits (promise 9.2).
import { z } from "zod";
import { adminCaller, roleAt } from "../../../auth/grants.ts";
import { accountOfCaller } from "../../../admission/compile-limits.ts";
import type { LimitStore, AccountStatus } from "../../../admission/limit-store.ts";
import type { AccessToken } from "../../../core/identity.ts";
import { PERMISSIONS, ROLES } from "../../../core/identity.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { LimitRule } from "../../../core/configured/limit.ts";
import type { Snapshot } from "../../../core/snapshot.ts";
import { compileGlob } from "../../../core/text/glob.ts";
import { readForEach } from "../report-reads.ts";
import { chosenId, time, amount, shownRule, shownUnits } from "../schemas.ts";
import { shownAs, type ThingOf } from "../shown.ts";

const MAX_PROJECTS = 1000;

const limitStatus = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    kind: z.enum(["limit", "budget"]),
    project_id: chosenId.nullable(),
    metric: z.enum(["requests", "tokens", "concurrency", "usd"]),
    window: z.string().nullable(),
    mode: z.enum(["enforce", "audit"]),
    scope: z.record(z.string(), z.string()),
    limit: amount,
    used: amount.nullable().meta({
      description: "Null if each value of the scope has its own count and the request does not say which one.",
    }),
    remaining: amount.nullable(),
    resets_at: time.nullable().meta({
      description:
        "When everything counted now will have left the window. Null if that never happens, or nothing is counted.",
    }),
  })
  .meta({ id: "KeyLimit" });
export const keyAnswer = z
  .strictObject({
    id: z.string(),
    kind: z.enum(["project", "personal"]),
    name: z.string(),
    tenant_id: chosenId,
    project_id: chosenId.nullable(),
    user_id: z.string().nullable(),
    role: z.enum(ROLES).nullable().meta({
      description:
        "The role in the project of a project token, or in the whole tenant of a personal token; null if there are roles in single projects only.",
    }),
    projects: z
      .array(z.strictObject({ id: chosenId, role: z.enum(ROLES) }))
      .meta({ description: "The projects that the token has access to." }),
    operator: z.boolean().meta({ description: "Whether the token has access to all tenants and `/metrics`." }),
    permissions: z.array(z.enum(PERMISSIONS)),
    models: z.array(z.string()),
    routes: z.array(z.string()),
    tools: z.array(z.string()),
    ip: z.array(z.string()),
    expires_at: time,
    limits: z.array(limitStatus),
  })
  .meta({ id: "Key" });
export const keyQuery = z.strictObject({
  user: z.string().min(1).max(400).optional().meta({ description: "An end user whose counts are to be shown too." }),
});

export async function describeKey(
  token: AccessToken,
  snapshot: Snapshot,
  limits: Pick<LimitStore, "status"> | null,
  user: string | null,
): Promise<JsonObject> {
  const caller = adminCaller(token, snapshot);
  const projects = [...snapshot.projects.values()].flatMap(({ id, tenantId }) => {
    const role =
      tenantId === token.tenantId ? roleAt({ ...caller, isOperator: false }, { tenantId, projectId: id }) : null;
    return role === null ? [] : [{ id, role }];
  });
  const shown = projects.slice(0, MAX_PROJECTS);
  const seen = new Set(shown.map(({ id }) => id));
  // a rule of the whole tenant applies in each of its projects
  const rules = snapshot.limitRules
    .rulesIn(token.tenantId)
    .filter(
      ({ projectId, scope }) =>
        (projectId === null ? seen.size > 0 : seen.has(projectId)) &&
        (scope.token === undefined || compileGlob(scope.token)(token.id)),
    );
  return shownAs(keyAnswer, {
    ...token,
    role:
      token.kind === "project"
        ? (projects[0]?.role ?? null)
        : roleAt({ ...caller, isOperator: false }, { tenantId: token.tenantId, projectId: null }),
    operator: caller.isOperator,
    projects: shown,
    ip: token.ipRanges,
    limits: await readForEach(rules, (rule) => stateOf(rule, token.id, limits, user)),
  });
}

async function stateOf(
  rule: LimitRule,
  tokenId: string,
  limits: Pick<LimitStore, "status"> | null,
  user: string | null,
): Promise<ThingOf<typeof limitStatus.shape>> {
  const account = accountOfCaller(rule, tokenId, user);
  const now: AccountStatus | null = account === null || limits === null ? null : await limits.status(account);
  const units = (count: number) => shownUnits(rule.unit, count);
  return {
    ...shownRule(rule),
    used: now === null ? null : units(now.used),
    remaining: now === null ? null : units(now.remaining),
    resetsAtMs: now === null ? null : now.resetsAtMs,
  };
}
