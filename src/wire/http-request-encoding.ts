// Encodes an UpstreamRequest as HTTP/1.1 (RFC 9112 and 9110), and determines its destination. Responses are requested
// uncompressed: a compressor delays the events of a stream, and decompressing a few KB costs the gateway more than
// their transfer.
import { isIP } from "node:net";
import { VERSION } from "../core/version.ts";
import { UpstreamFault, type UpstreamRequest } from "./upstream.ts";

/** The destination of a URL, with the part of the head that all requests to it share. */
export interface HttpTarget {
  /** Equal for two targets that may share their connections. */
  readonly key: string;
  /** A name or an IP address, without brackets. */
  readonly hostname: string;
  readonly port: number;
  /**
   * Undefined for plain text. Empty when the host of the URL is an IP address: then no SNI is sent, and the certificate
   * has to name the address.
   */
  readonly serverName: string | undefined;
  /** The request line after the method and the Host line, with line ends. */
  readonly headStart: string;
}

/**
 * Throws UpstreamFault `connection` for an address that cannot be called. The connection goes to `pinnedAddress` in
 * place of the URL's host, which stays in Host and SNI.
 */
export function httpTarget(address: string, pinnedAddress: string | undefined): HttpTarget {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:"))
    throw new UpstreamFault("connection", "only http and https addresses can be called");
  if (url.username !== "" || url.password !== "")
    throw new UpstreamFault("connection", "an address with a user name or password cannot be called");
  if (pinnedAddress !== undefined && (isIP(pinnedAddress) === 0 || pinnedAddress.includes("%")))
    throw new UpstreamFault("connection", "the checked address is not an IP address");
  const host = url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname;
  const secure = url.protocol === "https:";
  return {
    key: pinnedAddress === undefined ? url.origin : `${url.origin} ${pinnedAddress}`,
    hostname: pinnedAddress ?? host,
    port: url.port === "" ? (secure ? 443 : 80) : Number(url.port),
    serverName: secure ? (isIP(host) === 0 ? host : "") : undefined,
    headStart: ` ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\n`,
  };
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
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

const FIELD_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
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
