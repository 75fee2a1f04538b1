// Prepares a request for a target in one of four ways: as a translated conversation, as the native request that the client
// wrote, as raw prompts, or as a task without a conversation. What all ways have in common stands around them: the guards on
// the answer, and the credentials that reach what the request names at a vendor.
import type { CarrierPlace, ChatRequest, RawPromptRules, TaskRules } from "../../core/chat.ts";
import type { CacheMarks } from "../../core/configured/prompt-cache.ts";
import type { GatewayError } from "../../core/errors.ts";
import type { GuardPolicy, PolicyTarget } from "../../core/configured/policy.ts";
import type { Principal } from "../../core/identity.ts";
import type { RecordedOperation } from "../../core/operation.ts";
import { invalidRequest, unsupportedParameter } from "../../core/refusals.ts";
import type { JsonEdit } from "../../core/request/json-edit.ts";
import type { ProviderSettings } from "../../core/snapshot.ts";
import { type Target, targetName } from "../../core/target.ts";
import { fingerprint } from "../../credentials/fingerprint.ts";
import { referenceNamesOf } from "../../providers/native-forms.ts";
import type { CallPolicies } from "../policies/call-policies.ts";
import type { ChatContext } from "../call/context.ts";
import { withOpenedRequest, withOwnReasoning } from "../carriers/opened-request.ts";
import { credentialName, returnsReasoning, withReturnedReasoning } from "../carriers/returned-reasoning.ts";
import { hasOwnMarks } from "./cache-marks.ts";
import { type FitSettings, type FittedRequest, fitRequest, type TranslationReason, withUnusedSettings } from "./fit.ts";
import { fitRawPrompts } from "./fit-raw-prompts.ts";
import { fitTask } from "./fit-task.ts";
import { rawPromptProvider, rawPromptsOf } from "./raw-prompts.ts";
import { withheldLogprobs } from "../guards/guard-answer.ts";
import { fitNative } from "../native/fit-native.ts";
import { askedOtherwise, isSetToSpeak, type NativeCall, nativeAt, type NativeTarget } from "../native/native-target.ts";
import type { CallObjects } from "../objects/call-objects.ts";
import type { Resolved } from "../plan/resolve-target.ts";

/** A request that is to be prepared for a target. */
export interface AskedTarget {
  readonly principal: Principal;
  /** The client's own HTTP headers. */
  readonly http: Headers;
  readonly operation: RecordedOperation;
  readonly policies: CallPolicies | null;
  readonly carriers: ChatContext["carriers"];
  readonly objects: Pick<CallObjects, "references" | "placedAt" | "storedReasoning" | "vendorIdOf">;
  /** The target as policies see it. */
  readonly policyTarget: PolicyTarget;
  /** The request as guards have left it. */
  readonly request: ChatRequest;
  /** The guards that search the answer. */
  readonly outputGuards: readonly GuardPolicy[];
  /** Without a credential. */
  readonly resolved: Resolved;
  /** The entry of the provider. */
  readonly entry: ProviderSettings;
  readonly settings: FitSettings;
}

/** The way in which a request goes to a target. `reason` is `null` where the client's form is not sent to any provider as it is. */
type Way =
  | { readonly kind: "translated"; readonly reason: TranslationReason | null }
  | { readonly kind: "native"; readonly native: NativeTarget }
  | { readonly kind: "raw_prompts"; readonly rules: RawPromptRules }
  | { readonly kind: "task"; readonly rules: TaskRules };

/** What would be sent to a target. */
export interface ReadyTarget {
  /** The target without its credential. */
  readonly resolved: Resolved;
  readonly fitted: FittedRequest;
  /** Set where the request depends on which of several credentials the target is called with. */
  readonly fittedFor?: (identity: string | null) => FittedRequest;
  /** The guards that search the answer. */
  readonly outputGuards: readonly GuardPolicy[];
}

/** What one of the ways makes of the request; `readyTarget` adds what all of them have in common. */
interface WayResult extends Omit<ReadyTarget, "outputGuards"> {
  /** The ids of a vendor's things that are sent; absent where the way sends none. */
  readonly references?: SentReferences;
}

interface SentReferences {
  /** The names of the members that hold such an id; `null` for all that there are. */
  readonly names: ReadonlySet<string> | null;
  /** Whether the id at this path of the client's body is sent. */
  readonly isSent?: (path: string) => boolean;
}

export function wayAt(asked: AskedTarget): Way {
  const { request, resolved } = asked;
  const { task, rawPrompts } = request.form;
  if (task !== undefined) return { kind: "task", rules: task };
  if (rawPrompts !== undefined) return { kind: "raw_prompts", rules: rawPrompts };
  if (request.written === undefined) return { kind: "translated", reason: null };
  const native = nativeAt(request, resolved, nativeCallOf(asked));
  return typeof native === "string" ? { kind: "translated", reason: native } : { kind: "native", native };
}

function nativeCallOf({ operation, entry, outputGuards, settings }: AskedTarget): NativeCall {
  return { operation, settings: entry, isAnswerGuarded: outputGuards.length > 0, fit: settings };
}

/** For whom, and from which model, a request carries reasoning that the gateway has sealed. */
function carrierPlaceOf({ principal, policyTarget }: AskedTarget): CarrierPlace {
  const { tenantId, projectId } = principal;
  return { tenantId, projectId, provider: policyTarget.provider, model: policyTarget.model };
}

/** Adds a warning that a price of the caller's own has no effect without the permission to set one (promise 4.8). */
function withPriceWarning(request: ChatRequest, { permissions }: Principal): ChatRequest {
  return request.options.ownPrice === null || permissions.has("custom_price")
    ? request
    : { ...request, warnings: [...request.warnings, "custom_price_not_counted"] };
}

/** Throws GatewayError where the target cannot accept the request. */
export function readyTarget(given: AskedTarget): ReadyTarget {
  const request = withUnusedSettings(withPriceWarning(given.request, given.principal), given.resolved.provider);
  const asked = request === given.request ? given : { ...given, request };
  const way = wayAt(asked);
  if (way.kind !== "task" && asked.resolved.provider.hasOnlyTasks === true) throw hasNoConversations(asked.resolved);
  const { references, ...made } = preparedBy(way, asked);
  const written = asked.settings.cachesPrompts === true ? markedResult(made, way, asked) : made;
  const outputGuards = way.kind === "native" && way.native.native.counted !== undefined ? [] : asked.outputGuards;
  return {
    ...written,
    resolved:
      references === undefined
        ? made.resolved
        : asked.objects.placedAt(made.resolved, asked.request, references.names, references.isSent),
    fitted: outputGuards.length === 0 ? written.fitted : withheldLogprobs(written.fitted, outputGuards),
    outputGuards,
  };
}

function preparedBy(way: Way, asked: AskedTarget): WayResult {
  switch (way.kind) {
    case "translated":
      return translatedConversation(asked, way.reason);
    case "native":
      return nativeRequest(asked, way.native);
    case "raw_prompts":
      return rawPromptRequest(asked, way.rules);
    default:
      return taskRequest(asked, way.rules);
  }
}

/** Only conversations have marks, at a target that takes them, where the client has set none. */
function markedResult(made: WayResult, { kind }: Way, { request, resolved }: AskedTarget): WayResult {
  const marks =
    kind === "translated" || kind === "native" ? (resolved.provider.cacheMarks?.(resolved.target) ?? null) : null;
  if (marks === null || hasOwnMarks(request)) return made;
  const { fitted, fittedFor } = made;
  return {
    ...made,
    fitted: markedWhenWritten(fitted, marks),
    ...(fittedFor !== undefined && { fittedFor: (identity) => markedWhenWritten(fittedFor(identity), marks) }),
  };
}

/** Says in the fitted request that it gets marks when it is written. */
function markedWhenWritten(fitted: FittedRequest, marks: CacheMarks): FittedRequest {
  const { request, native } = fitted;
  if (native === undefined) return { ...fitted, request: { ...request, cacheMarks: marks } };
  if (native.markEdits === undefined) return fitted;
  return { ...fitted, request: { ...request, written: { ...request.written!, cacheMarks: marks } } };
}

function hasNoConversations({ provider: { label, tasks = {} }, target }: Resolved): GatewayError {
  return invalidRequest(
    "model",
    `${label} has no conversations, so that ${JSON.stringify(target.model)} cannot be asked for one; it is asked for ${Object.keys(tasks).join(" and ")}.`,
  );
}

/** Prepares prompts that are no conversation, for the endpoint that takes them. Throws what `fitRawPrompts` throws. */
function rawPromptRequest(asked: AskedTarget, rules: RawPromptRules): WayResult {
  const { request, resolved, entry, operation, settings, principal } = asked;
  const raw = rawPromptsOf(resolved.provider, resolved.target.model, isSetToSpeak(entry, operation));
  const provider = rawPromptProvider(resolved.provider)(raw);
  return {
    resolved: { ...resolved, provider },
    fitted: fitRawPrompts(request, { rules, raw }, provider, resolved.target, settings, principal),
  };
}

/** Prepares a task, such as embeddings. Throws what `fitTask` throws. */
function taskRequest({ request, resolved, settings, principal }: AskedTarget, rules: TaskRules): WayResult {
  return { resolved, fitted: fitTask(request, rules, resolved.provider, resolved.target, settings, principal) };
}

/** Where a message carries the turn of another provider, which is left out where it means nothing. */
const CARRIED = ".extra_content";

/** What the translation of a request in another form still names; it has no place for the rest. */
const STILL_NAMED: ReadonlySet<string> = new Set(["file_id", "container"]);

/**
 * Prepares a conversation in the form of the target's provider, whatever the form in which the client wrote it. Throws
 * what `fitRequest` throws, and `unsupported_parameter`.
 */
function translatedConversation(asked: AskedTarget, reason: TranslationReason | null): WayResult {
  const { settings, principal, carriers } = asked;
  const { otherwise } = asked.resolved.provider;
  const needsOther = otherwise?.isNeeded(asked.request.params, asked.resolved.target.model) === true;
  const resolved = needsOther ? askedOtherwise(otherwise, asked.resolved, asked.entry) : asked.resolved;
  const { provider, target } = resolved;
  const request = reason === null ? asked.request : withOpenedRequest(asked.request, carriers, carrierPlaceOf(asked));
  requireOpenedServers(request, target);
  const fitted = fitRequest(request, provider, target, settings, principal);
  if (reason === null) return { resolved, fitted, references: referencesIn(fitted, null) };
  return { resolved, fitted: { ...fitted, translated: reason }, references: referencesIn(fitted, STILL_NAMED) };
}

function referencesIn({ dropped }: FittedRequest, names: ReadonlySet<string> | null): SentReferences {
  return { names, isSent: (path) => !(path.includes(CARRIED) && dropped.includes(`messages[]${CARRIED}`)) };
}

/** Throws `unsupported_parameter` where the tools of a caller's own server are left to the vendors of other targets. */
function requireOpenedServers({ options, offered }: ChatRequest, target: Target): void {
  const [server] = options.toolServers;
  if (server === undefined || offered !== null) return;
  throw unsupportedParameter(
    `${server.path}.server_url`,
    `${server.path}.server_url is called by the provider itself in this call, and ${targetName(target)} does not speak the operation. Register the tool server, or name a model that speaks it.`,
  );
}

/** Members of which the client has the gateway's id of a response that the vendor stores. */
const OF_RESPONSES: ReadonlySet<string> = new Set([
  "previous_response_id",
  "prompt_cache_options.comparison_response_id",
]);

/** Throws what `fitNative` throws. `unmasked` is the target as the request asks for it before guards have masked it. */
function nativeRequest(asked: AskedTarget, unmasked: NativeTarget): WayResult {
  const { request, policies, carriers, objects, entry, settings, principal, http } = asked;
  const masked = policies === null ? request : policies.requests.written(request, asked.policyTarget);
  // guards search the parameters of entries as well
  const native =
    masked === request ? unmasked : (nativeAt(masked, asked.resolved, nativeCallOf(asked)) as NativeTarget);
  const named = withVendorIds(native, objects);
  // nothing is kept of a call whose request a guard may mask
  const asking = policies?.requests.mayMask === true ? withoutAsking(masked) : masked;
  const place = carrierPlaceOf(asked);
  const keys = carriers.keysOf(place.tenantId);
  const fittedFor = (credentials: readonly string[]): FittedRequest => {
    const known = objects.storedReasoning(native.resolved, entry.vendorStore === true);
    const opening = { keys, place, credentials, known };
    const returned = withReturnedReasoning(asking, native.native, opening);
    const sent = fitNative(returned, named, entry, settings, principal, http);
    return withOwnReasoning(sent, native.native, opening);
  };
  return {
    resolved: native.resolved,
    ...fittedAtEach(fittedFor, native.resolved, returnsReasoning(masked)),
    references: { names: referenceNamesOf(native.native.form) },
  };
}

/** Returns the target with the vendor's own names for what the client knows by others. */
function withVendorIds(native: NativeTarget, { references, vendorIdOf }: AskedTarget["objects"]): NativeTarget {
  if (references.length === 0) return native;
  const edits = references.flatMap(({ path, id }): JsonEdit[] => {
    const vendorId = OF_RESPONSES.has(path) ? vendorIdOf(id, native.resolved) : null;
    return vendorId === null ? [] : [{ path: path.split("."), value: vendorId }];
  });
  return { ...native, edits: [...native.edits, ...edits] };
}

/** Several credentials of one provider may be those of several accounts. */
function fittedAtEach(
  fittedFor: (credentials: readonly string[]) => FittedRequest,
  { credentials }: Resolved,
  depends: boolean,
): Pick<WayResult, "fitted" | "fittedFor"> {
  const names = credentials.length === 0 ? [credentialName(null)] : credentials.map(fingerprint).map(credentialName);
  const fitted = fittedFor(names);
  return names.length > 1 && depends
    ? { fitted, fittedFor: (identity) => fittedFor([credentialName(identity)]) }
    : { fitted };
}

function withoutAsking(request: ChatRequest): ChatRequest {
  const { keepsReasoning: _asks, ...written } = request.written!;
  return { ...request, written };
}
