// The session's cookie. Scripts cannot read it, and the browser sends it with requests of the console's own pages only.
// Over https its name makes the browser refuse one that another host or a page without TLS has set.
// https://www.rfc-editor.org/rfc/rfc6265
import type { Arrival } from "./arrival.ts";

const SECRET = /^[\w-]{43}$/;

/** The secret in the request's cookie; `null` when there is none, or several. */
export function secretInCookie(headers: Headers, { cookieName }: Arrival): string | null {
  const value = cookieValue(headers, cookieName);
  return value !== null && SECRET.test(value) ? value : null;
}

/** `null` when there is no such cookie, or several. */
export function cookieValue(headers: Headers, cookieName: string): string | null {
  const values = (headers.get("cookie") ?? "").split(";").flatMap((pair) => {
    const [name, ...value] = pair.split("=");
    return name!.trim() === cookieName ? [value.join("=").trim()] : [];
  });
  return values.length === 1 ? values[0]! : null;
}

export function sessionCookie(arrival: Arrival, secret: string, lifeMs: number): string {
  return cookie(arrival, secret, Math.max(1, Math.floor(lifeMs / 1000)));
}

export const endedCookie = (arrival: Arrival): string => cookie(arrival, "", 0);

function cookie({ cookieName, isEncrypted }: Arrival, value: string, maxAgeS: number): string {
  return `${cookieName}=${value}; Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=Strict${isEncrypted ? "; Secure" : ""}`;
}
