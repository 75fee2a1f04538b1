// The labels of all metrics: what their values mean, and how many there can be. A caller cannot create a value: each
// one is a fixed word of the code, or a name that the operator or an administrator has configured. Names beyond the
// bound count as `other`.
import { OPERATION_NAMES } from "../../core/operation.ts";

export interface Label {
  /** The meaning of its values, for docs/metrics.md. */
  readonly values: string;
  /** The maximum number of values; `null` when the values are the fixed words that `values` lists. */
  readonly most: number | null;
}

/** The number of names of each kind that are distinguished, besides `other` and `none`. */
export const MOST = {
  configuredModel: 250,
  cataloguedModel: 150,
  provider: 150,
  route: 200,
  rule: 500,
  server: 100,
  integration: 30,
} as const;

export const LABELS: Readonly<Record<string, Label>> = {
  provider: {
    values: "Id of a provider of the catalogue or of the configuration; `none` if the call failed before it was known.",
    most: MOST.provider,
  },
  model: {
    values:
      "Name of a model that a route or `models` of its provider names, or that the bundled catalogue lists for a provider in use; a name that begins like one of these counts as that one. `other` for all other names, `none` if the call failed before it was known.",
    most: MOST.configuredModel + MOST.cataloguedModel,
  },
  target: {
    values: "`<provider>:<model>` of a model as above that has answered or whose breaker is open.",
    most: MOST.configuredModel + MOST.cataloguedModel,
  },
  route: {
    values: "Name of a route; `direct` if the call named a model, `none` if the call failed before it was known.",
    most: MOST.route,
  },
  operation: {
    values: "Name of an operation, such as `chat.completions`; `unserved` for one that the gateway does not serve.",
    most: OPERATION_NAMES.length + 1,
  },
  status: { values: "Status that the client got, or would have got if its stream had not begun.", most: 60 },
  stream: { values: "`true`, `false`.", most: null },
  code: {
    values:
      "Error code of the catalogue; for an attempt also `none` if it succeeded, and `superseded` if another attempt of the same call was faster or a parallel request failed, and `client_closed` if the client left.",
    most: 100,
  },
  kind: { values: "`prompt`, `completion`.", most: null },
  outcome: {
    values:
      "For a call `ok`, `refused` (4xx), `failed` (5xx), `cancelled`; for a copy for a mirror `ok`, `failed`, `dropped`; for a tool `ok`, `error` (reported by the tool), `failed`; for a delivery attempt to a webhook `delivered`, `failed`; for a connection to a tool server `connected`, `refused`, `lost`.",
    most: null,
  },
  event: { values: "Type of an event: [integrations/webhooks.md](integrations/webhooks.md).", most: 20 },
  where: { values: "`memory`, `queue`.", most: null },
  server: {
    values: "Label of a registered tool server; `other` for servers that a call names by address.",
    most: MOST.server,
  },
  limit: { values: "Id of a limit or budget.", most: MOST.rule },
  budget: { values: "Id of a budget.", most: MOST.rule },
  name: { values: "Name of the budget.", most: MOST.rule },
  rule: { values: "Id of a limit or budget, name of a policy, or `none`.", most: MOST.rule },
  policy: { values: "Name of a policy.", most: MOST.rule },
  cache: { values: "`hit`, `miss`, `bypass`.", most: null },
  effect: { values: "`denied`, `would_deny`, `masked`, `failed`.", most: null },
  state: { values: "`closed` (healthy), `half_open`, `open`, `rate_limited`.", most: null },
  answered: { values: "`true`, `false`.", most: null },
  receiver: { values: "`supervisor`, `workers`.", most: null },
  configuration: { values: "`same`, `different`.", most: null },
  way: { values: "`leased`, `asked`, `alone`.", most: null },
  integration: { values: "Name of an integration.", most: MOST.integration },
  type: { values: "Type of an integration, such as `json_lines`.", most: 10 },
  reason: {
    values:
      "Why a call was not delivered: `queue_full`, `handover` (the thread does not keep up), `refused`, `given_up`, `thread_ended`, `shutdown`.",
    most: null,
  },
  unit: { values: "`requests`, `tokens`, `concurrency`, `nano_usd`.", most: null },
};

/** The first `most` names become labels of their own. */
export function bounded(most: number): (name: string) => string {
  const names = new Set<string>();
  return (name) => {
    if (names.has(name)) return name;
    if (names.size >= most) return "other";
    names.add(name);
    return name;
  };
}
