// Opens the clients through which calls reach others: providers, issuers of tokens and logins, tool servers.
import { openLogins } from "../../auth/logins/logins.ts";
import { openLongBodyThread } from "../../engine/long-bodies/long-body-thread.ts";
import { openLongSandboxRequests } from "../../engine/long-bodies/long-sandbox-requests.ts";
import { systemClock } from "../../core/clock.ts";
import type { ServerLimits } from "../../core/snapshot.ts";
import { type RefusedCredential, openCredentialProvider } from "../../credentials/credential-provider.ts";
import { openToolServers } from "../../mcp/open-tool-servers.ts";
import { longBodyProgram } from "../../operations/long-body-program.ts";
import { type ReadElsewhere, SANDBOX_SCHEME, createSandboxUpstream } from "../../providers/sandbox/upstream.ts";
import type { SnapshotSource } from "../../snapshot/source.ts";
import type { ProxySettings } from "../../wire/http/http-proxy.ts";
import { createSocketUpstream } from "../../wire/http/upstream-socket.ts";
import type { UpstreamClient } from "../../wire/upstream.ts";
import type { Base } from "./base.ts";
import type { Machine } from "./machine.ts";

/** The connection of its client and that to its target. */
const DESCRIPTORS_OF_A_CALL = 2;
const OTHER_DESCRIPTORS = 1000;
const SHORTAGE =
  "calls are refused, because the gateway has no file descriptor left: raise its limit of open files (ulimit -n, LimitNOFILE) to what is needed for server.max_concurrent_calls, or lower that";
const SHORTAGE_EVERY_MS = 60_000;

export type ExternalClients = ReturnType<typeof openExternalClients>;

export function openExternalClients({ options, log, closing }: Base, source: SnapshotSource, machine: Machine | null) {
  /** The thread in which long bodies are read, which is at the other end of the sandbox. */
  const longBodies = openLongBodyThread(longBodyProgram());
  closing.add(() => longBodies.close());
  const onShortage = atMostEvery(SHORTAGE_EVERY_MS, () =>
    log.warn({ needed: descriptorsNeeded(source.current().limits) }, SHORTAGE),
  );
  const upstream = openUpstream(options.upstreamProxy, openLongSandboxRequests(longBodies), onShortage);
  const credentials = openCredentialProvider({
    upstream,
    clock: systemClock,
    onRefused(refused, news) {
      const { reason, forMs } = refused;
      log.warn(
        { ...credentialFields(refused), reason, minutes: forMs / 60_000 },
        "a credential was refused and is not used for a while",
      );
      machine?.credentialRefused(news);
    },
    onFailing: (failing) =>
      log.warn(
        { ...credentialFields(failing), error_detail: failing.detail },
        "no token can be obtained for a credential",
      ),
    // the row of the call says it, so that the log needs no line
    onLimited: (news) => machine?.credentialRefused(news),
  });
  const logins = openLogins({
    upstream,
    clock: systemClock,
    onFault: (message) => log.warn({ source: "oidc" }, message),
  });
  const toolServers = openToolServers({
    clock: systemClock,
    upstream,
    allowPrivateAddresses: () => source.current().allowPrivateAddresses,
    log: (level, message, fields) => log[level](fields, message),
    slots: machine?.slots,
  });
  toolServers.configured(source.current().toolServers.keys);
  closing.beside(() => toolServers.close());
  return { upstream, credentials, logins, toolServers, longBodies };
}

/** The log shows no more of a credential than its last four characters. */
function credentialFields({
  providerId,
  kind,
  lastFour,
}: Pick<RefusedCredential, "providerId" | "kind" | "lastFour">): Readonly<Record<string, unknown>> {
  return { provider: providerId, credential: lastFour === null ? kind : `${kind} …${lastFour}` };
}

/** For the most calls that may be in flight, with the rest that docs/sizing.md counts. */
function descriptorsNeeded({ maxConcurrentCalls }: ServerLimits): number {
  return DESCRIPTORS_OF_A_CALL * maxConcurrentCalls + OTHER_DESCRIPTORS;
}

function atMostEvery(ms: number, act: () => void): () => void {
  let lastMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = systemClock.monotonic();
    if (nowMs - lastMs < ms) return;
    lastMs = nowMs;
    act();
  };
}

/**
 * One port for all targets: the sandbox answers in this process, every other target over the network. `onShortage` is
 * called for each connection for which this process had no file descriptor.
 */
export function openUpstream(
  proxy: ProxySettings | null,
  readElsewhere: ReadElsewhere,
  onShortage: () => void = () => {},
): UpstreamClient {
  const network = createSocketUpstream({ onShortage, ...(proxy !== null && { proxy }) });
  const sandbox = createSandboxUpstream(readElsewhere);
  return {
    send: (request, call) => (request.url.startsWith(SANDBOX_SCHEME) ? sandbox : network).send(request, call),
  };
}
