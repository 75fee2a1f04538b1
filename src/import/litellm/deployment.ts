// One entry of LiteLLM's `model_list`: the target that it becomes, and what its route has to know of it.
// https://docs.litellm.ai/docs/proxy/configs, https://docs.litellm.ai/docs/proxy/load_balancing
import { MODEL_ID } from "../../providers/settings.ts";
import { isOn, numberOf, textOf, timeOf, wholeOf } from "../figures.ts";
import type { ForeignNode } from "../foreign-file.ts";
import type { ImportContext } from "../gateway-import.ts";
import type { Value } from "../reference.ts";
import { type PlaceOf, type Reasons, withoutMembers } from "../report.ts";
import { looksLikeKey } from "../secret-shape.ts";
import { addParameter, isDroppable } from "../target-entry.ts";
import { ACCOUNT_SETTINGS, deploymentAccount, type Settings } from "./deployment-account.ts";
import { isKeptByLiteLlm } from "./kept-parameters.ts";
import { importModelFacts } from "./model-facts.ts";
import { whyUnserved } from "../unserved-models.ts";
import { BEDROCK_PATH, namedModel, type DeployedModel } from "./provider-names.ts";

export interface Deployment {
  readonly node: ForeignNode;
  /** Its `model_name`, under which clients ask for it together with other deployments. */
  readonly group: string;
  readonly groupNode: ForeignNode;
  /** As LiteLLM calls the provider. */
  readonly prefix: string;
  readonly providerId: string;
  readonly model: string;
  readonly params: Readonly<Record<string, Value>>;
  readonly drop: readonly string[];
  readonly settings: Settings;
  /** Its `rpm` and `tpm`, from wherever LiteLLM reads them. */
  readonly rates: Settings;
  readonly maxConcurrency: number | null;
  readonly retries: number | null;
  readonly timeoutMs: number | null;
  readonly streamTimeoutMs: number | null;
  /** The routes of which a target was made of it: filled when the routes are. */
  readonly routes: string[];
}

/** The name of an entry of `credential_list`. */
export const CREDENTIAL = "litellm_credential_name";
/** `null` for one that has no counterpart, which the report then says of all of it. */
export function readDeployment(
  node: ForeignNode,
  credentials: ReadonlyMap<string, Settings>,
  context: ImportContext,
): Deployment | null {
  const { claims } = context;
  const groupNode = node.members.get("model_name")!;
  const own = node.members.get("litellm_params")!.members;
  const credential = textOf(own.get(CREDENTIAL));
  const settings: Settings = new Map([...(credentials.get(credential ?? "") ?? []), ...own]);
  const modelNode = own.get("model")!;
  const named = namedModel(textOf(modelNode)!, textOf(settings.get("custom_llm_provider")));
  const model = named === null ? "" : named.model.replace(named.name.family === "bedrock" ? BEDROCK_PATH : "", "");
  const mode = textOf(node.members.get("model_info")?.members.get("mode"));
  const problem = problemOf(named, textOf(modelNode)!, model, context) ?? whyUnserved(model, mode);
  if (named === null || problem !== null) {
    claims.missing(node, problem ?? "");
    return null;
  }
  const providerId = deploymentAccount(named, settings, context);
  claims.taken(own.get(CREDENTIAL), `providers.${providerId}`);
  claims.taken(settings.get("custom_llm_provider"), `providers.${providerId}`);
  const how = model === named.model ? null : "Dragoman always calls these models by the Converse API";
  claims.moved(modelNode, `${providerId}:${model}`, how);
  importModelFacts(node, { providerId, model }, context);
  withoutMembers(own, OF_DEPLOYMENTS, claims);
  const routes: string[] = [];
  const at: PlaceOf = (setting) => () =>
    routes.map((route) => `${setting} of ${providerId}:${model} in routes.${route}`);
  return {
    node,
    group: textOf(groupNode)!,
    groupNode,
    prefix: named.prefix,
    providerId,
    model,
    settings,
    rates: ratesOf(node, settings, context),
    routes,
    ...readTarget(own, at, context),
  };
}

function problemOf(
  named: DeployedModel | null,
  asked: string,
  model: string,
  { families }: ImportContext,
): string | null {
  if (named === null) return whyUnknown(asked);
  if (!families.has(named.name.family)) return `Dragoman has no provider ${named.name.family}`;
  if (looksLikeKey(model)) return "it looks like a key, which cannot be the name of a model";
  if (MODEL_ID.test(model)) return null;
  return "this cannot be the name of a model here: expected printable characters without spaces, `..`, `?` and `#`";
}

/** Why `model` of a deployment names no provider that there is. */
function whyUnknown(asked: string): string {
  if (asked === "*")
    return "it stands for every model of every provider; here any model of a configured provider can be called as <provider>/<model>, so configure the providers";
  if (/^(auto_router|complexity_router)\//.test(asked))
    return "requests are not classified by what they are about; conditions see their length, their tools and their metadata: docs/routes.md#conditions";
  if (asked.startsWith("os.environ/") || asked.startsWith("${"))
    return "its model stands in a variable; write it in place of the variable and import again";
  if (!asked.includes("/")) return "it names no provider; write <provider>/<model> and import again";
  return "Dragoman has no such provider; if it speaks OpenAI's API, write openai/<model> with its api_base and import again";
}

const BY_REGION =
  "targets are not chosen by region: callers who may use those of one region only get a route with these targets";
const BY_ROLE =
  "a role is assumed by a profile of AWS's shared files (aws_profile_name), or by the chain of aws: default: docs/credentials.md";
const SANDBOXED = "the provider sandbox answers by itself: docs/sandbox.md";
const NO_HEADERS =
  "a target sends no headers of its own; callers can send those without a credential in extra_headers, if their token may: docs/api.md";
const OF_DEPLOYMENTS: Reasons = {
  region_name: BY_REGION,
  allowed_model_region: BY_REGION,
  aws_role_name: BY_ROLE,
  aws_session_name: BY_ROLE,
  aws_web_identity_token: BY_ROLE,
  mock_response: SANDBOXED,
  mock_timeout: SANDBOXED,
  merge_reasoning_content_in_choices: "reasoning stands in a field of its own in every answer",
  retry_policy: "which failures are repeated is the same for all routes: docs/routes.md",
  base_model: "prices are found by the name of the model, and can be set under prices",
  itpm: "limits of tokens count those of prompt and answer together: docs/limits.md",
  otpm: "limits of tokens count those of prompt and answer together: docs/limits.md",
  rpm_limit: "LiteLLM does not read it; write rpm and import again",
  tpm_limit: "LiteLLM does not read it; write tpm and import again",
  azure_ad_token:
    "a token that somebody renews cannot stand in a file; write tenant_id, client_id and client_secret and import again, or an entra entry: docs/credentials.md",
  extra_headers: NO_HEADERS,
  headers: NO_HEADERS,
  organization: "no header names the organization: take a key of it, or of one of its projects",
  input_cost_per_second: "prices are those of tokens, requests and search units",
  output_cost_per_second: "prices are those of tokens, requests and search units",
};

/** Those beside `litellm_params` come first where LiteLLM looks there at all. */
function ratesOf({ members }: ForeignNode, settings: Settings, { claims, foreign }: ImportContext): Settings {
  const isBeside = readsRatesBeside(foreign.root.members.get("router_settings"));
  return new Map(
    ["rpm", "tpm"].flatMap((key): readonly [string, ForeignNode][] => {
      const [beside, own] = [members.get(key), settings.get(key)];
      if (!isBeside)
        claims.without(
          beside,
          "LiteLLM does not read it here with these router_settings; if it has to be kept, set a limit under limits",
        );
      else if (beside !== undefined) claims.without(own, "the one beside litellm_params takes precedence there");
      const rate = isBeside ? (beside ?? own) : own;
      return rate === undefined ? [] : [[key, rate]];
    }),
  );
}

type OfTarget = Pick<Deployment, "params" | "drop" | "maxConcurrency" | "retries" | "timeoutMs" | "streamTimeoutMs">;

function readTarget(own: Settings, at: PlaceOf, { claims }: ImportContext): OfTarget {
  const params: Record<string, Value> = {};
  const set = (parameter: readonly [string, ForeignNode], how: string | null): void =>
    addParameter(params, parameter, { at: at(`params.${parameter[0]}`), how, claims });
  // what LiteLLM sends last counts
  for (const inner of own.get("extra_body")?.members ?? [])
    set(inner, "it stands beside the other parameters and not under extra_body");
  for (const [name, node] of own) if (!NO_PARAMETERS.has(name) && !isKeptByLiteLlm(name)) set([name, node], null);
  const places = own.get("max_parallel_requests");
  const maxConcurrency = wholeOf(places, 1, 65_535);
  if (maxConcurrency !== null) claims.taken(places, at("max_concurrency"));
  const drop = (own.get("additional_drop_params")?.items ?? []).flatMap((item): readonly string[] => {
    const name = textOf(item) ?? "";
    if (!isDroppable(name, params)) return [];
    claims.taken(item, at("drop"));
    return [name];
  });
  return { params, drop, maxConcurrency, ...readTimes(own) };
}

/** Settings of which something else is made: the account, the route, its limits, or what the target is beside them. */
const NO_PARAMETERS: ReadonlySet<string> = new Set([
  ...ACCOUNT_SETTINGS,
  "model",
  "weight",
  "order",
  "rpm",
  "tpm",
  "timeout",
  "request_timeout",
  "stream_timeout",
  "num_retries",
  "max_retries",
  "max_parallel_requests",
  "additional_drop_params",
  "extra_body",
  "drop_params",
]);

function readTimes(own: Settings): Pick<Deployment, "retries" | "timeoutMs" | "streamTimeoutMs"> {
  const time = (name: string): number | null => timeOf(own.get(name));
  const retries = numberOf(own.get("num_retries")) ?? numberOf(own.get("max_retries"));
  return {
    retries: retries !== null && Number.isInteger(retries) && retries >= 0 ? retries : null,
    timeoutMs: time("timeout") ?? time("request_timeout"),
    streamTimeoutMs: time("stream_timeout"),
  };
}

/** The check of LiteLLM that passes over deployments over their rate. */
export const RATE_CHECK = "enforce_model_rate_limits";

/** Whether deployments over their own rate are passed over, or the rate only says how calls are divided. */
export function enforcesRates(router: ForeignNode | undefined): boolean {
  return readsRatesBeside(router) || isOn(router?.members.get("enable_pre_call_checks"));
}

function readsRatesBeside(router: ForeignNode | undefined): boolean {
  const strategy = textOf(router?.members.get("routing_strategy")) ?? "";
  const checks = router?.members.get("optional_pre_call_checks")?.items.map(textOf) ?? [];
  return strategy.startsWith("usage-based-routing") || checks.includes(RATE_CHECK);
}
