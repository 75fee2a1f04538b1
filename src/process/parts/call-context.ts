// What calls need: opened with the other parts of a gateway that serves them, or alone for a run of the command line.
import { openLogins } from "../../auth/logins/logins.ts";
import { reportThreshold, thresholdWatch } from "../../admission/budget-thresholds.ts";
import { openMemoryLimits } from "../../admission/memory.ts";
import { openGuardServices } from "../../engine/guards/outside-guards.ts";
import { openGuardThreads } from "../../engine/guards/guard-threads.ts";
import { CallAudit } from "../../engine/call/call-audit.ts";
import type { ChatContext } from "../../engine/call/context.ts";
import { BackgroundRuns } from "../../engine/keeping/background-runs.ts";
import { durableStore } from "../../engine/keeping/durable-store.ts";
import { reasoningCarriers } from "../../engine/carriers/reasoning-carrier.ts";
import { openVendorObjects } from "../../engine/objects/vendor-objects.ts";
import { openLongTasks } from "../../engine/long-bodies/long-tasks.ts";
import { openLongRequests } from "../../engine/long-bodies/long-requests.ts";
import { OpenCopies } from "../../engine/mirror/copies.ts";
import { openRouting } from "../../engine/plan/open-routing.ts";
import { systemClock } from "../../core/clock.ts";
import { openCredentialProvider } from "../../credentials/credential-provider.ts";
import { NO_EVENTS } from "../../core/record/event.ts";
import { openToolServers } from "../../mcp/open-tool-servers.ts";
import type { Snapshot } from "../../core/snapshot.ts";
import { openTraffic } from "../../http/traffic.ts";
import type { Integrations } from "../../observe/integrations/integrations.ts";
import type { Metrics } from "../../observe/metrics/metrics.ts";
import { tracingOf } from "../../observe/tracing.ts";
import { providers } from "../../providers/registry.ts";
import { noLedger } from "../../store/journal/ledger.ts";
import type { ProxySettings } from "../../wire/http/http-proxy.ts";
import { ArgumentChecks } from "../../mcp/tool-arguments.ts";
import type { Base } from "./base.ts";
import type { Machine } from "./machine.ts";
import type { GatewayParts } from "./open-gateway-parts.ts";
import { openKept } from "./open-kept.ts";
import { type ExternalClients, openUpstream } from "./open-external-clients.ts";

/** What a process that serves calls has in common with its supervisor. */
export type ServingParts = GatewayParts<ExternalClients, Metrics, Integrations>;

interface ContextParts extends Pick<ChatContext, "routing" | "observer" | "traffic" | "cache"> {
  readonly machine: Machine | null;
  /** As `followedKeys` returns them. */
  readonly masterKeys: () => readonly Uint8Array[];
}

export async function openServingContext(
  base: Base,
  { storage, source, records, clients, notifications: { events, integrations }, metrics, limits }: ServingParts,
  { machine, masterKeys, routing, observer, traffic, cache }: ContextParts,
): Promise<ChatContext> {
  const { log, closing } = base;
  const { upstream, credentials, logins, toolServers, longBodies } = clients;
  const guards = openGuardThreads({
    onEnded: (why) => log.error({ error_detail: why }, "a worker thread of guards ended"),
  });
  closing.beside(() => guards.close());
  const kept = await openKept(base, masterKeys, source, machine?.kept ?? null);
  const background = new BackgroundRuns();
  // what they have made is kept before the stores are closed
  closing.add(() => background.close());
  const copies = new OpenCopies(openRouting(Math.random));
  closing.add(() => copies.close());
  const notes = new CallAudit(storage.store, (fault) =>
    log.error({ error_detail: String(fault) }, "the audit log lacks how many more calls were explained or replayed"),
  );
  closing.add(() => notes.close());
  return {
    clock: systemClock,
    snapshot: () => source.current(),
    providers,
    upstream,
    credentials,
    logins,
    routing,
    longRequests: openLongRequests(longBodies),
    longTasks: openLongTasks(longBodies),
    observer,
    integrations,
    tracing: tracingOf(source.configuration().integrations),
    events,
    toolServers,
    argumentChecks: new ArgumentChecks(),
    guards,
    guardServices: openGuardServices({
      upstream,
      clock: systemClock,
      allowPrivateAddresses: () => source.current().allowPrivateAddresses,
    }),
    ledger: records.ledger,
    traffic,
    copies,
    cache,
    kept,
    durable: durableStore(records.contents),
    audit: storage.store,
    notes,
    background,
    objects: openVendorObjects(storage.calls, systemClock, (thrown) =>
      log.error({ error_detail: String(thrown) }, "ids that a vendor handed out could not be kept"),
    ),
    carriers: reasoningCarriers(masterKeys),
    limits,
    onContentLost: (traceId, fault) =>
      log.error({ trace_id: traceId, error_detail: String(fault) }, "the content of a call could not be kept"),
    onCharged: thresholdWatch(limits, (crossed) => reportThreshold(crossed, { log, metrics, events })),
  };
}

/** What calls need without a server, for runs of the command line. Nothing is logged and nothing is stored. */
export function openCallContext(snapshot: Snapshot, upstreamProxy: ProxySettings | null): ChatContext {
  const traffic = openTraffic({ inc: () => {}, dec: () => {} }, () => null);
  const upstream = openUpstream(upstreamProxy, () => null);
  const credentials = openCredentialProvider({
    upstream,
    clock: systemClock,
    onRefused: () => {},
    onFailing: () => {},
    onLimited: () => {},
  });
  const logins = openLogins({ upstream, clock: systemClock, onFault: () => {} });
  const limits = openMemoryLimits({ clock: systemClock });
  const toolServers = openToolServers({
    clock: systemClock,
    upstream,
    allowPrivateAddresses: () => snapshot.allowPrivateAddresses,
    log: () => {},
  });
  return {
    clock: systemClock,
    snapshot: () => snapshot,
    providers,
    upstream,
    credentials,
    logins,
    routing: openRouting(Math.random),
    longRequests: null,
    longTasks: null,
    observer: { publish: () => {} },
    integrations: null,
    tracing: null,
    events: NO_EVENTS,
    toolServers,
    argumentChecks: new ArgumentChecks(),
    guards: openGuardThreads({ onEnded: () => {} }),
    guardServices: openGuardServices({
      upstream,
      clock: systemClock,
      allowPrivateAddresses: () => snapshot.allowPrivateAddresses,
    }),
    ledger: noLedger,
    traffic,
    copies: null,
    cache: null,
    kept: null,
    durable: null,
    audit: null,
    notes: null,
    background: null,
    objects: null,
    carriers: reasoningCarriers(() => []),
    limits,
    onCharged: () => {},
  };
}
