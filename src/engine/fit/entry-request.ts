// Makes the request of one attempt: the client's own request with the parameters of an entry of `fallbacks` or
// `model_list`, or of a route's target. Each is made from the client's text again, so that nothing of one attempt
// remains in the next (promises 2.9, 3.4 and 7.3).
import type { ChatRequest, EntryAuthor, RequestFallback } from "../../core/chat.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Permission } from "../../core/identity.ts";
import type { JsonObject } from "../../core/json.ts";
import type { MaybePromise } from "../../core/maybe-promise.ts";
import { memoizePerObject } from "../../core/memoization.ts";
import type { Route, RouteTarget } from "../../core/configured/route.ts";
import { setsMember } from "../../core/request/held-body.ts";
import { invalidRequest } from "../../core/refusals.ts";
import { splitName } from "../../routing/compile-routes.ts";
import { inOneTurn, type Steps, turnByTurn } from "../../core/concurrency/steps.ts";
import { endpointFields, isEndpointField } from "./endpoint-fields.ts";

/** The source of such a request: an entry of the client's request, or a fallback of a route. */
export type Entry = Pick<RequestFallback, "model" | "route" | "params">;

/**
 * Bounds the characters of all requests of entries together, without the conversation, because each is parsed before
 * the first is sent.
 */
const MAX_ENTRY_TEXT = 16 * 1024 * 1024;
/**
 * Returns the client's request as `entry` changes it. An entry's parameters override the request's own, and null
 * removes one. Address and credentials of the request are left out where the entry has its own, or names a model of
 * another provider. Throws GatewayError of the parser.
 */
export function requestForEntry(request: ChatRequest, entry: Entry, author: EntryAuthor): ChatRequest {
  return entryRequests(request)(author)(entry);
}

const entryRequests = memoizePerObject((request: ChatRequest) => {
  const of = (author: EntryAuthor) => memoizePerObject((entry: Entry) => entryRequest(request, entry, author));
  const byAuthor = { caller: of("caller"), configuration: of("configuration") };
  return (author: EntryAuthor) => byAuthor[author];
});

function entryRequest(request: ChatRequest, { model, route, params }: Entry, author: EntryAuthor): ChatRequest {
  const keeps =
    !Object.keys(params).some(isEndpointField) &&
    model !== null &&
    route === null &&
    providerOf(model) !== null &&
    providerOf(model) === providerOf(request.options.model);
  // the requested route continues to serve the call, unless the entry names another
  const own = withModel(request, model, route ?? request.options.route);
  return request.form.withEntry(own, params, keeps, author);
}

function withModel(request: ChatRequest, model: string | null, route: string | null): ChatRequest {
  const { offered } = request;
  return {
    ...request,
    variant: "entry",
    options: { ...request.options, model, route, fallbacks: [], modelList: null },
    offered: offered === null ? null : { ...offered, requested: withModel(offered.requested, model, route) },
  };
}

/**
 * Returns the client's request for one target of its route. The target's parameters apply where the request does not
 * set them; those of an entry of `model_list` override the request. Throws `invalid_request` when the request contains
 * a credential or an address and does not say for which of several providers.
 */
export function requestForTarget(request: ChatRequest, target: RouteTarget, route: Route): ChatRequest {
  const { brought } = target;
  if (brought !== undefined) return requestForEntry(request, entryOf(brought), "caller");
  if (request.options.needs.size === 0 && Object.keys(target.params).length === 0) return request;
  return targetRequests(request)(route)(target);
}

const targetRequests = memoizePerObject((request: ChatRequest) =>
  memoizePerObject((route: Route) => memoizePerObject((target: RouteTarget) => targetRequest(request, target, route))),
);

function targetRequest(request: ChatRequest, target: RouteTarget, route: Route): ChatRequest {
  const owner = providerOf(request.options.model);
  const field = endpointFields(request)[0];
  if (field !== undefined && owner === null && route.targets.some(({ providerId }) => providerId !== target.providerId))
    throw invalidRequest(
      field,
      `The route ${JSON.stringify(route.name)} has targets of several providers, so it is unclear to which one ${field} belongs; name a model of the route as well.`,
    );
  const added = Object.fromEntries(Object.entries(target.params).filter(([name]) => !isSet(request, name)));
  const keeps = owner === null || owner === target.providerId;
  return request.form.withEntry(request, added, keeps, "configuration");
}

/**
 * Checks the entries of the request as if each were a request of its own, and adds the permissions that they require.
 * Throws GatewayError with the path of the entry.
 */
export function withCheckedEntries(request: ChatRequest): ChatRequest {
  return inOneTurn(checkedEntries(request));
}

/** Does the same as `withCheckedEntries`, but yields to other calls when there is much to parse. */
export function withEntriesInTurns(request: ChatRequest): MaybePromise<ChatRequest> {
  const { fallbacks, modelList } = request.options;
  if (fallbacks.length === 0 && modelList === null) return request;
  const isMuch = textWithoutMessages(request) * (fallbacks.length + (modelList?.length ?? 0)) > MAX_TEXT_IN_TURN;
  if (!isMuch) return withCheckedEntries(request);
  const steps = checkedEntries(request);
  return turnByTurn(() => steps.next());
}
const MAX_TEXT_IN_TURN = 262_144;

function* checkedEntries(request: ChatRequest): Steps<ChatRequest> {
  const { needs } = request.options;
  const entries = entriesOf(request);
  if (entries.length === 0) return request;
  const all = new Map<Permission, string>(needs);
  boundRepetition(request, entries.length);
  for (const { path, entry } of entries) {
    try {
      for (const [permission, field] of requestForEntry(request, entry, "caller").options.needs)
        if (!all.has(permission)) all.set(permission, `${path}.${field}`);
    } catch (thrown) {
      throw atEntry(thrown, path, entry.params);
    }
    yield;
  }
  return all.size === needs.size ? request : { ...request, options: { ...request.options, needs: all } };
}

/** Returns the entries of the request, each with its path for errors. */
export function entriesOf({ options: { fallbacks, modelList } }: ChatRequest): readonly {
  readonly path: string;
  readonly entry: Entry;
}[] {
  return [
    ...fallbacks.map((one) => ({ path: one.path, entry: one })),
    ...(modelList ?? []).map((one) => ({ path: one.path, entry: entryOf(one) })),
  ];
}

function textWithoutMessages({ source: { text, members } }: ChatRequest): number {
  const { valueStart = 0, valueEnd = 0 } = members.get("messages") ?? {};
  return text.length - (valueEnd - valueStart);
}

/** Throws `invalid_request`. */
function boundRepetition(request: ChatRequest, entries: number): void {
  const { options } = request;
  if (textWithoutMessages(request) * entries <= MAX_ENTRY_TEXT) return;
  throw invalidRequest(
    options.modelList === null ? "fallbacks" : "model_list",
    `The parameters of the request are too long to be combined with ${entries} entries; send fewer entries or shorter parameters.`,
  );
}

/** Returns the error of an entry's request with the path of the entry before its own. */
export function atEntry(thrown: unknown, path: string, params: JsonObject): unknown {
  if (!(thrown instanceof GatewayError)) return thrown;
  const { code, message, param, metadata, headers, detail } = thrown;
  const inside = param !== null && Object.hasOwn(params, /^\w+/.exec(param)?.[0] ?? param) ? `${path}.${param}` : path;
  const text =
    param !== null && message.startsWith(`${param} `) && inside !== path ? `${path}.${message}` : `${path}: ${message}`;
  return new GatewayError(code, text, {
    param: inside,
    headers,
    cause: thrown,
    ...(metadata && { metadata }),
    ...(detail !== null && { detail }),
  });
}

/** Returns the same object each time, so that its request is made once. */
const entryOf = memoizePerObject(
  ({ model, params }: { readonly model: string; readonly params: JsonObject }): Entry => ({
    model,
    route: null,
    params,
  }),
);

function providerOf(model: string | null): string | null {
  return model === null ? null : (splitName(model)?.providerId ?? null);
}

/** A body in another form may set a member that its translation has under another name, or not at all. */
function isSet({ params, extra, options, written }: ChatRequest, name: string): boolean {
  return (
    Object.hasOwn(params, name) ||
    Object.hasOwn(extra, name) ||
    (name === "tools" && options.toolServers.length > 0) ||
    (written !== undefined && setsMember(written, name))
  );
}
