// A gateway with limits and budgets over upstreams that answer as the test asks, with queries for tests of limits.
import { afterEach, expect } from "bun:test";
import { compileLimits } from "../../src/admission/compile-limits.ts";
import { budgetSchema, limitSchema } from "../../src/admission/settings.ts";
import type { Configured } from "../../src/core/configured/configured.ts";
import type { LimitSet } from "../../src/core/configured/limit.ts";
import type { ProviderSettings } from "../../src/core/snapshot.ts";
import type { StubOptions } from "./in-process.ts";
import { type Routed, routedGateway, UPSTREAMS } from "./routed.ts";
import { providerSettings, storedKey } from "./targets.ts";

export interface Rules {
  /** By name, as the admin API takes them; of the project, unless `tenantWide` names them. */
  readonly limits?: Readonly<Record<string, object>>;
  readonly budgets?: Readonly<Record<string, object>>;
  readonly tenantWide?: readonly string[];
}

export function limitSet({ limits = {}, budgets = {}, tenantWide = [] }: Rules): LimitSet {
  const configured = <T>(name: string, document: T): Configured<T> => ({
    id: `id_${name}`,
    name,
    tenantId: "default",
    projectId: tenantWide.includes(name) ? null : "default",
    origin: "store",
    setBy: null,
    version: 1,
    document,
  });
  return compileLimits({
    limits: Object.entries(limits).map(([name, document]) => configured(name, limitSchema.parse(document))),
    budgets: Object.entries(budgets).map(([name, document]) => configured(name, budgetSchema.parse(document))),
  });
}

/** One dollar for a million tokens of prompt, two for the answer's, of each model called `m`; `free` costs nothing; no other has a price. */
const PRICED = ["m", "dear"].map((id) => ({
  id,
  name: null,
  contextLength: null,
  maxCompletionTokens: null,
  pricing: id === "m" ? { prompt: "0.000001", completion: "0.000002" } : { prompt: "0.001", completion: "0.001" },
}));
const FREE = {
  id: "free",
  name: null,
  contextLength: null,
  maxCompletionTokens: null,
  pricing: { prompt: "0", completion: "0" },
};
const SMALL = { id: "small", name: null, contextLength: null, maxCompletionTokens: 50, pricing: null };

const PROVIDERS: readonly ProviderSettings[] = UPSTREAMS.map((id) => ({
  ...providerSettings({
    id,
    family: "custom",
    baseUrl: `http://${id}.test/v1`,
    credentials: [storedKey(`key-of-${id}`)],
  }),
  models: [...PRICED, FREE, SMALL],
}));

export function limitedGateway(
  rules: Rules,
  routes: Parameters<typeof routedGateway>[0] = [],
  scripts: Parameters<typeof routedGateway>[1] = {},
  options: StubOptions = {},
): Routed {
  const gateway = routedGateway(routes, scripts, {
    providers: PROVIDERS,
    ...options,
    snapshot: { ...options.snapshot, limitRules: limitSet(rules) },
  });
  gateways.push(gateway);
  return gateway;
}

/** Whatever a test was about, its calls have left no reservation behind. */
const gateways: Routed[] = [];
afterEach(() => {
  for (const gateway of gateways.splice(0)) expectNothingOpen(gateway);
});

export interface Heard {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Of an answer that is JSON. */
  readonly body: any;
}

export async function ask(
  gateway: Routed,
  fields: object = {},
  init: { readonly signal?: AbortSignal } = {},
): Promise<Heard> {
  const response = await gateway.chat(
    { model: "up0:m", messages: [{ role: "user", content: "Hello" }], ...fields },
    init,
  );
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: text.startsWith("{") ? JSON.parse(text) : null,
  };
}

/** No reservation is left open by whatever has happened. */
export function expectNothingOpen({ context }: Routed): void {
  expect(context.limits.open()).toBe(0);
}
