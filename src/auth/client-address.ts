// The address of the client: the peer of the socket or, when the peer is a trusted proxy (`server.trusted_proxies`),
// the last address in its header that is not such a proxy. An address that a client wrote into the header itself stands
// further left and is never used. RFC 7239 describes `Forwarded`.

// Decides (who may call, and with what): From which address does a client call, behind a proxy? By: `clientAddress`.
// Rule: The peer; behind `server.trusted_proxies`, the last address of `server.proxy_header` that is no trusted proxy.
import { isIP } from "node:net";
import { isLocalHost, isLoopbackAddress } from "../config/loopback.ts";
import { GatewayError } from "../core/errors.ts";
import type { AccessToken } from "../core/identity.ts";
import { memoizePerObject } from "../core/memoization.ts";
import type { ProxyTrust } from "../core/snapshot.ts";
import { compileIpRanges } from "../wire/ip-range.ts";

/** `null` when the address is unknown, also when the header of a trusted proxy cannot be parsed. */
export function clientAddress(
  peer: string | null,
  headers: Pick<Headers, "get">,
  trust: ProxyTrust | null,
): string | null {
  if (trust === null || peer === null || !trust.proxies.has(peer)) return peer;
  const header = headers.get(trust.header);
  if (header === null) return peer;
  const hops = header
    .split(",")
    .toReversed()
    .map(trust.header === "forwarded" ? forwardedFor : hostOf);
  let client: string | null = peer;
  for (const hop of hops) {
    client = hop;
    if (hop === null || !trust.proxies.has(hop)) break;
  }
  return client;
}

const rangesOf = memoizePerObject((token: AccessToken) => compileIpRanges(token.ipRanges));

/**
 * Throws `address_forbidden` when the token may not be used from this address. `address` is called only for a token
 * that is restricted to addresses.
 */
export function requireAddress(token: AccessToken, address: () => string | null): void {
  if (token.ipRanges.length === 0) return;
  const from = address();
  if (from === null || !rangesOf(token).has(from))
    throw new GatewayError(
      "address_forbidden",
      `The access token ${token.id} may not be used from ${from === null ? "an unknown address" : `the address ${from}`}.`,
    );
}

/** Accepts `203.0.113.7`, `203.0.113.7:5060`, `2001:db8::1` and `[2001:db8::1]:5060`; `null` for anything else. */
function hostOf(text: string): string | null {
  const entry = text.trim();
  const host =
    /^\[([^\]]+)\](?::\d{1,5})?$/.exec(entry)?.[1] ?? /^(\d{1,3}(?:\.\d{1,3}){3}):\d{1,5}$/.exec(entry)?.[1] ?? entry;
  return isIP(host) === 0 ? null : host;
}

/** The `for` of one element of `Forwarded`: `for=192.0.2.60;proto=http`, `For="[2001:db8:cafe::17]:4711"`. */
function forwardedFor(element: string): string | null {
  const value = /(?:^|;)\s*for=("?)([^";,\s]+)\1\s*(?:;|$)/i.exec(element)?.[2];
  return value === undefined ? null : hostOf(value);
}

/**
 * Headers that a program sends when it calls the gateway directly. This list names the harmless headers instead of
 * those that proxies add, because the latter cannot be listed completely (`x-forwarded-for`, `via`, `x-real-ip`,
 * `cf-connecting-ip`, `true-client-ip`, `fastly-client-ip`, ...).
 */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  "accept",
  "accept-charset",
  "accept-encoding",
  "accept-language",
  "authorization",
  "cache-control",
  "connection",
  "content-length",
  "content-type",
  "dnt",
  "host",
  "if-modified-since",
  "if-none-match",
  "keep-alive",
  "pragma",
  "priority",
  "range",
  "te",
  "traceparent",
  "tracestate",
  "upgrade-insecure-requests",
  "user-agent",
  "x-gateway-project-id",
  "x-gateway-tenant-id",
  "x-prometheus-scrape-timeout-seconds",
]);

/**
 * Whether the client runs on this machine and no proxy that may forward external clients is in between. A proxy adds
 * headers of its own, or keeps its public name in `host`.
 */
export function isOnThisMachine(peer: string | null, headers: Headers): boolean {
  if (peer === null || !isLoopbackAddress(peer)) return false;
  const host = headers.get("host");
  if (host !== null && !isLocalHost(host)) return false;
  return headerOfProxy(headers, NO_OTHERS) === null;
}

const NO_OTHERS: ReadonlySet<string> = new Set();

/**
 * Returns the name of a header that a client does not send by itself, so that a proxy may have added it; `null` when
 * there is none. `harmless` are headers that the client may send beside those that programs usually send.
 */
export function headerOfProxy(headers: Headers, harmless: ReadonlySet<string>): string | null {
  for (const name of headers.keys())
    if (!OWN_HEADERS.has(name) && !harmless.has(name) && !name.startsWith("sec-")) return name;
  return null;
}
