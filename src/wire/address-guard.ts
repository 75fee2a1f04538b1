// Decides whether an address that a request, a tenant or an answer names may be called, and fixes the IP address that
// the call then connects to, so that a second DNS lookup cannot lead elsewhere (promise 2.12). Hosts are normalized as
// the WHATWG URL standard says; the private ranges are those that the IANA special-purpose registries (RFC 6890) list
// as not globally reachable, with RFC 4291, 6052 and 3056 for IPv4 addresses inside IPv6 addresses.

// Decides (who may call, and with what): May an address be called? By: `checkAddress`. Also: called by
// `engine/attempt/upstream-requests.ts` where `guardedField` of the target is set (`engine/plan/resolve-target.ts`),
// and for tool servers, webhooks, guard services, fetched content and writes of the admin API. Rule: Addresses of
// requests and of tenants are checked, those of the operator are not; the connection goes to the checked IP address,
// and redirects are not followed.
import { withTimeout } from "../core/concurrency/timeout.ts";
import { isIP, isIPv4 } from "node:net";
import ipaddr from "ipaddr.js";
import { GatewayError } from "../core/errors.ts";
import { messageOf } from "../core/thrown.ts";
import { parseIpAddress, rangesOf } from "./ip-range.ts";
import { lookUpName } from "./name-lookup.ts";

/**
 * `metadata` addresses hand out a cloud's credentials to any caller and are never called. `private` is every other
 * address that is not on the public Internet.
 */
export type AddressRange = "public" | "private" | "metadata";

export interface AddressOptions {
  /** Whether private ranges are allowed. `never` forbids them whatever the settings say, as for images. */
  readonly allowPrivate: boolean | "never";
  /** Path of the field that holds the address, for the error. */
  readonly param: string;
  /** What has the address, in the words of the error; the default is the field itself. */
  readonly subject?: string | undefined;
  /** Resolves a host to all its addresses. The default is `lookUpName`. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
  /** Time limit of the lookup; the default is 5,000. */
  readonly resolveTimeoutMs?: number;
}

export interface CheckedAddress {
  /** The URL as the WHATWG standard normalizes it, without its fragment. */
  readonly url: string;
  /** The IP address to connect to. */
  readonly pinnedAddress: string;
}

const RESOLVE_TIMEOUT_MS = 5_000;

const METADATA_REFUSED = "is a metadata service, which is never called";
/** Names the setting, because the reader may be the operator. */
const PRIVATE_REFUSED =
  "is not on the public Internet, and private networks are called only where the operator sets `providers.allow_private_addresses: true` (DRAGOMAN_ALLOW_PRIVATE_ADDRESSES=1)";
/** No setting lifts this one. */
const PRIVATE_CONTENT_REFUSED =
  "is not on the public Internet, and content is fetched from public addresses only: send it as a data URI";

/**
 * Names under which clouds serve metadata. They are rejected before any lookup, because a lookup could return any
 * address.
 */
const METADATA_NAMES: ReadonlySet<string> = new Set([
  "instance-data",
  "instance-data.ec2.internal",
  "metadata",
  "metadata.goog",
  "metadata.google.internal",
  "metadata.tencentyun.com",
]);

/**
 * Throws GatewayError: `address_not_allowed` for an address that may not be called, `upstream_connection` for a name
 * that does not resolve in time.
 */
export async function checkAddress(address: string, options: AddressOptions): Promise<CheckedAddress> {
  const subject = options.subject ?? `\`${options.param}\``;
  const { url, host } = parseAddress(address, options.param, subject);
  const candidates = isIP(host) === 0 ? await resolveHost(host, options) : [host];
  for (const candidate of candidates) {
    const range = isIP(candidate) === 0 ? "private" : addressRange(candidate);
    if (range === "metadata" || (range === "private" && options.allowPrivate !== true)) {
      // The address itself appears only in the log: an answer that names it would map the internal network for the
      // caller.
      const reason =
        range === "metadata"
          ? METADATA_REFUSED
          : options.allowPrivate === "never"
            ? PRIVATE_CONTENT_REFUSED
            : PRIVATE_REFUSED;
      throw refusal(options.param, `The host of ${subject} ${reason}.`, `${host} is ${candidate}`);
    }
  }
  // IPv4 is preferred: `localhost` often resolves to both, and servers on it listen on IPv4 only. A URL cannot express
  // the zone of an IPv6 address.
  const pinnedAddress =
    candidates.find((candidate) => isIPv4(candidate)) ??
    candidates.find((candidate) => isIP(candidate) === 6 && !candidate.includes("%"));
  if (pinnedAddress === undefined) throw unresolved(options, `${host} has no address`);
  return { url, pinnedAddress };
}

function parseAddress(
  address: string,
  param: string,
  subject: string,
): { readonly url: string; readonly host: string } {
  const url = URL.parse(address);
  if (url === null) throw refusal(param, `\`${param}\` must be an http or https URL.`);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw refusal(
      param,
      `\`${param}\` must be an http or https URL; got the scheme ${JSON.stringify(url.protocol.slice(0, 32))}.`,
    );
  if (url.username !== "" || url.password !== "")
    throw refusal(param, `\`${param}\` cannot carry a user name or password; leave them out of the address.`);
  url.hash = "";
  // A trailing dot means the same host, but certificates and the list above hold names without it.
  if (url.hostname.endsWith(".")) url.hostname = url.hostname.slice(0, -1);
  const host = url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname;
  if (isIP(host) === 0) {
    if (host === "" || host.length > 253 || host.split(".").includes(""))
      throw refusal(param, `\`${param}\` has no valid host.`);
    if (METADATA_NAMES.has(host)) throw refusal(param, `The host of ${subject} ${METADATA_REFUSED}.`, host);
  }
  return { url: url.href, host };
}

async function resolveHost(host: string, options: AddressOptions): Promise<readonly string[]> {
  const timeoutMs = options.resolveTimeoutMs ?? RESOLVE_TIMEOUT_MS;
  const late = (): Error => new Error(`no answer within ${timeoutMs} ms`);
  try {
    return await withTimeout((options.resolve ?? lookUpName)(host), timeoutMs, late);
  } catch (thrown) {
    throw unresolved(options, `${host}: ${messageOf(thrown)}`, thrown);
  }
}

function refusal(param: string, message: string, detail?: string): GatewayError {
  return new GatewayError("address_not_allowed", message, { param, ...(detail !== undefined && { detail }) });
}

function unresolved(
  { param, subject = `\`${param}\`` }: AddressOptions,
  detail: string,
  cause?: unknown,
): GatewayError {
  return new GatewayError("upstream_connection", `The host of ${subject} could not be looked up.`, {
    param,
    detail,
    cause,
  });
}

const IPV4_METADATA = rangesOf([
  "169.254.169.0/24", // AWS (also its DNS, time and licence servers), Google, Azure, Oracle, DigitalOcean, most others
  "169.254.170.0/24", // Amazon ECS and EKS: credentials of tasks and pods
  "169.254.0.23", // Tencent
  "169.254.42.42", // Scaleway
  "100.100.100.200", // Alibaba
  "168.63.129.16", // Azure's host agent
  "192.0.0.192", // Oracle Cloud Classic
]);
/** How the library calls what is on the public Internet. Every other name of it is private. */
const IPV4_PUBLIC: ReadonlySet<string> = new Set(["unicast", "as112", "amt"]);

/** The first range that an address is in decides. */
const IPV6_RANGES = {
  // An IPv4 address is in the last bits: translated, compatible, NAT64.
  inLastBits: rangesOf(["::ffff:0:0:0/96", "::/96", "64:ff9b::/96"]),
  sixToFour: rangesOf(["2002::/16"]),
  metadata: rangesOf([
    "fd00:ec2::/32", // Amazon: metadata, pod credentials, DNS, time
    "fd20:ce::254", // Google
    "fd00:42::42", // Scaleway
    "fe80::a9fe:a9fe", // OpenStack
  ]),
  localNat64: rangesOf(["64:ff9b:1::/48"]), // RFC 8215
  // IETF protocols with Teredo and ORCHID, and documentation.
  private: rangesOf(["2001::/23", "2001:db8::/32", "3fff::/20"]),
  // The only part of the IPv6 space that is allocated for public use.
  public: rangesOf(["2000::/3"]),
};

/** Classifies an IPv4 or IPv6 address. Throws TypeError for any other text. */
export function addressRange(text: string): AddressRange {
  const address = parseIpAddress(text);
  if (address === null) throw new TypeError(`no IP address: ${text}`);
  if (address instanceof ipaddr.IPv4) return ipv4Range(address);
  const range = ipaddr.subnetMatch(address, IPV6_RANGES, "private");
  const ipv4At = (byte: number): AddressRange =>
    ipv4Range(new ipaddr.IPv4(address.toByteArray().slice(byte, byte + 4)));
  if (range === "inLastBits") return ipv4At(12);
  if (range === "sixToFour") return ipv4At(2);
  // It is private, or metadata when the IPv4 address in it is.
  if (range === "localNat64") return ipv4At(12) === "metadata" ? "metadata" : "private";
  return range as AddressRange;
}

function ipv4Range(address: ipaddr.IPv4): AddressRange {
  const range = IPV4_PUBLIC.has(address.range()) ? "public" : "private";
  return ipaddr.subnetMatch(address, { metadata: IPV4_METADATA }, range) as AddressRange;
}
