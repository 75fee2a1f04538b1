// How a request for the console has reached the gateway: encrypted, on this machine, or over plain http. It decides the
// form of the session's cookie, what counts as the gateway's own origin, and whether the console may be used at all.
import type { ConsoleSettings } from "../../auth/console-settings.ts";
import { isLocalHost } from "../../config/loopback.ts";
import type { ProxyTrust } from "../../core/snapshot.ts";

export interface Arrival {
  /** The origin of the console's own pages. */
  readonly origin: string;
  readonly isEncrypted: boolean;
  /** Why the console may not be used over this connection; `null` when it may. */
  readonly refusal: string | null;
  /** The name of the session's cookie. Cookies of one host are sent to all of its ports. */
  readonly cookieName: string;
}

/** Headers with which proxies say for whom they ask. */
const OF_PROXIES = ["x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "forwarded", "via"] as const;

export function arrivalOf(
  headers: Headers,
  peer: string | null,
  settings: Pick<ConsoleSettings, "origin" | "insecureHttp">,
  trust: ProxyTrust | null,
): Arrival {
  const host = headers.get("host") ?? "";
  if (settings.origin !== null && new URL(settings.origin).host === host.toLowerCase())
    return arrived(new URL(settings.origin), null);
  if (trust !== null && peer !== null && trust.proxies.has(peer)) {
    const named = headers.get("x-forwarded-host");
    const url = urlOf(headers.get("x-forwarded-proto") === "https" ? "https" : "http", named ?? host);
    return arrived(url, url.protocol === "https:" || settings.insecureHttp ? null : OPEN_HTTP);
  }
  const url = urlOf("http", host);
  if (settings.insecureHttp) return arrived(url, null);
  if (OF_PROXIES.some((name) => headers.has(name))) return arrived(url, UNKNOWN_PROXY);
  return arrived(url, isLocalHost(host) ? null : OPEN_HTTP);
}

function arrived(url: URL, refusal: string | null): Arrival {
  const isEncrypted = url.protocol === "https:";
  return {
    origin: url.origin,
    isEncrypted,
    refusal,
    cookieName: isEncrypted ? "__Host-dragoman_session" : `dragoman_session_${url.port || "80"}`,
  };
}

const NOWHERE = new URL("http://unknown.invalid");

function urlOf(scheme: "http" | "https", host: string): URL {
  return URL.parse(`${scheme}://${host}`) ?? NOWHERE;
}

const OPEN_HTTP =
  "The console is not used over plain http from other machines, because everybody on the network between could read the session. Open it over https, or on the gateway's own machine (also through an SSH tunnel to it). An operator who accepts the risk sets console.insecure_http.";
const UNKNOWN_PROXY =
  "A proxy has passed this request on, and the gateway does not know it. The operator sets console.url to the https origin at which browsers reach the gateway, or names the proxy in server.trusted_proxies.";
