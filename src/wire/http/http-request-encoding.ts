// Encodes an UpstreamRequest as HTTP/1.1 (RFC 9112 and 9110), and determines its destination. Responses are requested
// uncompressed: a compressor delays the events of a stream, and decompressing a few KB costs the gateway more than
// their transfer.
import { isIP } from "node:net";
import { VERSION } from "../../core/version.ts";
import { type HttpProxy, withoutBrackets } from "./http-proxy.ts";
import { tunnelHead } from "./proxy-tunnel.ts";
import { UpstreamFault, type UpstreamRequest } from "../upstream.ts";

/**
 * The destination of a URL and the way to it, with the part of the head that all requests to it share. A connection
 * leads to the host of the URL, or to the proxy.
 */
export interface HttpTarget {
  /** Equal for two targets that may share their connections. */
  readonly key: string;
  /** Where the connection is made to: a name or an IP address, without brackets. */
  readonly hostname: string;
  readonly port: number;
  /**
   * The name for the TLS handshake with that host; undefined for plain text. Empty when the host is an IP address: then
   * the certificate has to name the address.
   */
  readonly serverName: string | undefined;
  /** Undefined when the connection leads to the host of the URL. */
  readonly proxy: ProxyWay | undefined;
  /** The request line after the method and the Host line, with line ends. */
  readonly headStart: string;
}

/** How the proxy is used to which the connection leads. */
export interface ProxyWay {
  readonly hasCredentials: boolean;
  /** The tunnel through the proxy to an https address. A proxy forwards requests to http addresses itself. */
  readonly tunnel: { readonly head: string; readonly serverName: string } | undefined;
}

/**
 * Throws UpstreamFault `connection` for an address that cannot be called. The connection goes to `pinnedAddress` in
 * place of the URL's host, which stays in Host and SNI; a proxy gets `pinnedAddress` too.
 */
export function httpTarget(address: string, pinnedAddress: string | undefined, proxy?: HttpProxy): HttpTarget {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:"))
    throw new UpstreamFault("connection", "only http and https addresses can be called");
  if (url.username !== "" || url.password !== "")
    throw new UpstreamFault("connection", "an address with a user name or password cannot be called");
  if (pinnedAddress !== undefined && (isIP(pinnedAddress) === 0 || pinnedAddress.includes("%")))
    throw new UpstreamFault("connection", "the checked address is not an IP address");
  const host = withoutBrackets(url.hostname);
  const isSecure = url.protocol === "https:";
  const port = url.port === "" ? (isSecure ? 443 : 80) : Number(url.port);
  const direct: HttpTarget = {
    key: pinnedAddress === undefined ? url.origin : `${url.origin} ${pinnedAddress}`,
    hostname: pinnedAddress ?? host,
    port,
    serverName: isSecure ? (isIP(host) === 0 ? host : "") : undefined,
    proxy: undefined,
    headStart: ` ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\n`,
  };
  return proxy?.serves(host, port, pinnedAddress) === true ? throughProxy(direct, proxy, url, pinnedAddress) : direct;
}

function throughProxy(direct: HttpTarget, proxy: HttpProxy, url: URL, pinnedAddress: string | undefined): HttpTarget {
  const host =
    pinnedAddress === undefined ? url.hostname : isIP(pinnedAddress) === 6 ? `[${pinnedAddress}]` : pinnedAddress;
  const hasCredentials = proxy.authorization !== "";
  const way: HttpTarget = {
    ...direct,
    key: `${direct.key} through a proxy`,
    hostname: proxy.hostname,
    port: proxy.port,
    serverName: proxy.serverName,
    proxy: { hasCredentials, tunnel: undefined },
  };
  if (direct.serverName === undefined) {
    const authority = url.port === "" ? host : `${host}:${url.port}`;
    return { ...way, headStart: ` http://${authority}${direct.headStart.slice(1)}${proxy.authorization}` };
  }
  const serverName = withoutBrackets(url.hostname);
  const tunnel = { head: tunnelHead(proxy, `${host}:${direct.port}`), serverName };
  return { ...way, proxy: { hasCredentials, tunnel } };
}

/** `data` is text when every character of the head is ASCII; the socket then encodes it. */
export interface EncodedRequest {
  readonly data: string | Buffer;
  /** The length of `data` in UTF-8. */
  readonly byteLength: number;
  /** A body given as bytes, which follows `data` and is not copied. Several requests may share it. */
  readonly body?: Uint8Array;
}

/** Header fields that only the driver sets, because they frame the request or belong to the connection. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** RFC 9110, 5.6.2. */
export const FIELD_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const ASCII_VALUE = /^[\t\x20-\x7e]*$/;
const LATIN1_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

const USER_AGENT = `User-Agent: dragoman/${VERSION}\r\n`;

/** Throws TypeError for a header that cannot be sent. The error does not contain the value, which may be a secret. */
export function encodeRequest(
  target: HttpTarget,
  { method = "POST", headers, body, bytes }: Omit<UpstreamRequest, "url">,
): EncodedRequest {
  let head = method + target.headStart;
  let ascii = true;
  for (const name in headers) {
    const value = headers[name] as string;
    if (!FIELD_NAME.test(name)) throw new TypeError("a header has a name that cannot be sent");
    if (!ASCII_VALUE.test(value)) {
      if (!LATIN1_VALUE.test(value)) throw new TypeError(`the header ${name} has a value that cannot be sent`);
      ascii = false;
    }
    if (!OWN_FIELDS.has(name)) head += `${name}: ${value}\r\n`;
  }
  if (headers["user-agent"] === undefined) head += USER_AGENT;
  if (headers["accept"] === undefined) head += "Accept: */*\r\n";
  if (headers["accept-encoding"] === undefined) head += "Accept-Encoding: identity\r\n";
  const bodyLength = bytes?.length ?? Buffer.byteLength(body);
  head += method === "GET" ? "\r\n" : `Content-Length: ${bodyLength}\r\n\r\n`;
  if (bytes !== undefined) return { data: Buffer.from(head, "latin1"), byteLength: head.length, body: bytes };
  const data = ascii ? head + body : Buffer.concat([Buffer.from(head, "latin1"), Buffer.from(body)]);
  return { data, byteLength: head.length + bodyLength };
}
