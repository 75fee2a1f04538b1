// `litellm_settings`, `general_settings` and budgets of LiteLLM's configuration.
// https://docs.litellm.ai/docs/proxy/config_settings
import { nameOf } from "../draft.ts";
import {
  type Window,
  budgetWindow,
  bytesOf,
  decimalOf,
  isOn,
  isUnset,
  numberOf,
  secondsOf,
  textOf,
  wholeOf,
} from "../figures.ts";
import { type ForeignNode, NO_MEMBERS } from "../foreign-file.ts";
import { type ImportContext, moveSetting } from "../gateway-import.ts";
import { always } from "../report.ts";
import { importCache } from "./cache.ts";
import type { Deployment } from "./deployment.ts";
import { targetOf } from "./groups.ts";
import { valkeyAddress } from "./valkey-address.ts";
import { reportPlainly } from "./without-counterpart.ts";

/** The project that the first start of the gateway makes. */
const PROJECT = "default";
const DAY_S = 86_400;
/** Digits of an amount of money. */
const USD_DIGITS = 9;

export function importSettings(deployments: readonly Deployment[], context: ImportContext): void {
  const { members } = context.foreign.root;
  const litellm = members.get("litellm_settings")?.members ?? NO_MEMBERS;
  const general = members.get("general_settings")?.members ?? NO_MEMBERS;
  importCache(litellm, context);
  importSwitches(litellm, context);
  importBudgets(litellm, context);
  importGeneral(general, context);
  importDeploymentBudgets(deployments, context);
  importProviderBudgets(members.get("router_settings")?.members.get("provider_budget_config"), deployments, context);
  importSharedCounts(members.get("router_settings"), context);
  reportPlainly(context);
}

function importSwitches(litellm: ReadonlyMap<string, ForeignNode>, context: ImportContext): void {
  const { claims } = context;
  const drop = litellm.get("drop_params");
  moveSetting(drop, ["settings", "drop_params"], typeof drop?.value === "boolean" ? drop.value : null, null, context);
  const verbose = litellm.get("set_verbose");
  moveSetting(verbose, ["log", "level"], isOn(verbose) ? "debug" : null, null, context);
  claims.taken(verbose, always("log.level, whose default it is"));
  const json = litellm.get("json_logs");
  if (isOn(json)) claims.taken(json, always("the log, which always has one JSON object per line"));
  else claims.changed(json, always("the log"), "the log always has one JSON object per line");
  const silent = litellm.get("turn_off_message_logging");
  if (isOn(silent))
    claims.taken(
      silent,
      always("integrations, which get no text of prompts and answers unless they have content: true"),
    );
  else
    claims.changed(
      silent,
      always("integrations"),
      "no text of prompts and answers is sent unless an integration has content: true",
    );
}

function importBudgets(litellm: ReadonlyMap<string, ForeignNode>, context: ImportContext): void {
  const [amount, duration, forEach] = ["max_budget", "budget_duration", "max_end_user_budget"].map((key) =>
    litellm.get(key),
  );
  if (numberOf(amount) === 0) for (const node of [amount, duration]) context.claims.without(node, NO_BUDGET);
  else setBudget("all-calls", { amount, duration, scope: {} }, context);
  setBudget("each-end-user", { amount: forEach, duration: undefined, scope: { user: "*" } }, context);
}

interface ForeignBudget {
  readonly amount: ForeignNode | undefined;
  readonly duration: ForeignNode | undefined;
  readonly scope: Readonly<Record<string, string>>;
  /** What else is to be said of it. */
  readonly further?: string;
}

const TOTAL: Window = { window: "total", isSame: true };
/** https://github.com/BerriAI/litellm/blob/main/litellm/proxy/auth/auth_checks.py */
const NO_BUDGET = "LiteLLM keeps a budget of the proxy that is above 0, and admits every call with 0";
const NO_AMOUNT = "there is no amount for a budget beside it, or none that can be one";
const RESERVES = "a call reserves what it may cost before it begins, so that the budget is never exceeded";

/** Or why there is no such period. */
function windowOf(duration: ForeignNode | undefined): Window | string {
  const seconds = secondsOf(duration?.value ?? null);
  if (seconds === null) return "expected a time such as 24h or 30d";
  return budgetWindow(seconds) ?? "no period of a budget is that long: there are day, week, month and total";
}

function setBudget(
  name: string,
  { amount, duration, scope, further }: ForeignBudget,
  { claims, draft }: ImportContext,
): void {
  const number = numberOf(amount);
  const usd = decimalOf(number, USD_DIGITS);
  const found = isUnset(duration) ? TOTAL : windowOf(duration);
  if (usd === null || typeof found === "string") {
    const why = usd !== null && typeof found === "string" ? found : NO_AMOUNT;
    claims.without(amount, why);
    claims.without(duration, why);
    return;
  }
  const free = draft.freeName("budgets", nameOf(name));
  draft.set("budgets", [free], { usd, window: found.window, unpriced: "allow", scope });
  const at = `budgets.${free}`;
  claims.changed(amount, `${at}.usd`, `${RESERVES}${further === undefined ? "" : `; ${further}`}`);
  const how = found.isSame
    ? "periods are those of the calendar in UTC"
    : `the period is a ${found.window} of the calendar in UTC, which is longer`;
  claims.moved(duration, `${at}.window`, isUnset(duration) ? null : how);
}

/** Several proxies count together in Redis; several of our gateways in the limit store. */
function importSharedCounts(router: ForeignNode | undefined, context: ImportContext): void {
  if (router?.members.has("redis_host") !== true && router?.members.has("redis_url") !== true) return;
  context.draft.set("limit_store", ["url"], valkeyAddress(router, "limit_store.url", context));
}

/** A deployment has a budget, and here the model of its account, by whichever route it is called. */
function importDeploymentBudgets(deployments: readonly Deployment[], context: ImportContext): void {
  for (const deployment of deployments) {
    const [amount, duration] = ["max_budget", "budget_duration"].map((key) => deployment.settings.get(key));
    if (amount === undefined && duration === undefined) continue;
    const target = targetOf(deployment);
    setBudget(
      `${deployment.group}-${deployment.providerId}`,
      { amount, duration, scope: { model: target }, further: `all calls of ${target} count` },
      context,
    );
  }
}

/** Budgets of providers, which all accounts of one share. */
function importProviderBudgets(
  node: ForeignNode | undefined,
  deployments: readonly Deployment[],
  context: ImportContext,
): void {
  const all = new Set(deployments.map(({ providerId }) => providerId));
  for (const [provider, budget] of node?.members ?? []) {
    const parts = {
      amount: budget.members.get("budget_limit") ?? budget.members.get("max_budget"),
      duration: budget.members.get("time_period") ?? budget.members.get("budget_duration"),
    };
    const ids = [
      ...new Set(deployments.filter(({ prefix }) => prefix === provider).map(({ providerId }) => providerId)),
    ];
    const names = ids.join(", ");
    if (ids.length === 0)
      context.claims.without(budget, "no model in model_list that was taken over is of this provider");
    else if (ids.length > 1 && [...all].every((id) => ids.includes(id) === id.startsWith(provider)))
      setBudget(
        `provider-${provider}`,
        { ...parts, scope: { provider: `${provider}*` }, further: `the accounts ${names} share it` },
        context,
      );
    else
      for (const id of ids)
        setBudget(
          `provider-${id}`,
          {
            ...parts,
            scope: { provider: id },
            ...(ids.length > 1 && { further: `each of the accounts ${names} has it for itself` }),
          },
          context,
        );
  }
}

function importGeneral(general: ReadonlyMap<string, ForeignNode>, context: ImportContext): void {
  const { claims, draft } = context;
  const all = general.get("global_max_parallel_requests");
  moveSetting(all, ["server", "max_concurrent_calls"], wholeOf(all, 1, 65_535), null, context);
  const size = general.get("max_request_size_mb");
  const bytes = bytesOf(size);
  moveSetting(size, ["server", "max_body_bytes"], bytes === null ? null : Math.max(1024, bytes), null, context);
  const kept = general.get("maximum_spend_logs_retention_period");
  const seconds = secondsOf(kept?.value ?? null);
  const days = seconds === null ? null : Math.min(36_500, Math.max(1, Math.ceil(seconds / DAY_S)));
  const how = seconds === null || seconds % DAY_S === 0 ? null : "it is a number of whole days";
  moveSetting(kept, ["calls", "keep_days"], days, how, context);
  const content = general.get("store_prompts_in_spend_logs");
  if (isOn(content)) {
    draft.set("tenants", [PROJECT, "settings", "content_log", "enabled"], true);
    claims.changed(
      content,
      `tenants.${PROJECT}.settings.content_log`,
      "what is kept is encrypted, and personal data is replaced before",
    );
  } else claims.taken(content, always(`tenants.${PROJECT}.settings.content_log, which is off`));
  claims.without(
    general.get("master_key"),
    "the first start makes an access token of its own; further ones are made with dragoman token create",
  );
  if (textOf(general.get("database_url")) !== null)
    claims.without(
      general.get("database_url"),
      "Dragoman has a database of its own: SQLite in its data folder, or the PostgreSQL of server.database_url",
    );
}
