// Prepares the calls of a traffic file for the engine: each is a request that passes the gateway's own parser and
// rules. Keys are not needed: every provider counts as enabled and has a placeholder credential.
import { reasoningCarriers } from "../../chat/carriers/reasoning-carrier.ts";
import { CallPrices } from "../../chat/metering/call-prices.ts";
import { withMembers } from "../../core/request-source.ts";
import { everyStage, prepare, type Prepared } from "../../chat/plan/stages.ts";
import type { PlannedCall } from "../../chat/plan/candidate.ts";
import { withCheckedEntries } from "../../chat/fit/entry-request.ts";
import type { Environment } from "../../config/environment.ts";
import type { ChatRequest } from "../../core/chat.ts";
import { systemClock } from "../../core/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Principal } from "../../core/identity.ts";
import type { ProviderSettings, Snapshot } from "../../core/snapshot.ts";
import { FORMS } from "../../operations/forms.ts";
import { PROVIDER_FAMILIES } from "../../gateway-parts/provider-families.ts";
import { providers } from "../../providers/registry.ts";
import { compileSnapshot } from "../../snapshot/compile.ts";
import type { Configuration } from "../../snapshot/configuration.ts";
import type { CallEntry, SimulatedOperation } from "./traffic-schema.ts";

export interface SimulatedConfiguration {
  readonly configuration: Configuration;
  readonly environment: Environment;
}

/** One call of the simulation; calls of one entry and user share what was prepared. */
export interface SimulatedCall {
  readonly atMs: number;
  /** The route or model that the call asked for. */
  readonly asked: string;
  readonly tenant: string;
  readonly isStream: boolean;
  readonly prepared: Prepared;
  readonly timeoutMs: number;
  readonly hasOwnTimeout: boolean;
}

export interface PreparedCalls {
  /** Sorted by time. */
  readonly calls: readonly SimulatedCall[];
  /** All targets that any of the calls can reach. */
  readonly targets: ReadonlySet<string>;
  readonly snapshot: Snapshot;
  readonly findings: readonly { readonly path: readonly (string | number)[]; readonly message: string }[];
}

/** `operation` is that of entries that name none. */
export function prepareCalls(
  entries: readonly CallEntry[],
  configuration: SimulatedConfiguration,
  operation: SimulatedOperation,
): PreparedCalls {
  const snapshot = snapshotFor(entries, configuration);
  const findings: { readonly path: readonly (string | number)[]; readonly message: string }[] = [];
  const calls: SimulatedCall[] = [];
  const targets = new Set<string>();
  entries.forEach((entry, at) => {
    try {
      for (const call of callsOf({ ...entry, operation: entry.operation ?? operation }, snapshot, targets))
        calls.push(call);
    } catch (thrown) {
      if (!(thrown instanceof GatewayError)) throw thrown;
      findings.push({ path: ["calls", at, ...pathOf(thrown.param, entry)], message: thrown.message });
    }
  });
  return { calls: calls.toSorted((a, b) => a.atMs - b.atMs), targets, snapshot, findings };
}

/** A credential that needs no exchange, so that a configured provider is not skipped because it has no credential. */
const PLACEHOLDER = { kind: "key", secret: "simulated", weight: 1, fromCaller: false } as const;

function snapshotFor(entries: readonly CallEntry[], { configuration, environment }: SimulatedConfiguration): Snapshot {
  const projects = entries.map(({ project, tenant }) => ({ id: project, tenantId: tenant, name: project }));
  const snapshot = compileSnapshot({
    configuration,
    identities: { tenants: [], projects, users: [], memberships: [], tokens: [] },
    families: PROVIDER_FAMILIES,
    environment,
    version: 0,
  });
  const enabled = (settings: ProviderSettings): ProviderSettings => ({
    ...settings,
    enabled: true,
    credentials: settings.credentials.length > 0 ? settings.credentials : [PLACEHOLDER],
  });
  return { ...snapshot, providers: new Map([...snapshot.providers].map(([id, settings]) => [id, enabled(settings)])) };
}

type NamedEntry = CallEntry & { readonly operation: SimulatedOperation };

function callsOf(entry: NamedEntry, snapshot: Snapshot, targets: Set<string>): readonly SimulatedCall[] {
  const { at_ms: atMs, every_ms: everyMs, count, users } = entry;
  const request = withCheckedEntries(FORMS.get(entry.operation)!.parse(bodyOf(entry), snapshot.limits.body));
  // parsed once: thousands of users need not hold thousands of long prompts
  const kinds = Array.from({ length: Math.min(users ?? 1, count) }, (_, number) =>
    callOf(
      users === undefined
        ? request
        : withMembers(request, { params: { ...request.params, user: `user-${number + 1}` } }),
      entry,
      snapshot,
    ),
  );
  for (const { prepared } of kinds) for (const name of targetsOf(prepared)) targets.add(name);
  return Array.from({ length: count }, (_, number) => ({
    ...kinds[number % kinds.length]!,
    atMs: atMs + number * everyMs,
  }));
}

/** Throws GatewayError. */
function callOf(request: ChatRequest, entry: NamedEntry, snapshot: Snapshot): SimulatedCall {
  const ownMs = request.options.timeoutMs;
  let timeoutMs = ownMs ?? snapshot.limits.defaultTimeoutMs;
  const call: PlannedCall = {
    snapshot,
    context: { providers, carriers: reasoningCarriers([]) },
    meter: {
      prices: new CallPrices({
        snapshot,
        clock: systemClock,
        tenantId: entry.tenant,
        projectId: entry.project,
        mayPrice: false,
      }),
    },
    record: { operation: entry.operation },
    policies: null,
    // what a vendor knows is not simulated
    objects: { references: [], placedAt: (resolved) => resolved, vendorIdOf: () => null },
    deadline: {
      boundByRoute: (totalMs) => {
        if (totalMs !== null && ownMs === null) timeoutMs = Math.min(timeoutMs, totalMs);
      },
    },
    recorder: { targeted: () => {}, fitted: () => {} },
  };
  const prepared = prepare(request, principalOf(entry), new Headers(), call);
  return {
    atMs: 0,
    asked: entry.route ?? entry.model!,
    tenant: entry.tenant,
    isStream: entry.stream,
    prepared,
    timeoutMs,
    hasOwnTimeout: ownMs !== null,
  };
}

/** A word with its space is about one token. */
const FILLER = "word ";

function bodyOf(entry: NamedEntry): string {
  const {
    route,
    model,
    stream,
    user,
    prompt_tokens: promptTokens,
    max_tokens: maxTokens,
    num_retries: retries,
    fallbacks,
    timeout_ms: timeoutMs,
    operation,
  } = entry;
  const own = {
    route,
    num_retries: retries,
    fallbacks,
    timeout: timeoutMs === undefined ? undefined : timeoutMs / 1000,
  };
  const written = WRITTEN[operation](FILLER.repeat(promptTokens).trimEnd(), maxTokens);
  const streamed = STREAMED.has(operation) ? { stream } : {};
  return JSON.stringify(
    operation === "chat.completions"
      ? { model, ...written, ...streamed, user, ...own }
      : { model, ...written, ...streamed, ...(NAMES_USERS.has(operation) && { user }), x_gateway: own },
  );
}

/** The text of a call and the bound of its answer, as each operation has them. */
const WRITTEN: Readonly<Record<SimulatedOperation, (text: string, bound: number | undefined) => object>> = {
  "chat.completions": (content, bound) => ({
    messages: [{ role: "user", content }],
    max_completion_tokens: bound,
  }),
  responses: (input, bound) => ({ input, max_output_tokens: bound }),
  messages: (content, bound = DEFAULT_BOUND) => ({ messages: [{ role: "user", content }], max_tokens: bound }),
  completions: (prompt, bound) => ({ prompt, max_tokens: bound }),
  embeddings: (input) => ({ input }),
  rerank: (text) => ({ query: text, documents: [text] }),
  moderations: (input) => ({ input }),
};
/** Messages have to say a bound. */
const DEFAULT_BOUND = 1024;
const STREAMED: ReadonlySet<SimulatedOperation> = new Set(["chat.completions", "responses", "messages", "completions"]);
/** The form of messages has the user in its metadata. */
const NAMES_USERS: ReadonlySet<SimulatedOperation> = new Set(["responses", "completions", "embeddings"]);

function principalOf({ tenant, project }: CallEntry): Principal {
  return {
    tokenId: "simulated",
    tokenKind: "project",
    tenantId: tenant,
    projectId: project,
    userId: null,
    role: "developer",
    permissions: new Set(),
    restrictions: null,
  };
}

function targetsOf(prepared: Prepared): readonly string[] {
  return [...everyStage(prepared)].flatMap((stage) => stage.candidates.map(({ target }) => target.name));
}

/** The path of the faulty field as the file names it; empty, for the whole entry, when the file has no such field. */
function pathOf(param: string | null, entry: CallEntry): readonly string[] {
  const own = /^\w+/.exec((param ?? "").replace(/^x_gateway\./, ""))?.[0] ?? "";
  const name = own === "timeout" ? "timeout_ms" : own;
  return Object.hasOwn(entry, name) && entry[name as keyof CallEntry] !== undefined ? [name] : [];
}
