// One request, from top to bottom: authenticate, refuse what the token alone forbids, parse, authorize, prepare the
// candidates, complete, reply. Each step is a file of its own, and the errors of all steps become a response in one
// place.
import { authorize, requireInference } from "../auth/authorize.ts";
import { identify } from "../auth/identify.ts";
import type { CallOptions, ChatRequest } from "../core/chat.ts";
import type { Permission } from "../core/identity.ts";
import { isPending } from "../core/maybe-promise.ts";
import { Call } from "./call/call.ts";
import { complete } from "./plan/complete.ts";
import type { ChatContext } from "./call/context.ts";
import { withEntriesInTurns } from "./fit/entry-request.ts";
import { asksToExplain, requireExplainable, EXPLAIN_HEADER, replyExplained } from "./explain/explain.ts";
import { isOn } from "./call/header-switch.ts";
import { prepare } from "./plan/stages.ts";
import { LONG_BODY_BYTES } from "./long-bodies/long-body-thread.ts";
import { openToolSession } from "./tools/open-tool-session.ts";
import { parseChatRequest } from "./request/parse.ts";
import { afterUnread, bodyText, isUnread, readBody } from "./call/read-body.ts";
import { type Peers, ReceivedCall } from "./call/received-call.ts";
import { replyNonStreamingRounds } from "./tools/non-streaming-rounds.ts";
import { replyStreamedRounds } from "./tools/streamed-rounds.ts";
import { replyStream, streaming } from "./stream/reply-stream.ts";
import { replyNonStreaming, nonStreaming } from "./answer/reply-non-streaming.ts";
import { ToolRounds } from "./tools/tool-rounds.ts";

/** Answers `POST /api/v1/chat/completions`. It never throws, because every failure becomes an error response. */
export async function handleChat(http: Request, context: ChatContext, peers: Peers | null = null): Promise<Response> {
  const received = new ReceivedCall(context, http, peers);
  const { snapshot, recorder, lifetime } = received;
  let answer: Response;
  try {
    const known = identify(
      http.headers.get("authorization"),
      received.clientIp,
      snapshot,
      context.logins,
      context.clock.now(),
      recorder.authenticated,
    );
    const token = isPending(known) ? await known : known;
    const explains = asksToExplain(http.headers);
    const showsCost = isOn(http.headers.get("x-gateway-cost"), "x-gateway-cost");
    requireInference(token, explains ? NEEDED_TO_EXPLAIN : NOTHING_NEEDED, snapshot);
    lifetime.enter(token.tenantId, snapshot.limits);

    const { limits } = snapshot;
    const body = await readBody(http, limits);
    if (explains) requireExplainable(body);
    const { longRequests } = context;
    const parsed =
      longRequests === null || explains || body.length < LONG_BODY_BYTES
        ? parseChatRequest(bodyText(body), limits.body)
        : lifetime.holding(await longRequests.open(body, limits.body, token.tenantId));
    const checked = withEntriesInTurns(parsed);
    const sent = isPending(checked) ? await checked : checked;
    received.parsed(sent);

    const principal = authorize(token, requestedScope(sent.options, http.headers, explains), snapshot);
    recorder.authorized(principal);
    const call = new Call(received, sent, principal, { isExplained: explains, showsCost });
    const admitted = call.policies?.admit();
    if (isPending(admitted)) await admitted;

    const prepared = (request: ChatRequest) => prepare(request, principal, http.headers, call, call.meter.degradeTo);
    const opening = openToolSession(sent, principal, call);
    if (explains) answer = await replyExplained(prepared, sent, principal, http.headers, call, await opening);
    else if (opening !== null) {
      const rounds = opening.then((session) => new ToolRounds(session, prepared, call));
      answer = await (sent.params.stream === true
        ? replyStreamedRounds(rounds, call)
        : replyNonStreamingRounds(rounds, call));
    } else if (sent.params.stream === true)
      answer = await replyStream(complete(prepared(sent), call, streaming(call)), call);
    else answer = replyNonStreaming(await complete(prepared(sent), call, nonStreaming(call)), call);
  } catch (thrown) {
    answer = received.fail(thrown);
    // the call has ended and has released its place before the rest of the unwanted body is read
    if (isUnread(http)) await afterUnread(http, answer);
  }
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
