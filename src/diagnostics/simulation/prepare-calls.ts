// Prepares the calls of a traffic file for the engine: each is a request that passes the gateway's own parser and
// rules. Keys are not needed: every provider counts as enabled and has a placeholder credential.
import { withMembers } from "../../core/request/request-source.ts";
import { everyStage, type Prepared } from "../../engine/plan/stages.ts";
import { withCheckedEntries } from "../../engine/fit/entry-request.ts";
import type { Environment } from "../../config/environment.ts";
import type { ChatRequest } from "../../core/chat.ts";
import { camelCased } from "../../core/text/camel-case.ts";
import { systemClock } from "../../core/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import type { ProviderSettings, Snapshot } from "../../core/snapshot.ts";
import { FORMS } from "../../operations/forms.ts";
import { PROVIDER_FAMILIES } from "../../process/parts/provider-families.ts";
import {
  preparedCall,
  type PreparedCall,
  pricesFor,
  type SimulatedCall,
  simulatedPrincipal,
  withMetadata,
} from "../../simulation/simulated-call.ts";
import { type SimulatedOperation, writtenRequest } from "../../simulation/written-request.ts";
import { compileSnapshot } from "../../snapshot/compile.ts";
import type { Configuration } from "../../snapshot/configuration.ts";
import type { Identities } from "../../store/records.ts";
import type { CallEntry } from "./traffic-schema.ts";
import type { Finding } from "../../config/problem.ts";

export interface SimulatedConfiguration {
  readonly configuration: Configuration;
  readonly environment: Environment;
}

export interface PreparedCalls {
  /** Sorted by time. */
  readonly calls: readonly SimulatedCall[];
  /** All targets that any of the calls can reach. */
  readonly targets: ReadonlySet<string>;
  readonly snapshot: Snapshot;
  readonly findings: readonly Finding[];
}

/** `operation` is that of entries that name none. */
export function prepareCalls(
  entries: readonly CallEntry[],
  configuration: SimulatedConfiguration,
  operation: SimulatedOperation,
): PreparedCalls {
  const projects = entries.map(({ project, tenant }) => ({ id: project, tenantId: tenant, name: project }));
  const snapshot = simulatedSnapshot(configuration, projects);
  const findings: Finding[] = [];
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

/** The snapshot of a file, in which every provider counts as enabled and has a credential. */
export function simulatedSnapshot(
  { configuration, environment }: SimulatedConfiguration,
  projects: Identities["projects"],
): Snapshot {
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

/** As many trace ids stand for all those of calls that a share divides. */
const DRAWS = 1000;

type NamedEntry = CallEntry & { readonly operation: SimulatedOperation };

function callsOf(entry: NamedEntry, snapshot: Snapshot, targets: Set<string>): readonly SimulatedCall[] {
  const { at_ms: atMs, every_ms: everyMs, count, users } = entry;
  const request = withMetadata(
    withCheckedEntries(FORMS.get(entry.operation)!.parse(writtenRequest(camelCased(entry)), snapshot.limits.body)),
    (entry.metadata ?? null) as JsonObject | null,
  );
  // parsed once: thousands of users need not hold thousands of long prompts
  const kindOf = (number: number): SimulatedCall & PreparedCall =>
    callOf(
      users === undefined
        ? request
        : withMembers(request, { params: { ...request.params, user: `user-${(number % users) + 1}` } }),
      entry,
      snapshot,
      `${atMs}-${number}`,
    );
  const first = kindOf(0);
  const each = users ?? 1;
  const length = Math.min(count, first.isDividedByTrace ? each * Math.ceil(DRAWS / each) : each);
  const kinds = Array.from({ length }, (_, number) => (number === 0 ? first : kindOf(number)));
  for (const { prepared } of kinds) for (const name of targetsOf(prepared)) targets.add(name);
  return Array.from({ length: count }, (_, number) => ({
    ...kinds[number % kinds.length]!,
    atMs: atMs + number * everyMs,
  }));
}

/** Throws GatewayError. */
function callOf(
  request: ChatRequest,
  entry: NamedEntry,
  snapshot: Snapshot,
  traceId: string,
): SimulatedCall & PreparedCall {
  const principal = simulatedPrincipal({ tenantId: entry.tenant, projectId: entry.project });
  return {
    atMs: 0,
    asked: entry.route ?? entry.model!,
    tenant: entry.tenant,
    isStream: entry.stream,
    ...preparedCall(request, {
      operation: entry.operation,
      snapshot,
      principal,
      prices: pricesFor(snapshot, principal),
      policies: null,
      facts: { traceId, headers: new Headers(entry.headers), timeMs: systemClock.now() },
    }),
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
