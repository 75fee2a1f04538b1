// A tunnel through an HTTP proxy (CONNECT, RFC 9110 9.3.6): the request for it, and the proxy's answer. Inside the
// tunnel the gateway speaks TLS with the provider, so that the proxy sees neither requests nor responses.
import { type HttpProxy, PROXY } from "./http-proxy.ts";
import { ResponseParser } from "./http-response-parser.ts";
import { UpstreamFault } from "../upstream.ts";

/**
 * Returns the request for a tunnel. `authority` is the target's host and port, with brackets around an IPv6 address.
 */
export function tunnelHead({ authorization }: HttpProxy, authority: string): string {
  return `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${authorization}\r\n`;
}

/** The proxy's answer to one CONNECT. Its bytes may be split anywhere. */
export class TunnelAnswer {
  readonly #hasCredentials: boolean;
  readonly #parser = new ResponseParser(true);

  constructor(hasCredentials: boolean) {
    this.#hasCredentials = hasCredentials;
  }

  /**
   * Returns whether the tunnel is open. Throws UpstreamFault `connection` when the proxy refuses it, or answers
   * anything but HTTP.
   */
  push(bytes: Buffer): boolean {
    let bytesBehindHead: Buffer | null;
    try {
      bytesBehindHead = this.#parser.push(bytes);
    } catch (fault) {
      throw new UpstreamFault("connection", `${PROXY} answered CONNECT with something that is not valid HTTP`, fault);
    }
    if (!this.#parser.hasHead) return false;
    const { status } = this.#parser;
    if (status < 200 || status > 299)
      throw new UpstreamFault(
        "connection",
        status === 407
          ? credentialsRefused(this.#hasCredentials, this.#parser.header("proxy-authenticate"))
          : `${PROXY} refused a tunnel to the provider with status ${status}${CURES[status] ?? ""}`,
      );
    // The provider says nothing before it has received a TLS greeting, so that these bytes are the proxy's.
    if (bytesBehindHead !== null)
      throw new UpstreamFault("connection", `${PROXY} sent bytes into the tunnel to the provider`);
    return true;
  }
}

const CANNOT_REACH: string = ": it could not reach the provider";
const CURES: Readonly<Record<number, string>> = {
  400: ": check that it is a forward proxy that supports CONNECT",
  403: ": its rules have to allow the provider's host and port",
  404: ": check that it is a forward proxy that supports CONNECT",
  405: ": check that it is a forward proxy that supports CONNECT",
  501: ": check that it is a forward proxy that supports CONNECT",
  502: CANNOT_REACH,
  503: CANNOT_REACH,
  504: CANNOT_REACH,
};

/** `challenge` is the proxy's field Proxy-Authenticate, which lists the schemes that it accepts. */
export function credentialsRefused(hasCredentials: boolean, challenge: string | null): string {
  if (challenge !== null && !/(?:^|,)[ \t]*basic(?:[ \t,]|$)/i.test(challenge))
    return `${PROXY} accepts no basic credentials (status 407), and the gateway can send no others: allow the gateway's address there`;
  return hasCredentials
    ? `${PROXY} refused the user name and password of that setting (status 407): correct them`
    : `${PROXY} requires credentials (status 407): put them into that setting, as in http://user:password@host:port`;
}
