// Bun's server: the hot operation goes straight to chat/, everything else to the app. Its own refusals (what is no HTTP, headers over 16 KB) are bare.
import type { Server } from "bun";
import type { Peers } from "../chat/call.ts";
import { afterUnread, isUnread } from "../chat/read-body.ts";
import { errorResponse } from "../chat/reply-headers.ts";
import { asGatewayError } from "../core/errors.ts";
import { newTraceId } from "../core/ids.ts";
import { CHAT_PATHS } from "./paths.ts";

export interface ServerOptions {
  readonly host: string;
  readonly port: number;
  readonly chat: (request: Request, peers: Peers) => Promise<Response>;
  readonly app: { fetch(request: Request, bindings: { readonly peer: string | null }): Response | Promise<Response> };
  readonly onFault: (fault: unknown) => void;
}

/** Bodies are bounded by the app, which answers with an error body; this bound is only there because Bun wants one. */
const MAX_BODY_BYTES = Number.MAX_SAFE_INTEGER;
/** Seconds without a byte in either direction; silent streams get a comment every 15. Bun's own bound is 255. */
const IDLE_SECONDS = 255;

/** Throws when the address is in use. */
export function openServer({ host, port, chat, app, onFault }: ServerOptions): Server<undefined> {
  const hot = { POST: chat };
  return Bun.serve({
    hostname: host,
    port,
    // left out, Bun lets a second gateway listen on the same port, and the two would share its connections
    reusePort: false,
    development: false,
    idleTimeout: IDLE_SECONDS,
    maxRequestBodySize: MAX_BODY_BYTES,
    routes: Object.fromEntries(CHAT_PATHS.flatMap((path) => [[path, hot], [`${path}/`, hot]])),
    fetch: async (request, server) => {
      const answer = await app.fetch(request, { peer: server.requestIP(request)?.address ?? null });
      return isUnread(request) ? await afterUnread(request, answer) : answer;
    },
    error: (fault) => {
      onFault(fault);
      return errorResponse(asGatewayError(fault), newTraceId(), 0, {});
    },
  });
}
