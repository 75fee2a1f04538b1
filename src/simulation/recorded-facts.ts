// What rules of policies and conditions of routes can read of a recorded call. What the record does not hold throws when
// it is read.
import type { ChatParams, ChatRequest } from "../core/chat.ts";
import type { Principal } from "../core/identity.ts";
import type { Json, JsonObject } from "../core/json.ts";
import { COMMON_PARAMETERS } from "../core/params.ts";
import { DIRECT_ROUTE } from "../core/configured/route.ts";
import type { RecordedCall } from "../store/calls/calls.ts";
import type { RecordedToken } from "../store/search/recorded-calls.ts";
import { wasSent } from "./recorded-parameters.ts";
import { simulatedPrincipal } from "./simulated-call.ts";

/** Something that is read is not in the record. */
export class NotRecorded extends Error {}

/** By id, those of the calls. */
export type RecordedTokens = ReadonlyMap<string, RecordedToken>;

/** Reads what is not recorded: throws. */
export type Unknown = (what: string) => never;

export function notRecorded(what: string): never {
  throw new NotRecorded(what);
}

/** Kind, role and permissions of a token that was deleted are not known. */
export function recordedPrincipal(
  call: RecordedCall,
  tenantId: string,
  tokens: RecordedTokens,
  unknown: Unknown = notRecorded,
): Principal {
  const token = call.tokenId === null ? undefined : tokens.get(call.tokenId);
  const principal = {
    ...simulatedPrincipal({ tenantId, projectId: call.projectId ?? "" }),
    tokenId: call.tokenId ?? "",
    userId: call.userId,
  };
  if (token !== undefined)
    return {
      ...principal,
      tokenKind: token.kind,
      role: token.role ?? "developer",
      permissions: new Set(token.permissions),
    };
  for (const name of ["tokenKind", "role", "permissions"] as const)
    hide(principal, name, () => unknown(`token.${name}`));
  return principal;
}

/** `params` are values of parameters that count as sent, where the call had the parameters. */
export function recordedRequest(
  call: RecordedCall,
  params: ChatParams | null = null,
  unknown: Unknown = notRecorded,
): ChatRequest {
  const { messages, usage, endUser, metadata, route, modelAsked, stream } = call;
  const sent: Record<string, Json> = {};
  const values: JsonObject = { ...(params as JsonObject | null), user: endUser, stream };
  for (const name of COMMON_PARAMETERS) {
    const isSent = wasSent(name, call);
    const value = values[name];
    if (isSent === true && value !== undefined) sent[name] = value;
    else if (isSent !== false) hide(sent, name, () => unknown(`request.parameters.${name}`));
  }
  const held = {
    count: messages?.count ?? 0,
    roles: messages?.roles ?? {},
    promptTokens: usage?.prompt_tokens ?? 0,
    memberFacts: null,
  };
  hide(held, "characters", () => unknown("request.messages.characters"));
  hide(held, "parts", () => unknown("request.messages.parts"));
  if (usage === null) hide(held, "promptTokens", () => unknown("request.messages.prompt_tokens"));
  // a model that is neither a target nor left out is the name or an alias of the route
  const named = route === DIRECT_ROUTE || (modelAsked !== null && !/[:/]/.test(modelAsked)) ? null : route;
  const request = {
    params: sent,
    messages: [],
    held,
    options: { route: named, model: modelAsked, metadata, toolServers: [] },
  };
  hide(request, "extra", () => unknown("request.extra"));
  if (mayLackTools(call)) hide(request, "written", () => unknown("request.tools"));
  return request as unknown as ChatRequest;
}

/**
 * Whether the request may have had tools of which the record does not tell: those of another form that its translation
 * lacks. The record of a call whose target was sent what the client wrote has the names of all members.
 */
function mayLackTools({ operation, parameters }: RecordedCall): boolean {
  return /^(messages|responses)\b/.test(operation) && !parameters.includes("messages") && !parameters.includes("input");
}

function hide(object: object, name: string, read: () => never): void {
  Object.defineProperty(object, name, { get: read, enumerable: true, configurable: true });
}
