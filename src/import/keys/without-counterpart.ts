// Why columns and tables of LiteLLM's database have no counterpart, where this helps whoever reads the report.
import type { ForeignFile, ForeignNode } from "../foreign-file.ts";
import { type Claims, type Reasons, withoutMembers } from "../report.ts";
import { BUDGETS, KEYS, TEAMS } from "./dump.ts";

const OF_PEOPLE = "people get their rights by roles, and keys of people are tokens of projects here";
const OF_USAGE = "what was used before the import does not count";
const OF_THE_ROW = "it is about the row, not about calls";
const OF_MODELS = "a limit or a budget with a scope bounds the use of single models";

const COLUMNS: Reasons = {
  spend: OF_USAGE,
  model_spend: OF_USAGE,
  budget_reset_at: OF_USAGE,
  user_id: OF_PEOPLE,
  organization_id: "tenants and projects stand in place of organizations and teams",
  admins: OF_PEOPLE,
  members: OF_PEOPLE,
  members_with_roles: OF_PEOPLE,
  team_member_permissions: OF_PEOPLE,
  model_max_budget: OF_MODELS,
  soft_budget: "thresholds of a budget send events",
  soft_budget_cooldown: "thresholds of a budget send events",
  permissions: "permissions of tokens are given one by one",
  aliases: "an alias of a model is a route",
  model_id: "an alias of a model is a route",
  metadata: "tokens and projects have no metadata",
  config: "settings of calls belong to routes and projects",
  allowed_cache_controls: "the settings of the project say who uses the cache",
  allowed_routes: "a token can be confined to models and routes, not to operations",
  router_settings: "settings of calls belong to routes and projects",
  access_group_ids: "a token names the routes that it may call",
  created_at: OF_THE_ROW,
  created_by: OF_THE_ROW,
  updated_at: OF_THE_ROW,
  updated_by: OF_THE_ROW,
  last_active: OF_THE_ROW,
  last_used_at: OF_THE_ROW,
  rotation_count: OF_THE_ROW,
  auto_rotate: OF_THE_ROW,
  rotation_interval: OF_THE_ROW,
  last_rotation_at: OF_THE_ROW,
  key_rotation_at: OF_THE_ROW,
};

/** After everything else has spoken. */
export function reportRest({ root }: ForeignFile, claims: Claims): void {
  for (const table of [KEYS, TEAMS, BUDGETS])
    for (const { members } of root.members.get(table)?.items ?? []) {
      withoutMembers(members, COLUMNS, claims);
      if (table === BUDGETS) reportBudget(members, claims);
    }
  for (const table of root.members.values())
    if (table.kind === "scalar") claims.without(table, "the import reads keys, teams and budgets only");
}

/** Budgets were read by the keys that name them. */
function reportBudget(members: ReadonlyMap<string, ForeignNode>, claims: Claims): void {
  claims.taken(members.get("budget_id"), "limits and budgets of the keys that name it");
  for (const node of members.values()) claims.without(node, "no key that was taken over names this budget");
}
