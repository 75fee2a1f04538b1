// Fits a request to its target (promises 5.7 and 6.2 to 6.5): what the provider does not support is refused or, where
// that is allowed, dropped and reported. It works only on data: the provider's capability table, its dialect and its
// reserved names.

// Decides (the request): Is a parameter sent, mapped, emulated, dropped or refused? By: `fitParams`, `checkValue`.
// Also: by the provider's capability table. Rule: A parameter that the target lacks is refused
// (`unsupported_parameter`), or dropped with `drop_params` or `drop` of the target and named in the header
// `x-gateway-dropped-params`; a value that it lacks is always refused, by `core/refusals.ts` (`unsupported_value`). Those
// of `NEVER_UNSUPPORTED` and `ADVISORY` (`core/params.ts`) are left out without leave, the latter named in the header.
// What is refused here was not sent: the next target is attempted, and the client gets the error if no target is left.
// Decides (the request): What happens to more than four `stop` sequences? By: `withinStopLimit`. Also:
// `engine/fit/fit-settings.ts`. Rule: The first four are sent, and `stop_truncated` is among the warnings, unless
// `disable_stop_sequence_limit` is set for the route, the project, the tenant or the gateway.
// Decides (the request): What happens to `n` where a provider returns one choice? By: `callsFor`. Also:
// `engine/attempt/upstream-requests.ts` (`sendRequests`). Rule: Where its table says `emulated`, one upstream request for
// each choice, joined by `engine/stream/fan-out.ts` or `joinedAnswer` of `engine/answer/non-streaming-answer.ts`; where it
// says `unsupported`, as any other parameter.
// Decides (the request): What keeps `parallel_tool_calls: false` where a provider has no switch for it? By:
// `fitParams`. Also: by `FIRST_CALL_ALONE` of `core/capability.ts`. Rule: Calls beyond the first are left out of the
// answer: in `engine/stream/vendor-repair.ts` (`VendorRepair`).
import {
  invalidRequest,
  reservedParameter,
  unsupportedBlock,
  unsupportedParameter,
  unsupportedValue,
} from "../../core/refusals.ts";
import { withMembers, type RequestSource } from "../../core/request/request-source.ts";
import { toldPaths } from "../../core/request/told-paths.ts";
import type { ClientDeviationName } from "../../core/configured/client-deviations.ts";
import { type Capability, capabilityOf, effectiveCapability, FIRST_CALL_ALONE } from "../../core/capability.ts";
import type { ChatParams, ChatRequest, Message, MessageRole, Untranslated } from "../../core/chat.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Principal } from "../../core/identity.ts";
import { describe, isObject, isRawNumber, type Json, type JsonObject } from "../../core/json.ts";
import { ADVISORY, COMMON, type CommonParameter, NEVER_UNSUPPORTED } from "../../core/params.ts";
import type { ParameterDisposition } from "../../core/record/record.ts";
import { type Target, targetName } from "../../core/target.ts";
import { type Dialect, dialectOf } from "../../providers/interface/dialect.ts";
import type { NativeOperation } from "../../providers/interface/native-operation.ts";
import type { Provider } from "../../providers/interface/provider.ts";
import { NO_ROLE } from "../../providers/interface/provider-declaration.ts";
import { fitConversation, SILENT_ROLES, withToolImages } from "./fit-conversation.ts";
import { taskRequests } from "./task-parts.ts";

export interface FitSettings {
  readonly dropParams: boolean;
  readonly disableStopSequenceLimit: boolean;
  /** Parameters that the route's target drops from every request; absent when there are none. */
  readonly drop?: ReadonlySet<CommonParameter>;
  /** Set where nothing may be stored in the vendor's account. */
  readonly storesNothing?: true;
  /** Set where the gateway has the vendor cache the prompt. */
  readonly cachesPrompts?: true;
  /** Whether what is done for named clients is done here; all of it when absent. */
  readonly deviates?: (name: ClientDeviationName) => boolean;
}

/**
 * Why a target is sent the translation: its model does not speak the operation; the gateway runs tools of the call; a
 * guard searches its answer, which it does in the form of chat completions; a parameter has no place in the form.
 */
export type TranslationReason = "not_spoken" | "tool_servers" | "output_guard" | "parameter";

export interface FittedRequest {
  readonly request: ChatRequest;
  /** Parameters by the names that the caller used, and members of the conversation, such as `messages[].name`. */
  readonly dropped: readonly string[];
  readonly dispositions: Readonly<Record<string, ParameterDisposition>>;
  /** Set where the target speaks the operation and is sent what the client wrote. */
  readonly native?: NativeOperation;
  /** Set where the target is asked for encrypted reasoning that the client did not ask for. */
  readonly hidesReasoning?: true;
  /** Set where the target is sent the translation of a request in another form: why. */
  readonly translated?: TranslationReason;
  /** Set where the gateway leaves out every call but the first, because the provider has no switch for it. */
  readonly firstCallAlone?: true;
  /** Set where the request has tools that run at the vendor, which may hand out ids. */
  readonly runsHostedTools?: true;
}

const MAX_STOP_SEQUENCES = 4;

/**
 * Throws `unsupported_parameter`, `unsupported_value`, `unsupported_content_block`, `reserved_parameter`,
 * `permission_required` or `invalid_request`.
 */
export function fitRequest(
  original: ChatRequest,
  provider: Provider,
  target: Target,
  settings: FitSettings,
  principal: Principal,
): FittedRequest {
  const untranslated = leftUntranslated(original, provider, target, settings);
  refuseForeignForms(original, dialectOf(provider, target.model));
  refuseBlocks(original, provider, target);
  guardPassThrough(original, provider, principal);
  const limited = withToolImages(
    withEmptyMessagesWarning(withinStopLimit(original, settings), provider, target),
    provider,
    target,
  );
  const { request: whole, left } = fitConversation(limited, provider.conversation(target));
  // a target's `drop` names common parameters, which a request may also have in `extra_body`
  const { drop = NOTHING_DROPPED } = settings;
  const unwanted = Object.keys(whole.extra).filter((name) => drop.has(name as CommonParameter));
  const request = unwanted.length === 0 ? whole : withMembers(whole, { extra: without(whole.extra, unwanted) });
  const { params, dropped, dispositions, firstCallAlone } = fitParams(request, provider, target, settings);
  for (const name of [...left, ...unwanted]) dispositions[name] = "dropped";
  if (!provider.sameShape) refuseChoiceOfNothing(params);
  for (const name of Object.keys(request.extra)) dispositions[name] = "passed";
  for (const path of toldPaths(untranslated).named)
    if (!Object.hasOwn(dispositions, path)) dispositions[path] = "dropped";
  const fitted = params === request.params ? request : withMembers(request, { params });
  const isSingle = firstCallAlone && dispositions["parallel_tool_calls"] === "emulated" && mayCallSeveral(params);
  return {
    ...(firstCallAlone && { firstCallAlone }),
    ...(original.vendorForms.some(({ kind }) => kind === "tool") && { runsHostedTools: true as const }),
    request: withEmulations(fitted, callsFor(fitted, provider, target.model) > 1, isSingle),
    dropped: inForm([...dropped, ...left, ...unwanted], untranslated, original),
    dispositions,
  };
}

const NOTHING_DROPPED: ReadonlySet<CommonParameter> = new Set();

function without(extra: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(extra).filter(([name]) => !names.includes(name)));
}

/** Adds a warning for each parameter that the gateway emulates at a cost or with a loss. */
function withEmulations(request: ChatRequest, hasSeveralCalls: boolean, isSingle: boolean): ChatRequest {
  const told = hasSeveralCalls ? { ...request, warnings: [...request.warnings, "n_emulated"] } : request;
  return isSingle ? { ...told, warnings: [...told.warnings, "parallel_tool_calls_emulated"] } : told;
}

/**
 * Returns the paths of what the target is not sent, because it is sent a translation. Throws `unsupported_parameter` for
 * what may not be left out.
 */
function leftUntranslated(
  { written }: ChatRequest,
  provider: Provider,
  target: Target,
  settings: FitSettings,
): readonly string[] {
  if (written === undefined || written.untranslated.length === 0) return NOTHING_LEFT;
  const refused = written.untranslated.filter((part) => !mayBeLeft(part, settings));
  const [first, ...others] = refused;
  if (first === undefined) return written.untranslated.map(({ path }) => path);
  const { path, message, isInvalid } = first;
  if (isInvalid === true) throw new GatewayError("invalid_request", message, { param: path, isWritten: true });
  const { named, more } = toldPaths(others.filter((part) => part.isInvalid !== true).map((part) => part.path));
  const also = more === 0 ? named : [...named, `${more} more`];
  throw new GatewayError(
    "unsupported_parameter",
    `${message} The target is ${targetName(target)} (${provider.label})${also.length === 0 ? "" : `, which cannot take ${also.join(", ")} either`}.`,
    { param: path, isWritten: true },
  );
}

/** Whether a request may go without a part that its target does not take. */
export function mayBeLeft({ dropped, deviation }: Untranslated, { dropParams, deviates }: FitSettings): boolean {
  if (dropped === "never") return false;
  return dropParams || (dropped === "always" && (deviation === undefined || deviates?.(deviation) !== false));
}
const NOTHING_LEFT: readonly string[] = [];

function isAdvisory(name: CommonParameter, { written }: ChatRequest, { deviates }: FitSettings): boolean {
  if (ADVISORY.has(name)) return true;
  const found = written?.advisory.find((one) => one.name === name);
  return found !== undefined && (found.deviation === undefined || deviates?.(found.deviation) !== false);
}

/** Returns what was dropped by the paths of the client's own body. */
function inForm(dropped: readonly string[], untranslated: readonly string[], request: ChatRequest): readonly string[] {
  if (request.written === undefined) return dropped;
  return [...new Set([...dropped.map((path) => request.form.pathOf(path, request)), ...untranslated])];
}

/**
 * Returns how many upstream requests are needed: 1, except for the inputs of a task, and for several choices from a
 * provider that returns only one for each request.
 */
export function callsFor(request: ChatRequest, provider: Provider, model: string): number {
  const { form, params } = request;
  if (form.task !== undefined) return taskRequests(request, form.task, provider, model);
  const { capabilities } = provider;
  const { n } = params;
  return n === undefined || n === 1 || capabilityOf(capabilities, "n", model).support !== "emulated" ? 1 : n;
}

/** Whether the list contains the value. An entry of a dialect's list may end in `*`, which matches any ending. */
function includes(list: readonly string[], value: string): boolean {
  return list.some((word) => word === value || (word.endsWith("*") && value.startsWith(word.slice(0, -1))));
}

/** Refuses forms that only the models of another vendor understand (promise 5.7). */
function refuseForeignForms(request: ChatRequest, { blocks, tools, toolChoices, messageRules }: Dialect): void {
  for (const form of request.vendorForms) {
    const list = { block: blocks, tool: tools, tool_choice: toolChoices, message_rule: messageRules }[form.kind];
    if (!includes(list, form.value)) throw invalidRequest(form.path, `${form.message}.`);
  }
}

function refuseBlocks(request: ChatRequest, provider: Provider, target: Target): void {
  for (const [type, path] of request.blocks)
    if (effectiveCapability(provider.capabilities, type, target.model).support === "unsupported")
      throw unsupportedBlock(
        path,
        `${provider.label} cannot take content blocks of type ${type} with the model ${targetName(target)}; content is never dropped.`,
      );
}

/** Throws `reserved_parameter`, or `permission_required` for what the caller wrote. */
export function guardPassThrough(request: ChatRequest, provider: Provider, principal: Principal): void {
  for (const name of Object.keys(request.extra)) {
    if (provider.reserved.has(name))
      throw reservedParameter(
        name,
        `${name} is set by the gateway itself for ${provider.label}; use the common parameter for it.`,
      );
    if (!provider.privileged.has(name) || request.configured?.has(name) === true) continue;
    if (!principal.permissions.has("byo_endpoint"))
      throw new GatewayError(
        "permission_required",
        `${name} can select further models at ${provider.label} and needs the permission byo_endpoint.`,
        { param: name },
      );
    if (principal.restrictions !== null)
      throw new GatewayError(
        "permission_required",
        `${name} can select further models at ${provider.label}, but this access token is restricted to some models or routes.`,
        { param: name },
      );
  }
}

/**
 * Throws `reserved_parameter` where the request sets a guard of the provider, and `params`, which the configuration has
 * for the target, or an entry of the configuration on the way to it, sets one (promise 6.5).
 */
export function refuseOverwrittenGuards(
  { extra, configured }: ChatRequest,
  params: JsonObject,
  { guards = [], label }: Provider,
): void {
  const { extra_body: inside } = params;
  const isConfigured = (name: string): boolean =>
    configured?.has(name) === true || Object.hasOwn(params, name) || (isObject(inside) && Object.hasOwn(inside, name));
  if (!guards.some(isConfigured)) return;
  const written = guards.find((name) => Object.hasOwn(extra, name) && configured?.has(name) !== true);
  if (written !== undefined)
    throw reservedParameter(
      written,
      `${written} cannot be set by a request here, because the configuration of the route sets the guard of ${label}. Leave it out.`,
    );
}

function withinStopLimit(request: ChatRequest, settings: FitSettings): ChatRequest {
  const stop = request.params.stop;
  if (settings.disableStopSequenceLimit || !Array.isArray(stop) || stop.length <= MAX_STOP_SEQUENCES) return request;
  const shortened = (stop as readonly string[]).slice(0, MAX_STOP_SEQUENCES);
  return {
    ...withMembers(request, { params: { ...request.params, stop: shortened } }),
    warnings: [...request.warnings, "stop_truncated"],
  };
}

/** Reports `api_version` and cloud locations that the provider does not use as warnings instead of refusing them. */
export function withUnusedSettings(request: ChatRequest, { settings }: Provider): ChatRequest {
  const sent = Object.keys(request.options.settings);
  if (sent.length === 0) return request;
  const unused = sent.filter((field) => !settings.some((setting) => setting.field === field));
  return unused.length === 0
    ? request
    : { ...request, warnings: [...request.warnings, ...unused.map((field) => `${field}_unused`)] };
}

/** Adds a warning about empty messages, which the encoder leaves out where the vendor would refuse them. */
function withEmptyMessagesWarning(request: ChatRequest, provider: Provider, target: Target): ChatRequest {
  const own = provider.leavesOutEmpty?.(target.model) ?? NO_ROLE;
  const leftOut = own.size > 0 || request.written === undefined ? own : SILENT_ROLES;
  if (leftOut.size === 0 || leftOut.isDisjointFrom(emptyRolesOf(request))) return request;
  return { ...request, warnings: [...request.warnings, "empty_messages_left_out"] };
}

/** Returns the roles of which the client has sent a message without content. */
export function emptyRolesOf({ messages, held }: Pick<ChatRequest, "messages" | "held">): ReadonlySet<MessageRole> {
  return held?.emptyRoles ?? new Set(messages.filter(isEmptyMessage).map(({ role }) => role));
}

/** Whether the content is empty or has only parts without text, and no other member would be sent to a provider. */
function isEmptyMessage({
  content,
  refusal: refused,
  tool_calls: calls,
  reasoning_details: details,
  reasoning_content: reasoning,
  ...rest
}: Message): boolean {
  if (
    typeof content === "string"
      ? content !== ""
      : (content ?? []).some(
          (part) =>
            !((part.type === "text" && part["text"] === "") || (part.type === "refusal" && part["refusal"] === "")),
        )
  )
    return false;
  return (
    (refused ?? "") === "" &&
    (calls ?? []).length === 0 &&
    (details ?? []).length === 0 &&
    (reasoning ?? "") === "" &&
    rest["images"] === undefined &&
    rest["extra_content"] === undefined
  );
}

function fitParams(
  request: ChatRequest,
  provider: Provider,
  target: Target,
  settings: FitSettings,
): {
  readonly params: ChatParams;
  readonly dropped: readonly string[];
  readonly dispositions: Record<string, ParameterDisposition>;
  readonly firstCallAlone: boolean;
} {
  const dispositions: Record<string, ParameterDisposition> = {};
  /** By the names that the caller used. */
  const unwanted: string[] = [];
  const unsupported: string[] = [];
  let note: string | undefined;
  const removed: CommonParameter[] = [];
  let isStored = true;
  let firstCallAlone = false;
  for (const name of Object.keys(request.params) as CommonParameter[]) {
    const value = request.params[name as keyof ChatParams] as Json;
    const cell = effectiveCapability(provider.capabilities, name, target.model);
    const sent = sentName(name, request.source);
    if (settings.drop?.has(name) === true) {
      removed.push(name);
      if (sent !== null) unwanted.push(sent);
    } else if (isAdvisory(name, request, settings) && !takes(name, value, cell)) {
      removed.push(name);
      if (sent !== null) unwanted.push(sent);
    } else if (name === "store" && value === true && cell.support !== "unsupported" && settings.storesNothing) {
      isStored = false;
      if (sent !== null) unwanted.push(sent);
    } else if (cell === FIRST_CALL_ALONE) {
      removed.push(name);
      if (isNeutral(name, value)) continue;
      firstCallAlone = true;
      if (sent !== null) dispositions[sent] = "emulated";
    } else if (cell.support !== "unsupported") {
      if (!isNeutral(name, value)) checkValue(name, value, cell, target);
      if (sent !== null) dispositions[sent] = cell.support;
    } else if (NEVER_UNSUPPORTED.has(name)) continue;
    else if (cell.neutral?.(value, request) === true) {
      // the only value that the model accepts is passed on as it came
      if (sent !== null) dispositions[sent] = "native";
    } else {
      removed.push(name);
      if (sent === null || isNeutral(name, value)) continue;
      unsupported.push(sent);
      ({ note } = cell);
    }
  }
  if (removed.length === 0 && isStored) return { params: request.params, dropped: [], dispositions, firstCallAlone };
  if (unsupported.length > 0 && !settings.dropParams) {
    const asked = inForm(unsupported, NOTHING_LEFT, request);
    const setting = request.written === undefined ? "drop_params to true" : DROPPING;
    throw lackingParameters(asked, provider, target, setting, note);
  }
  const dropped = [...unwanted, ...unsupported];
  const params: Record<string, unknown> = { ...request.params };
  for (const name of removed) delete params[name];
  if (!isStored) params["store"] = false;
  for (const name of dropped) dispositions[name] = "dropped";
  return { params, dropped, dispositions, firstCallAlone };
}

/** Whether the model is free to call more than one tool: there are tools, and the choice names none of them. */
function mayCallSeveral({ tools = [], tool_choice: choice = "auto" }: ChatParams): boolean {
  return tools.length > 0 && (choice === "auto" || choice === "required");
}

/**
 * Refuses a choice among no tools, which a translated request cannot express; a provider with OpenAI's own API decides
 * by itself.
 */
function refuseChoiceOfNothing({ tools = [], tool_choice: choice }: ChatParams): void {
  if (choice === undefined || choice === "none" || choice === "auto" || tools.length > 0) return;
  throw invalidRequest("tool_choice", "tool_choice asks for a tool call, but tools declares no tool.");
}

export const DEPRECATED_NAMES: Readonly<Partial<Record<CommonParameter, string>>> = {
  tools: "functions",
  tool_choice: "function_call",
};

/** Returns the name under which the caller sent a parameter; `null` when the gateway added it. */
function sentName(name: CommonParameter, { members, rewritten }: RequestSource): string | null {
  const deprecated = DEPRECATED_NAMES[name];
  if (deprecated !== undefined && rewritten.has(name) && members.has(deprecated)) return deprecated;
  return members.has(name) ? name : null;
}

function isNeutral(name: CommonParameter, value: Json): boolean {
  return (COMMON[name] as { readonly neutral?: (value: Json) => boolean }).neutral?.(value) ?? false;
}

/** Whether a target with this capability takes the parameter with this value. */
function takes(name: CommonParameter, value: Json, { support, values }: Capability): boolean {
  if (support === "unsupported") return false;
  return isNeutral(name, value) || values === undefined || typeof value !== "string" || values.includes(value);
}

function checkValue(name: CommonParameter, value: Json, cell: Capability, target: Target): void {
  if (cell.values !== undefined) {
    const word = isObject(value) ? value["type"] : value;
    if (typeof word === "string" && !cell.values.includes(word))
      throw unsupportedValue(
        name,
        `${name} of ${targetName(target)} takes ${cell.values.map((known) => JSON.stringify(known)).join(", ")}; got ${describe(word)}.`,
      );
  }
  const number = isRawNumber(value) ? Number(value.rawJSON) : value;
  if (cell.range !== undefined && typeof number === "number" && (number < cell.range[0] || number > cell.range[1]))
    throw unsupportedValue(
      name,
      `${name} of ${targetName(target)} takes ${cell.range[0]} to ${cell.range[1]}; got ${describe(value)}.`,
    );
}

/** What has parameters dropped in forms that are not that of chat completions. */
export const DROPPING = "drop_params to true in x_gateway";

/**
 * `names` are those of the client's own form. `setting` is what would have them dropped; null where nothing would. `note`
 * says more of the last of them.
 */
export function lackingParameters(
  names: readonly string[],
  { label }: Provider,
  target: Target,
  setting: string | null,
  note?: string,
): GatewayError {
  const pronoun = names.length > 1 ? "them" : "it";
  const why = note === undefined || names.length > 1 ? "" : ` (${note})`;
  const cure = setting === null ? "" : `, or set ${setting} to drop ${pronoun}`;
  return unsupportedParameter(
    names[0]!,
    `${label} does not support ${names.join(", ")} with the model ${targetName(target)}${why}. Leave ${pronoun} out${cure}.`,
  );
}
