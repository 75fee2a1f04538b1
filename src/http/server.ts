// Bun's server: a call of an operation goes directly to engine/handle.ts, every other request to the app. Bun's own rejections (invalid
// HTTP, headers over 16 KB) have no body.
import { type ErrorForm, GATEWAY_ERRORS } from "../engine/call/called-operation.ts";
import type { Peers } from "../engine/call/received-call.ts";
import { afterUnread, isUnread } from "../engine/call/read-body.ts";
import { errorResponse } from "../engine/call/reply-headers.ts";
import { asGatewayError, GatewayError } from "../core/errors.ts";
import { newRandomId } from "../core/ids.ts";
import { memoizeBounded } from "../core/memoization.ts";
import type { MaybePromise } from "../core/maybe-promise.ts";
import type { Operation } from "../engine/operation.ts";
import { CALL_PATHS } from "./paths.ts";
import { errorsBeside } from "./unserved-operations.ts";

export interface ServerOptions {
  readonly host: string;
  readonly port: number;
  /** Other processes of this gateway listen on the same port. */
  readonly sharesPort?: boolean;
  readonly call: (operation: Operation, request: Request, peers: Peers) => Promise<Response>;
  readonly app: { fetch(request: Request, bindings: { readonly peer: string | null }): MaybePromise<Response> };
  readonly onFault: (fault: unknown) => void;
  /** The default is Bun's own maximum. */
  readonly idleSeconds?: number;
}

/** The part of Bun's server that handlers use. */
interface Serving extends Pick<Peers, "requestIP"> {
  /** Sets the idle time of the connection of a request; 0 means that there is no limit. */
  timeout(request: Request, seconds: number): void;
}

export type OpenServer = ReturnType<typeof openServer>;

/** The app bounds bodies and responds with an error body; this bound exists only because Bun requires one. */
const MAX_BODY_BYTES = Number.MAX_SAFE_INTEGER;
/** Seconds without a byte in either direction; silent streams get a comment every 15 s. Bun's own maximum is 255. */
const IDLE_SECONDS = 255;
/** Clients are asked to close their connections until no call has arrived for QUIET_MS, but at most for RETIRE_MS. */
const QUIET_MS = 500;
const RETIRE_MS = 5_000;
const POLL_MS = 20;

/**
 * Rejects requests that Bun accepts although RFC 9112 forbids them, or that Bun cannot serve to the end. Two Host
 * fields (3.2) arrive as one with a comma, which no host name contains. Where the Host is no host with a port (3.2), Bun
 * gives a relative URL, in which nothing finds the path. Bun ends a request with trailer fields (7.1.2)
 * with a bare 400 in the middle of its response, so a request that announces them is rejected first.
 */
export function refusedHead(
  { headers, url }: Pick<Request, "headers" | "url">,
  operation: Pick<Operation, "errors"> | null = null,
): Response | null {
  const fault =
    headers.get("host")?.includes(",") === true
      ? TWO_HOSTS
      : headers.has("trailer") && !headers.has("content-length")
        ? TRAILERS
        : isHost(headers.get("host"), url)
          ? null
          : NO_HOST;
  if (fault === null) return null;
  const errors: ErrorForm = operation?.errors ?? errorsBeside(URL.parse(url, "http://localhost")?.pathname ?? "");
  const answer = errorResponse(errors, new GatewayError("invalid_request", fault), newRandomId(), 0, {});
  answer.headers.set("connection", "close");
  return answer;
}

/** A name, an address, or an IPv6 address in brackets, each with or without a port: RFC 9112, 3.2, and RFC 3986, 3.2.2. */
const HOST = /^(?:[\w.~!$&'()*+;=-]+|\[[0-9A-Fa-fvV:.]+\])(?::\d*)?$/;

/** Before HTTP/1.1 a request needs none. */
function isHost(text: string | null, url: string): boolean {
  return text === null ? URL.canParse(url) : isNamedHost(text);
}

/** As many names as a gateway is called by, and more. */
const MAX_HOSTS = 256;
// clients name the same few hosts in each of their requests
const isNamedHost = memoizeBounded(
  MAX_HOSTS,
  (text: string): boolean => HOST.test(text) && URL.canParse(`http://${text}/`),
);

const NO_HOST = "The header Host is not a host name or address, with or without a port; send the name of the gateway.";
const TWO_HOSTS = "The request has more than one Host header; send one.";
const TRAILERS = "The request announces trailer fields, which are not supported; send it without them.";

/** Throws when the address is in use. */
export function openServer({
  host,
  port,
  sharesPort = false,
  call,
  app,
  onFault,
  idleSeconds = IDLE_SECONDS,
}: ServerOptions) {
  let lastCallMs = Number.NEGATIVE_INFINITY;
  let isRetiring = false;
  const last = (response: Response): Response => {
    if (isRetiring) response.headers.set("connection", "close");
    return response;
  };
  /**
   * Bun also counts a connection as idle while its request waits for an answer. How long a request may wait is decided by
   * the gateway's own time limits.
   */
  const answered = async (request: Request, own: Serving, answer: MaybePromise<Response>): Promise<Response> => {
    own.timeout(request, 0);
    try {
      return last(await answer);
    } finally {
      own.timeout(request, idleSeconds);
    }
  };
  const callOf = (operation: Operation) => ({
    POST: async (request: Request, own: Serving): Promise<Response> => {
      lastCallMs = performance.now();
      return refusedHead(request, operation) ?? (await answered(request, own, call(operation, request, peers)));
    },
  });
  const answerOf = async (request: Request, peer: string | null): Promise<Response> => {
    const answer = await app.fetch(request, { peer });
    return isUnread(request) ? await afterUnread(request, answer) : answer;
  };
  const peers: Peers = {
    requestIP: (request) => server.requestIP(request),
    keepOpen: (request) => server.timeout(request, idleSeconds),
  };
  const server = Bun.serve({
    hostname: host,
    port,
    // By default Bun lets a second gateway listen on the same port, and the two would share its connections.
    reusePort: sharesPort,
    development: false,
    idleTimeout: idleSeconds,
    maxRequestBodySize: MAX_BODY_BYTES,
    routes: Object.fromEntries(
      [...CALL_PATHS].flatMap(([path, operation]) => [
        [path, callOf(operation)],
        [`${path}/`, callOf(operation)],
      ]),
    ),
    fetch: async (request, own) => {
      const refused = refusedHead(request);
      if (refused !== null) return refused;
      // a call of a tool at /mcp is a call too
      if (request.method === "POST") lastCallMs = performance.now();
      return await answered(request, own, answerOf(request, own.requestIP(request)?.address ?? null));
    },
    error: (fault) => {
      onFault(fault);
      return errorResponse(GATEWAY_ERRORS, asGatewayError(fault), newRandomId(), 0, {});
    },
  });
  return {
    hostname: server.hostname,
    port: server.port,
    /**
     * Serves as before, but asks each client to close its connection after the response. Resolves when no call has
     * arrived for a while, or at once when none arrived recently; idle connections are then closed with the listener. A
     * client that is asked to close its connection loses no call on it, while a connection that the server closes by
     * itself may have a request on its way.
     */
    async retire(): Promise<void> {
      isRetiring = true;
      const endsMs = performance.now() + RETIRE_MS;
      for (let nowMs = performance.now(); nowMs < endsMs && nowMs - lastCallMs < QUIET_MS; nowMs = performance.now())
        await Bun.sleep(POLL_MS);
    },
    /** Closes the listener and idle connections; resolves when all responses in flight have left. */
    stop: () => server.stop(),
    /** Closes everything. */
    cut: () => server.stop(true),
  };
}
