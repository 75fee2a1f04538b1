// The HTTP proxy through which providers are called: its address and credentials, and the hosts that are called
// directly all the same. NO_PROXY is not standardized: entries are read as curl reads them.
import { isIP } from "node:net";
import { percentDecoded } from "../../core/text/percent-encoding.ts";
import { compileIpRanges, isIpRange } from "../ip-range.ts";

export interface ProxySettings {
  /** An http or https address, with user name and password (percent-encoded) if the proxy needs them. */
  readonly url: string;
  /** Hosts that are called directly, in the form of the variable NO_PROXY. */
  readonly exceptions: string;
}

export type HttpProxy = ReturnType<typeof openHttpProxy>;

/** The proxy in errors. They name the setting and not the address, because callers can read some of them. */
export const PROXY = "the gateway's proxy (server.upstream_proxy)";

/** Throws TypeError for a text that is not a URL. */
export function openHttpProxy({ url: address, exceptions }: ProxySettings) {
  const url = new URL(address);
  const isSecure = url.protocol === "https:";
  const hostname = withoutBrackets(url.hostname);
  const isException = exceptionMatcher(exceptions);
  return {
    /** A name or an IP address, without brackets. */
    hostname,
    port: url.port === "" ? (isSecure ? 443 : 80) : Number(url.port),
    /** Undefined for a proxy that is called in plain text, empty for an https proxy at an IP address. */
    serverName: isSecure ? (isIP(hostname) === 0 ? hostname : "") : undefined,
    /** The field Proxy-Authorization with its line end; empty when the proxy needs no credentials. */
    authorization: authorizationField(url),
    /**
     * Whether a call goes through the proxy. `host` is the URL's, in lower case and without brackets; `pinnedAddress` is
     * the checked address of it.
     */
    serves: (host: string, port: number, pinnedAddress: string | undefined) =>
      !isException(host, port) && (pinnedAddress === undefined || !isException(pinnedAddress, port)),
  };
}

/** The host of a URL as sockets take it: an IPv6 address has no brackets. */
export function withoutBrackets(hostname: string): string {
  return hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
}

/** The scheme Basic of RFC 7617, in UTF-8. */
function authorizationField({ username, password }: URL): string {
  if (username === "" && password === "") return "";
  const credentials = `${percentDecoded(username)}:${percentDecoded(password)}`;
  return `Proxy-Authorization: Basic ${Buffer.from(credentials).toString("base64")}\r\n`;
}

/**
 * Entries are separated by commas or spaces: a host name, which stands for its subdomains too and may begin with `.` or
 * `*.`; an IP address or a range of them; each but ranges with a port if only that port is meant; `*` for all hosts.
 */
function exceptionMatcher(text: string): (host: string, port: number) => boolean {
  const entries = text
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== "")
    .map(entryMatcher);
  return (host, port) => {
    const name = host.endsWith(".") ? host.slice(0, -1) : host;
    return entries.some((matches) => matches(name, port));
  };
}

function entryMatcher(entry: string): (host: string, port: number) => boolean {
  if (entry === "*") return () => true;
  const { host, port } = hostAndPort(entry);
  if (isIpRange(host)) {
    const ranges = compileIpRanges([host]);
    return (called, calledPort) => (port === undefined || port === calledPort) && ranges.has(called);
  }
  const name = host.replace(/^\*?\./, "").replace(/\.$/, "");
  return (called, calledPort) =>
    (port === undefined || port === calledPort) && name !== "" && (called === name || called.endsWith(`.${name}`));
}

function hostAndPort(entry: string): { readonly host: string; readonly port: number | undefined } {
  if (isIpRange(entry)) return { host: entry, port: undefined };
  const [, inBrackets, plain = "", digits] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d{1,5}))?$/.exec(entry) ?? [];
  return { host: inBrackets ?? plain, port: digits === undefined ? undefined : Number(digits) };
}
