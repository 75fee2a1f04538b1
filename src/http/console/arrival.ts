// How a request for the console has reached the gateway: encrypted, on this machine, or over plain http. It decides the
// form of the session's cookie, what counts as the gateway's own origin, and whether the console may be used at all.
import { type ConsoleSettings, isBasePath } from "../../auth/logins/console-settings.ts";
import { isLocalHost } from "../../config/loopback.ts";
import type { ProxyTrust } from "../../core/snapshot.ts";

export interface Arrival {
  /** The origin of the console's own pages. */
  readonly origin: string;
  /** The path before `/console` in the browser, which a proxy takes off; empty where there is none. */
  readonly basePath: string;
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
  settings: Pick<ConsoleSettings, "url" | "insecureHttp">,
  trust: ProxyTrust | null,
): Arrival {
  const host = headers.get("host") ?? "";
  const configured = settings.url === null ? null : new URL(settings.url);
  if (configured !== null && configured.host === host.toLowerCase()) return arrived(configured, null);
  if (trust !== null && peer !== null && trust.proxies.has(peer)) {
    const named = headers.get("x-forwarded-host");
    const url = urlOf(headers.get("x-forwarded-proto") === "https" ? "https" : "http", named ?? host);
    url.pathname = forwardedPath(headers);
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
    basePath: url.pathname === "/" ? "" : url.pathname,
    isEncrypted,
    refusal,
    cookieName: isEncrypted ? "__Host-dragoman_session" : `dragoman_session_${url.port || "80"}`,
  };
}

function urlOf(scheme: "http" | "https", host: string): URL {
  const url = URL.parse(`${scheme}://${host}`) ?? new URL("http://unknown.invalid");
  url.pathname = "";
  return url;
}

function forwardedPath(headers: Headers): string {
  const path = (headers.get("x-forwarded-prefix") ?? "").replace(/\/$/, "");
  return isBasePath(path) ? path : "";
}

/** The address of the gateway as the browser sees it, without a slash at its end. */
export function addressOf({ origin, basePath }: Arrival): string {
  return origin + basePath;
}

const OPEN_HTTP =
  "The console is not used over plain http from other machines, because everybody on the network between could read the session. Open it over https, or on the gateway's own machine (also through an SSH tunnel to it). An operator who accepts the risk sets console.insecure_http.";
const UNKNOWN_PROXY =
  "A proxy has passed this request on, and the gateway does not know it. The operator sets console.url to the https origin at which browsers reach the gateway, or names the proxy in server.trusted_proxies.";
