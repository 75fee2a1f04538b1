// IP addresses, and lists of addresses and CIDR ranges (RFC 4632, RFC 4291), read and compared by `ipaddr.js`. An IPv4
// address inside IPv6 (`::ffff:192.0.2.1`, as a socket that listens on both reports it) is treated as the IPv4 address,
// in ranges as well as in addresses.
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import type { IpRanges } from "../core/snapshot.ts";

type IpAddress = ipaddr.IPv4 | ipaddr.IPv6;
/** An address, and how many of its first bits count. */
type Range = [address: IpAddress, bits: number];

const MAPPED = ipaddr.IPv6.parse("::ffff:0:0");
const MAPPED_BITS = 96;

/** Throws TypeError for a text that is neither an address nor a range of addresses. */
export function compileIpRanges(texts: readonly string[]): IpRanges {
  const inside = rangesOf(texts);
  return {
    has: (text) => {
      const address = parseIpAddress(text);
      return address !== null && ipaddr.subnetMatch(address, { inside }, "outside") === "inside";
    },
  };
}

/** Ranges in the form of the library. Throws TypeError as compileIpRanges() does. */
export function rangesOf(texts: readonly string[]): Range[] {
  return texts.map((text) => {
    const range = parseIpRange(text);
    if (range === null) throw new TypeError(`not an IP address or range: ${text}`);
    return range;
  });
}

/** An address or a range: `192.0.2.1`, `10.0.0.0/8`, `2001:db8::/32`. */
export function isIpRange(text: string): boolean {
  return parseIpRange(text) !== null;
}

/** `null` for any other text. A zone after a percent sign is ignored. */
export function parseIpAddress(text: string): IpAddress | null {
  const address = parseAsWritten(text);
  return address === null ? null : withoutMapping(address);
}

function parseIpRange(text: string): Range | null {
  const [, host = "", length] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const address = parseAsWritten(host);
  if (address === null) return null;
  const width = address instanceof ipaddr.IPv4 ? 32 : 128;
  const bits = length === undefined ? width : Number(length);
  if (bits > width) return null;
  // A prefix that covers more than the mapped addresses is a range of IPv6.
  const own = bits < MAPPED_BITS ? address : withoutMapping(address);
  return [own, own === address ? bits : bits - MAPPED_BITS];
}

/** The runtime decides what an address is: the library also takes octal and hexadecimal numbers, and fewer than four. */
function parseAsWritten(text: string): IpAddress | null {
  const version = isIP(text);
  if (version !== 6) return version === 4 ? ipaddr.IPv4.parse(text) : null;
  const [bare = ""] = text.split("%");
  // The library takes `::192.0.2.1` for `::ffff:192.0.2.1`, which is another address.
  return ipaddr.IPv6.parse(bare.replace(/^::(?=\d+\.)/, "0::"));
}

function withoutMapping(address: IpAddress): IpAddress {
  return address instanceof ipaddr.IPv6 && address.match(MAPPED, MAPPED_BITS) ? address.toIPv4Address() : address;
}
