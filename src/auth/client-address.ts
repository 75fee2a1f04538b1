// The address of who calls: the socket's peer, or, where that is a proxy of the operator's, the nearest address in its header that is no such proxy
// (`server.trusted_proxies`). What a stranger writes into the header stands further left and is never looked at. RFC 7239 for `Forwarded`.
import { isIP } from "node:net";
import { GatewayError } from "../core/errors.ts";
import type { AccessToken } from "../core/identity.ts";
import type { IpRanges, ProxyTrust } from "../core/snapshot.ts";
import { compileIpRanges } from "../wire/ip-range.ts";

/** Null: unknown, also where the header of a trusted proxy cannot be read. */
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

const ranges = new WeakMap<AccessToken, IpRanges>();

/** Throws `address_forbidden` where the token may not be used from there. `address` is asked for only where the token is narrowed by addresses. */
export function demandAddress(token: AccessToken, address: () => string | null): void {
  if (token.ipRanges.length === 0) return;
  let allowed = ranges.get(token);
  if (allowed === undefined) ranges.set(token, (allowed = compileIpRanges(token.ipRanges)));
  const from = address();
  if (from === null || !allowed.has(from))
    throw new GatewayError(
      "address_forbidden",
      `The access token ${token.id} may not be used from ${from === null ? "an address that is unknown" : `the address ${from}`}.`,
    );
}

/** `203.0.113.7`, `203.0.113.7:5060`, `2001:db8::1`, `[2001:db8::1]:5060`; null for all else. */
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

const LOOPBACK = /^(::1|(::ffff:)?127\.\d+\.\d+\.\d+)$/;
/** `localhost:8080`, `127.0.0.1`, `[::1]:8080`. */
const LOCAL_HOST = /^(?:(?:[a-z0-9-]+\.)*localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d{1,5})?$/i;
/**
 * What a program says that speaks to the gateway itself. It is a list of what is harmless and not one of the headers in which proxies say whom they pass on:
 * there is no end of those (`x-forwarded-for`, `via`, `x-real-ip`, `cf-connecting-ip`, `true-client-ip`, `fastly-client-ip`, ...).
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
 * Whether a program of this very machine calls, and nothing in between that may pass strangers on: a proxy adds headers of its own, or keeps the name by which
 * strangers call it in `host`.
 */
export function isOnThisMachine(peer: string | null, headers: Headers): boolean {
  if (peer === null || !LOOPBACK.test(peer)) return false;
  const host = headers.get("host");
  if (host !== null && !LOCAL_HOST.test(host)) return false;
  for (const name of headers.keys()) if (!OWN_HEADERS.has(name) && !name.startsWith("sec-")) return false;
  return true;
}
