// IP addresses as numbers, and lists of addresses and CIDR ranges (RFC 4632, RFC 4291). An IPv4 address inside IPv6
// (`::ffff:192.0.2.1`, as a socket that listens on both reports it) is treated as the IPv4 address, in ranges as well
// as in addresses.
import { isIP } from "node:net";
import type { IpRanges } from "../core/snapshot.ts";

/** A range is the first `bits` bits of `value`, a big-endian bit pattern. */
interface Range {
  readonly width: 32 | 128;
  readonly value: bigint;
  readonly bits: number;
}

const MAPPED = 0xffffn;
const MAPPED_BITS = 96;

/** Throws TypeError for a text that is neither an address nor a range of addresses. */
export function compileIpRanges(texts: readonly string[]): IpRanges {
  const ranges = texts.map((text) => {
    const range = parseIpRange(text);
    if (range === null) throw new TypeError(`not an IP address or range: ${text}`);
    return range;
  });
  return {
    has: (address) => {
      const own = parseAddress(address);
      return (
        own !== null &&
        ranges.some(
          ({ width, value, bits }) =>
            width === own.width && own.value >> BigInt(width - bits) === value >> BigInt(width - bits),
        )
      );
    },
  };
}

/** An address or a range: `192.0.2.1`, `10.0.0.0/8`, `2001:db8::/32`. */
export function isIpRange(text: string): boolean {
  return parseIpRange(text) !== null;
}

function parseIpRange(text: string): Range | null {
  const [address = "", length, ...rest] = text.split("/");
  const version = isIP(address);
  if (version === 0 || address.includes("%") || rest.length > 0 || (length !== undefined && !/^\d{1,3}$/.test(length)))
    return null;
  const bits = length === undefined ? (version === 4 ? 32 : 128) : Number(length);
  if (bits > (version === 4 ? 32 : 128)) return null;
  const own = parseAddress(address)!;
  // A prefix that covers more than the mapped addresses is a range of IPv6.
  if (version === 6 && own.width === 32)
    return bits >= MAPPED_BITS ? { ...own, bits: bits - MAPPED_BITS } : { width: 128, value: ipv6Value(address), bits };
  return { ...own, bits };
}

function parseAddress(address: string): Pick<Range, "width" | "value"> | null {
  const version = isIP(address);
  if (version === 0) return null;
  if (version === 4) return { width: 32, value: ipv4Value(address) };
  const value = ipv6Value(address);
  return value >> 32n === MAPPED ? { width: 32, value: value & 0xffff_ffffn } : { width: 128, value };
}

/** `address` has to be a valid IPv4 address. */
export function ipv4Value(address: string): bigint {
  return address.split(".").reduce((value, part) => (value << 8n) | BigInt(part), 0n);
}

/** `address` has to be a valid IPv6 address; a zone after a percent sign is ignored. */
export function ipv6Value(address: string): bigint {
  const [bare = ""] = address.split("%");
  const [head = "", tail] = bare.split("::");
  const left = ipv6Groups(head);
  const right = ipv6Groups(tail ?? "");
  const gap = tail === undefined ? 0 : 8 - left.length - right.length;
  return [...left, ...Array<bigint>(gap).fill(0n), ...right].reduce((value, group) => (value << 16n) | group, 0n);
}

function ipv6Groups(text: string): bigint[] {
  if (text === "") return [];
  return text.split(":").flatMap((group) => {
    if (!group.includes(".")) return [BigInt(`0x${group}`)];
    const value = ipv4Value(group);
    return [value >> 16n, value & 0xffffn];
  });
}
