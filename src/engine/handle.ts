// One request of any operation, from top to bottom: authenticate, refuse what the token and its limits forbid whatever
// the body says, parse, authorize, admit, reply. Each step is a file; errors of all become a response in one place.
import { authorize, requireInference } from "../auth/authorize.ts";
import { identify, presentedToken } from "../auth/identify.ts";
import { wayOf } from "../auth/logins/recent-login.ts";
import type { CallOptions } from "../core/chat.ts";
import { TURNS_BYTES, yieldToLoop } from "../core/concurrency/event-loop.ts";
import type { AccessToken, Permission } from "../core/identity.ts";
import { isPending } from "../core/maybe-promise.ts";
import { Call } from "./call/call.ts";
import type { ChatContext } from "./call/context.ts";
import { withEntriesInTurns } from "./fit/entry-request.ts";
import { replayedCall } from "./call/call-audit.ts";
import { asksToExplain, requireExplainable, EXPLAIN_HEADER, isOn } from "./explain/explain.ts";
import { callReach } from "./plan/reach.ts";
import { preparation } from "./mirror/copy-call.ts";
import type { Operation } from "./operation.ts";
import { parseBody } from "./call/parse-body.ts";
import { afterUnread, isUnread, readBody } from "./call/read-body.ts";
import { type Peers, ReceivedCall } from "./call/received-call.ts";

/**
 * Answers a request for `operation`. It never throws, because every failure becomes an error response. `caller` is who
 * asks where that is known already; the headers are then not asked for a token, and the answer is for no other origin.
 */
export async function handleCall(
  operation: Operation,
  http: Request,
  context: ChatContext,
  peers: Peers | null = null,
  caller: AccessToken | null = null,
): Promise<Response> {
  const received = new ReceivedCall(operation, context, http, peers, caller === null);
  const { snapshot, recorder, lifetime, clock } = received;
  let answer: Response;
  try {
    if (caller !== null) recorder.authenticated(caller);
    const known =
      caller ??
      identify(
        presentedToken(http.headers, snapshot),
        received.clientIp,
        snapshot,
        context.logins,
        context.clock.now(),
        recorder.authenticated,
      );
    const token = isPending(known) ? await clock.waiting(known) : known;
    const explains = asksToExplain(http.headers);
    const replayed = replayedCall(http.headers);
    const showsCost = isOn(http.headers.get("x-gateway-cost"), "x-gateway-cost");
    requireInference(token, explains ? NEEDED_TO_EXPLAIN : NOTHING_NEEDED, snapshot);
    if (explains) recorder.explains();
    lifetime.enter(token.tenantId, snapshot.limits);
    const reading = readBody(http, snapshot.limits, received.longBodyOf(token, explains));
    const body = isPending(reading) ? await clock.waiting(reading) : reading;
    if (explains) requireExplainable(body);
    const parsing = parseBody(operation, { token, address: received.clientIp, context, snapshot }, body, {
      isHere: explains,
      clock,
    });
    const parsed = isPending(parsing) ? await parsing : parsing;
    if (parsed.held !== undefined) lifetime.releaseAtEnd(parsed);
    if (body.length >= TURNS_BYTES) await yieldToLoop();
    const checked = withEntriesInTurns(parsed);
    const sent = isPending(checked) ? await checked : checked;
    received.parsed(sent);

    const principal = authorize(token, requestedScope(sent.options, http.headers, explains), snapshot);
    recorder.authorized(principal);
    const call = new Call(received, sent, principal, { isExplained: explains, showsCost });
    if (call.objects.hasReferences) await clock.waiting(call.objects.load());
    const asked = { call, request: sent, principal, headers: http.headers };
    const admitted = call.policies?.admit(callReach(operation, asked));
    if (isPending(admitted)) await admitted;
    if (context.notes !== null && (explains || replayed !== null))
      await context.notes.note({
        action: explains ? "explain" : "replay",
        traceId: replayed ?? call.traceId,
        principal,
        address: received.clientIp(),
        way: wayOf(context.session),
      });

    answer = await operation.reply({
      ...asked,
      prepare: preparation({ operation, received, call, request: sent, principal, http }),
      fail: (thrown: unknown) => void received.fail(thrown),
      explains,
    });
  } catch (thrown) {
    answer = received.fail(thrown);
    // the call has ended and has released its place before the rest of the unwanted body is read
    if (isUnread(http)) await afterUnread(http, answer);
  }
  operation.addHeaders?.(answer.headers, context.clock.now());
  // a stream does this itself, before its last bytes
  if (lifetime.written !== null) await lifetime.written;
  return answer;
}

const NOTHING_NEEDED: ReadonlyMap<Permission, string> = new Map();
const NEEDED_TO_EXPLAIN: ReadonlyMap<Permission, string> = new Map([["debug", EXPLAIN_HEADER]]);

/** Returns the scopes that the request names; its body overrides its headers (promise 2.1). */
function requestedScope(options: CallOptions, headers: Headers, explains: boolean) {
  return {
    tenantId: options.tenantId ?? headers.get("x-gateway-tenant-id"),
    projectId: options.projectId ?? headers.get("x-gateway-project-id"),
    needs: explains ? new Map<Permission, string>([...options.needs, ...NEEDED_TO_EXPLAIN]) : options.needs,
  };
}
