// The upstream client over the gateway's own HTTP/1.1 connections on Bun.connect, directly or through a proxy; why and
// how: docs/design/upstream-connections.md. Bun does not distinguish a TLS end without close_notify from one with it: a
// reader of a body that only the end of its connection delimits has to check for the end mark of its content.
import { ConnectionPool, POOL_BOUNDS, type PoolBounds } from "./connection-pool.ts";
import { openHttpProxy, type ProxySettings } from "./http-proxy.ts";
import { encodeRequest, httpTarget, type HttpTarget } from "./http-request-encoding.ts";
import { Exchange } from "./upstream-exchange.ts";
import type { UpstreamCall, UpstreamClient, UpstreamRequest, UpstreamResponse } from "../upstream.ts";

export interface SocketUpstreamOptions {
  /** Certificate authorities in PEM that are trusted in place of the built-in ones. */
  readonly ca?: string;
  /** The proxy for all calls but its exceptions; without it every call is direct, whatever the environment says. */
  readonly proxy?: ProxySettings | undefined;
  readonly pool?: Partial<PoolBounds>;
  /** Called for each connection for which this process had no file descriptor. */
  readonly onShortage?: () => void;
}

/** The number of addresses that are kept in parsed form; the number is bounded because callers may name their own. */
const MAX_TARGETS = 1_000;
/** Longer addresses are parsed each time, so that the kept ones cannot fill the memory. */
const MAX_KEPT_ADDRESS = 4096;

/** The client throws TypeError for a header that cannot be sent. */
export function createSocketUpstream(options: SocketUpstreamOptions = {}): UpstreamClient {
  const proxy = options.proxy === undefined ? undefined : openHttpProxy(options.proxy);
  const pool = new ConnectionPool({ ...POOL_BOUNDS, ...options.pool }, options.ca, options.onShortage ?? (() => {}));
  const targets = new Map<string, HttpTarget>();

  function target(url: string, pinnedAddress: string | undefined): HttpTarget {
    const key = pinnedAddress === undefined ? url : `${pinnedAddress} ${url}`;
    const known = targets.get(key);
    if (known !== undefined) return known;
    const parsed = httpTarget(url, pinnedAddress, proxy);
    if (key.length > MAX_KEPT_ADDRESS) return parsed;
    if (targets.size >= MAX_TARGETS) targets.clear();
    targets.set(key, parsed);
    return parsed;
  }

  return {
    send(request: UpstreamRequest, call: UpstreamCall): Promise<UpstreamResponse> {
      return new Promise((resolve, reject) => {
        call.signal.throwIfAborted();
        const to = target(request.url, call.pinnedAddress);
        new Exchange(pool, to, encodeRequest(to, request), call, resolve, reject).start();
      });
    },
  };
}
