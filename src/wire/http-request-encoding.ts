// An UpstreamRequest as bytes of HTTP/1.1, after RFC 9112 and 9110, and where it goes. Answers are asked for uncompressed: a compressor holds back the
// events of a stream, and to inflate the few KB of an answer costs the gateway more than their transfer.
import { isIP } from "node:net";
import { VERSION } from "../core/version.ts";
import { UpstreamFault, type UpstreamRequest } from "./upstream.ts";

/** Where a URL leads, with what all requests to it begin with. */
export interface HttpTarget {
  /** The same for two targets that may share their connections. */
  readonly key: string;
  /** A name or an IP address, without brackets. */
  readonly hostname: string;
  readonly port: number;
  /** Undefined for plain text. Empty where the URL has an address: then there is no SNI, and the certificate has to be for the address. */
  readonly serverName: string | undefined;
  /** Request line after the method, and Host, with the line end. */
  readonly headStart: string;
}

/** Throws UpstreamFault `connection` for what cannot be called. `pinnedAddress` is connected to in place of the URL's host, which stays in Host and SNI. */
export function httpTarget(address: string, pinnedAddress: string | undefined): HttpTarget {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:"))
    throw new UpstreamFault("connection", "only http and https addresses can be called");
  if (url.username !== "" || url.password !== "")
    throw new UpstreamFault("connection", "an address with a user name or password cannot be called");
  if (pinnedAddress !== undefined && (isIP(pinnedAddress) === 0 || pinnedAddress.includes("%")))
    throw new UpstreamFault("connection", "the checked address is no IP address");
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

/** Text where every character of the head is ASCII, which the socket then encodes by itself. */
export interface EncodedRequest {
  readonly data: string | Buffer;
  /** Of `data` in UTF-8. */
  readonly byteLength: number;
  /** What follows it: a body that came as bytes, which is not copied. It may be that of several requests. */
  readonly body?: Uint8Array;
}

/** What only the driver may say, because it is what frames the request or belongs to the connection. */
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

/** Throws TypeError for a header that cannot be sent, without its value, which may be a secret. */
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
