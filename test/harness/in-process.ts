// A whole call without sockets: the real handler, with a snapshot and an upstream of the test. For tests of many calls,
// or with a simulated clock.
import type { VendorObjects } from "../../src/engine/objects/vendor-objects.ts";
import { reasoningCarriers } from "../../src/engine/carriers/reasoning-carrier.ts";
import { openGuardServices } from "../../src/engine/guards/outside-guards.ts";
import type { GuardThreads } from "../../src/engine/guards/guard-threads.ts";
import { patientGuards } from "./patient-guards.ts";
import { openLogins } from "../../src/auth/logins/logins.ts";
import { newAccessToken } from "../../src/auth/tokens/access-token.ts";
import { openMemoryLimits } from "../../src/admission/memory.ts";
import { type CrossedThreshold, thresholdWatch } from "../../src/admission/budget-thresholds.ts";
import type { ResponseCache } from "../../src/cache/response-cache.ts";
import type { ChatContext, Copies } from "../../src/engine/call/context.ts";
import { openRouting } from "../../src/engine/plan/open-routing.ts";
import type { LongTasks } from "../../src/engine/long-bodies/long-tasks.ts";
import type { LongRequests } from "../../src/engine/long-bodies/long-requests.ts";
import { BackgroundRuns } from "../../src/engine/keeping/background-runs.ts";
import type { DurableStore } from "../../src/engine/keeping/durable-store.ts";
import type { KeptStore } from "../../src/engine/keeping/kept-store.ts";
import { handleCall } from "../../src/engine/handle.ts";
import type { Operation } from "../../src/engine/operation.ts";
import { CHAT_COMPLETIONS } from "../../src/operations/chat/chat-completions.ts";
import { LEAST_BODY_BOUNDS } from "../../src/core/request/body-bounds.ts";
import type { Clock } from "../../src/core/clock.ts";
import type { StoredCredential } from "../../src/core/configured/credential.ts";
import type { AccessToken, Permission } from "../../src/core/identity.ts";
import { NO_LIMITS } from "../../src/core/configured/limit.ts";
import type { CallRecord } from "../../src/core/record/record.ts";
import { NO_TOOL_SERVERS } from "../../src/core/configured/tool.ts";
import { noToolServers } from "../../src/mcp/tool-servers.ts";
import { NO_EVENTS, NO_WEBHOOKS } from "../../src/core/record/event.ts";
import { DIRECT_ROUTE, directRoute } from "../../src/core/configured/route.ts";
import type { ProviderSettings, ServerLimits, Snapshot } from "../../src/core/snapshot.ts";
import type { Tracing } from "../../src/core/record/trace.ts";
import { openTraffic } from "../../src/http/traffic.ts";
import type { Provider } from "../../src/providers/interface/provider.ts";
import { providers } from "../../src/providers/registry.ts";
import { createSandboxUpstream, type ReadElsewhere, SANDBOX_SCHEME } from "../../src/providers/sandbox/upstream.ts";
import { type Ledger, noLedger } from "../../src/store/journal/ledger.ts";
import { readBytes, decodeUtf8 } from "../../src/wire/body-bytes.ts";
import { type UpstreamClient, UpstreamFault, type UpstreamRequest } from "../../src/wire/upstream.ts";
import { openCredentialProvider, type RefusedCredential } from "../../src/credentials/credential-provider.ts";
import type { FakeToolServers } from "./tools/fake-tools.ts";
import { providerSettings, storedKey, targetFor } from "./targets.ts";
import { ArgumentChecks } from "../../src/mcp/tool-arguments.ts";
import { sampleToken } from "./sample-tokens.ts";

export const LIMITS: ServerLimits = {
  maxBodyBytes: 33_554_432,
  body: LEAST_BODY_BOUNDS,
  bodyTimeoutMs: 60_000,
  maxConcurrentCalls: 10_000,
  maxConcurrentCallsPerTenant: null,
  maxLiveTokens: 1000,
  maxHeldBytes: 1024 * 1_048_576,
  maxAnswerBytes: 67_108_864,
  maxEventBytes: 16_777_216,
  defaultTimeoutMs: 600_000,
  connectTimeoutMs: 10_000,
  firstByteTimeoutMs: 600_000,
  betweenBytesTimeoutMs: 300_000,
  headHoldMs: 10_000,
  keepAliveMs: 15_000,
  drainMs: 30_000,
};

interface CallInit {
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
  readonly peer?: string;
  readonly keepOpen?: () => void;
}

export interface Stub {
  /** The token has byo_endpoint, unless this says otherwise. */
  chat(body: unknown, init?: CallInit): Promise<Response>;
  /** The same of any operation. */
  call(operation: Operation, body: unknown, init?: CallInit): Promise<Response>;
  /** The `Authorization` that goes along. */
  readonly authorization: string;
  /** Requests that went upstream, in order. */
  readonly sent: readonly UpstreamRequest[];
  readonly records: readonly CallRecord[];
  /** Credentials that were set aside. */
  readonly refused: readonly RefusedCredential[];
  /** Thresholds of budgets that were reported. */
  readonly crossed: readonly CrossedThreshold[];
  readonly context: ChatContext;
}

export interface StubOptions {
  /** Where guards look at what takes long; threads of its own, if left out. */
  readonly guards?: GuardThreads;
  readonly upstream?: UpstreamClient;
  readonly permissions?: readonly Permission[];
  /** What is different about the token of its calls. */
  readonly token?: Partial<AccessToken>;
  readonly clock?: Clock;
  readonly limits?: Partial<ServerLimits>;
  readonly snapshot?: Partial<Snapshot>;
  /** Implementations; the registry's, if left out. */
  readonly families?: ReadonlyMap<string, Provider>;
  /** Providers with a stored key; by default every family with the key `stored-key`. */
  readonly providers?: readonly ProviderSettings[];
  /** The default providers may store answers at the vendor. */
  readonly vendorStore?: true;
  /** Calls are not traced, if left out. */
  readonly tracing?: Tracing;
  /** Servers of tools that calls may use; none, if left out. */
  readonly tools?: FakeToolServers;
  /** Answers are not kept, if left out. */
  readonly cache?: ResponseCache;
  /** Nothing is known of ids of vendors, if left out. */
  readonly objects?: VendorObjects;
  /** No call is copied to a mirror, if left out. */
  readonly copies?: Copies;
  /** Operations keep nothing of calls, if left out. */
  readonly kept?: KeptStore<unknown>;
  readonly durable?: DurableStore;
  readonly audit?: ChatContext["audit"];
  /** Explanations and replays are written down nowhere, if left out. */
  readonly notes?: ChatContext["notes"];
  /** Keeps nothing, if left out. */
  readonly ledger?: Ledger;
  /** Long requests are parsed and written in this thread, if left out. */
  readonly longRequests?: LongRequests;
  readonly readElsewhere?: ReadElsewhere;
  /** Long answers are read and written in this thread, if left out. */
  readonly longTasks?: LongTasks;
  /** What `chat` calls; chat completions, if left out. */
  readonly operation?: Operation;
  /** Why no call may run now; never, if left out. */
  readonly refusal?: () => string | null;
}

/** A token of the project `default` that never expires, and its text. */
export function projectToken(of: Partial<AccessToken> = {}): { readonly token: AccessToken; readonly text: string } {
  const { id, text, sha256 } = newAccessToken("project");
  const token: AccessToken = sampleToken({
    id,
    tenantId: "default",
    projectId: "default",
    secrets: [{ sha256, retiresAtMs: null }],
    createdAtMs: 0,
    expiresAtMs: Number.MAX_SAFE_INTEGER,
    ...of,
  });
  return { token, text };
}

export function stubGateway(options: StubOptions = {}): Stub {
  const { token, text } = projectToken({ permissions: options.permissions ?? ["byo_endpoint"], ...options.token });
  const settings =
    options.providers ??
    [...providers.values()].map((provider) =>
      providerSettings({
        id: provider.id,
        baseUrl: provider.baseUrl ?? "https://provider.test/v1",
        credentials: storedFor(provider),
        settings: targetFor(provider).settings,
        ...(options.vendorStore === true && { vendorStore: true }),
      }),
    );
  const snapshot: Snapshot = {
    version: 1,
    tokens: new Map([[token.id, token]]),
    projects: new Map([["default", { id: "default", tenantId: "default", name: "default" }]]),
    memberships: new Map(),
    providers: new Map(settings.map((one) => [one.id, one])),
    tenantProviders: new Map(),
    projectProviders: new Map(),
    settings: { dropParams: null, disableStopSequenceLimit: null },
    tenantSettings: new Map(),
    projectSettings: new Map(),
    // a failure is reported at once: tests of retries configure them
    routes: new Map([[DIRECT_ROUTE, { ...directRoute({ name: "", providerId: "", model: "" }), retries: 0 }]]),
    tenantRoutes: new Map(),
    projectRoutes: new Map(),
    prices: { global: null, tenants: new Map(), projects: new Map() },
    policies: { of: () => null, sourcesOf: () => [] },
    drains: new Map(),
    contentLogs: new Map(),
    toolServers: options.tools?.set ?? NO_TOOL_SERVERS,
    webhooks: NO_WEBHOOKS,
    limitRules: NO_LIMITS,
    allowPrivateAddresses: true,
    limits: { ...LIMITS, ...options.limits },
    proxyTrust: null,
    conditionHeaders: [],
    logins: [],
    users: new Map(),
    operators: new Map<string, string>(),
    tokensByHash: new Map(),
    loginUsers: new Map(),
    corsOrigins: [],
    opsOpen: false,
    ...options.snapshot,
  };
  const sent: UpstreamRequest[] = [];
  const records: CallRecord[] = [];
  const refused: RefusedCredential[] = [];
  const crossed: CrossedThreshold[] = [];
  const clock = options.clock ?? { now: () => 1_767_225_600_000, monotonic: () => performance.now() };
  const sandbox = createSandboxUpstream(options.readElsewhere ?? (() => null));
  const upstream: UpstreamClient = {
    send: (request, call) => {
      sent.push(request);
      return (request.url.startsWith(SANDBOX_SCHEME) ? sandbox : (options.upstream ?? NO_UPSTREAM)).send(request, call);
    },
  };
  const limits = openMemoryLimits({ clock });
  const context: ChatContext = {
    clock,
    limits,
    carriers: reasoningCarriers(() => MASTER_KEYS),
    onCharged: thresholdWatch(limits, (one) => crossed.push(one)),
    snapshot: () => snapshot,
    providers: options.families ?? providers,
    upstream,
    guards: options.guards ?? patientGuards(),
    guardServices: openGuardServices({
      upstream,
      clock,
      allowPrivateAddresses: () => snapshot.allowPrivateAddresses,
    }),
    credentials: openCredentialProvider({
      upstream,
      clock,
      onRefused: (one) => refused.push(one),
      onFailing: () => {},
      onLimited: () => {},
    }),
    logins: openLogins({ upstream, clock, onFault: () => {} }),
    routing: openRouting(Math.random),
    longRequests: options.longRequests ?? null,
    longTasks: options.longTasks ?? null,
    observer: { publish: (record) => records.push(structuredClone(record)) },
    tracing: options.tracing ?? null,
    integrations: null,
    events: NO_EVENTS,
    toolServers: options.tools?.toolServers ?? noToolServers,
    argumentChecks: new ArgumentChecks(),
    ledger: options.ledger ?? noLedger,
    cache: options.cache ?? null,
    kept: options.kept ?? null,
    durable: options.durable ?? null,
    audit: options.audit ?? null,
    notes: options.notes ?? null,
    background: new BackgroundRuns(),
    objects: options.objects ?? null,
    copies: options.copies ?? null,
    traffic: openTraffic({ inc: () => {}, dec: () => {} }, options.refusal ?? (() => null)),
  };
  return {
    sent,
    records,
    crossed,
    refused,
    context,
    authorization: `Bearer ${text}`,
    chat: (body, init = {}) => callOf(options.operation ?? CHAT_COMPLETIONS, body, init),
    call: callOf,
  };
  function callOf(operation: Operation, body: unknown, init: CallInit = {}): Promise<Response> {
    const payload = typeof body === "string" || body instanceof Uint8Array ? (body as string) : JSON.stringify(body);
    return handleCall(
      operation,
      new Request("http://gateway.test/api/v1/of-the-operation", {
        method: "POST",
        headers: {
          authorization: `Bearer ${text}`,
          "content-type": "application/json",
          "content-length": String(Buffer.byteLength(payload)),
          ...init.headers,
        },
        body: payload,
        ...(init.signal && { signal: init.signal }),
      }),
      context,
      {
        requestIP: () => (init.peer === undefined ? null : { address: init.peer }),
        ...(init.keepOpen && { keepOpen: init.keepOpen }),
      },
    );
  }
}

/** A cloud without keys is called with a key pair or a token, and a provider that needs a credential is never called without one. */
function storedFor({ keyVariables, credentials }: Provider): readonly StoredCredential[] {
  const operators = { weight: 1, fromCaller: false } as const;
  if (credentials.includes("key") && keyVariables.length > 0) return [storedKey("stored-key")];
  if (credentials.every((form) => form === "key")) return [];
  if (credentials.includes("aws"))
    return [
      { kind: "aws_keys", accessKeyId: "stored-id", secretAccessKey: "stored-half", sessionToken: null, ...operators },
    ];
  return [{ kind: "token", secret: "stored-token", ...operators }];
}

/** Of carriers of reasoning. */
const MASTER_KEYS = [new Uint8Array(32)];

const NO_UPSTREAM: UpstreamClient = {
  send: () => Promise.reject(new UpstreamFault("connection", "this test has no upstream")),
};

export interface CannedAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  /** Bytes of each read; whole: one read; event: at the blank lines. */
  readonly chunk?: number | "whole" | "event";
  /** The connection breaks after so many bytes. */
  readonly cutAt?: number;
}

/** An upstream that gives one answer to everything, in pieces. */
export function cannedUpstream(answer: CannedAnswer | ((request: UpstreamRequest) => CannedAnswer)): UpstreamClient {
  return {
    send: (request) => {
      const {
        status = 200,
        headers = {},
        body,
        chunk = "whole",
        cutAt,
      } = typeof answer === "function" ? answer(request) : answer;
      const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
      const pieces = piecesOf(cutAt === undefined ? bytes : bytes.subarray(0, cutAt), chunk);
      let next = 0;
      const read = (): Promise<Uint8Array | null> => {
        if (next < pieces.length) return Promise.resolve(pieces[next++]!);
        return cutAt === undefined
          ? Promise.resolve(null)
          : Promise.reject(new UpstreamFault("cut", "the connection broke off"));
      };
      return Promise.resolve({
        status,
        header: (name) => headers[name] ?? null,
        body: {
          read,
          bytes: (maxBytes) => readBytes({ read }, maxBytes, () => {}),
          text: async (maxBytes) => decodeUtf8(await readBytes({ read }, maxBytes, () => {})),
          accept: () => {},
          cancel: () => {},
        },
      });
    },
  };
}

function piecesOf(bytes: Uint8Array, chunk: number | "whole" | "event"): readonly Uint8Array[] {
  if (bytes.length === 0) return [];
  if (chunk === "whole") return [bytes];
  if (chunk === "event")
    return Buffer.from(bytes)
      .toString("latin1")
      .split(/(?<=\r\n\r\n|\n\n)/)
      .map((piece) => Buffer.from(piece, "latin1"));
  return Array.from({ length: Math.ceil(bytes.length / chunk) }, (_, index) =>
    bytes.subarray(index * chunk, (index + 1) * chunk),
  );
}
