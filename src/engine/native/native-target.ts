// Whether a target is sent what the client wrote (promise 12.3): its model has to speak the operation, and nothing may
// be asked of the call that needs the translation.
import type { ChatRequest, NativeCircumstance, SpokenOperation } from "../../core/chat.ts";
import type { JsonEdit } from "../../core/request/json-edit.ts";
import { memoizePerObject } from "../../core/memoization.ts";
import type { OperationName, RecordedOperation } from "../../core/operation.ts";
import type { ProviderSettings } from "../../core/snapshot.ts";
import { FIELDS, GATEWAY } from "../../core/params.ts";
import type { NativeOperation } from "../../providers/interface/native-operation.ts";
import type { OtherOperation, Provider } from "../../providers/interface/provider.ts";
import type { FitSettings, TranslationReason } from "../fit/fit.ts";
import type { Resolved } from "../plan/resolve-target.ts";
import { addedMembers } from "./native-facts.ts";

export interface NativeCall {
  readonly operation: RecordedOperation;
  /** The entry of the provider. */
  readonly settings: ProviderSettings;
  /** Whether a guard searches the answer. */
  readonly isAnswerGuarded: boolean;
  readonly fit: FitSettings;
}

/** A target that speaks the operation of the call. */
export interface NativeTarget {
  readonly native: NativeOperation;
  readonly spoken: SpokenOperation;
  readonly resolved: Resolved;
  /** The changes for parameters that the configuration adds or drops. */
  readonly edits: readonly JsonEdit[];
  /** Parameters that the target drops, by the paths of the client's own body. */
  readonly dropped: readonly string[];
}

/** Returns the reason for a target that is sent the translation. */
export function nativeAt(
  request: ChatRequest,
  resolved: Resolved,
  { operation, settings, isAnswerGuarded, fit }: NativeCall,
): NativeTarget | TranslationReason {
  const { offered, options, params } = request;
  const { provider } = resolved;
  if (operation === "unserved") return "not_spoken";
  const found = spokenAt(resolved, operation, settings);
  if (found === null) return "not_spoken";
  const { native, spoken } = found;
  if (offered !== null) return "tool_servers";
  if (isAnswerGuarded && native.counted === undefined) return "output_guard";
  // a body in the client's form has no place for either
  if (options.hasExtraBody || params.deployment_id !== undefined) return "parameter";
  const settingEdits = editsOfSettings(request, native, provider, fit);
  if (settingEdits === null) return "parameter";
  return {
    native,
    spoken,
    resolved: { ...resolved, spoken, provider: nativeProvider(provider)(native) },
    ...settingEdits,
  };
}

/** Returns null where the target does not speak the operation, or where that is unknown. */
function spokenAt(
  { provider, target }: Resolved,
  operation: OperationName,
  settings: ProviderSettings,
): Pick<NativeTarget, "native" | "spoken"> | null {
  const circumstance = circumstanceOf(settings, operation, target.isCallersAddress);
  const native = circumstance === null ? null : (provider.native?.(operation, target.model, circumstance) ?? null);
  return circumstance === null || native === null ? null : { native, spoken: { operation, circumstance } };
}

/** Returns the target as it is asked by the other operation, where it speaks that, and else as it is. */
export function askedOtherwise(
  { operation, provider }: OtherOperation,
  resolved: Resolved,
  settings: ProviderSettings,
): Resolved {
  if (spokenAt(resolved, operation, settings) === null) return resolved;
  return { ...resolved, provider, target: { ...resolved.target, isAskedOtherwise: true } };
}

/** Returns null where the operator says that the provider does not speak the operation. */
export function circumstanceOf(
  { native, isElsewhere }: ProviderSettings,
  operation: OperationName,
  isCallersAddress: boolean,
): NativeCircumstance | null {
  if (isCallersAddress) return "elsewhere";
  if (native !== undefined) return native.includes(operation) ? "set" : null;
  return isElsewhere === true ? "elsewhere" : "row";
}

/** Whether the operator says that the provider's models speak an operation. */
export function isSetToSpeak({ native }: ProviderSettings, operation: RecordedOperation): boolean {
  return native?.some((name) => name === operation) === true;
}

/** Parameters that a model reads with the prompt, so that a count without them would be another one. */
const READ_WITH_PROMPT: ReadonlySet<string> = new Set([
  "tools",
  "tool_choice",
  "functions",
  "function_call",
  "response_format",
  "prediction",
]);

/**
 * Returns the changes for the parameters that the configuration adds or drops; null where the form has no place for
 * one, so that only the translation can have it. A count has those of the answer among `dropped`.
 */
function editsOfSettings(
  request: ChatRequest,
  { form: { parameters }, counted }: NativeOperation,
  { reserved, guards }: Provider,
  { drop }: FitSettings,
): Pick<NativeTarget, "edits" | "dropped"> | null {
  const isLeft = (name: string, path: readonly string[] | undefined): boolean =>
    counted !== undefined && (path === undefined ? !READ_WITH_PROMPT.has(name) : !counted.has(path[0]!));
  const edits: JsonEdit[] = [];
  const dropped: string[] = [];
  for (const [name, value] of Object.entries(addedMembers(request.written!))) {
    // the vendor reads its guards in the form of its own operation
    if (guards?.includes(name) === true) return null;
    const own = FIELDS.has(name) || reserved.has(name) ? undefined : [name];
    const path = Object.hasOwn(parameters, name) ? parameters[name] : own;
    if (isLeft(name, path)) {
      if (!Object.hasOwn(GATEWAY, name)) dropped.push(name);
      continue;
    }
    if (path !== undefined) edits.push({ path, value: value === null ? undefined : value });
    else if (!Object.hasOwn(GATEWAY, name)) return null;
  }
  for (const name of drop ?? [])
    if (Object.hasOwn(request.params, name)) {
      const path = parameters[name];
      if (path === undefined && isLeft(name, path)) continue;
      if (path === undefined) return null;
      edits.push({ path, value: undefined });
      dropped.push(path.join("."));
    }
  return { edits, dropped };
}

/** Sets the marks of the prompt cache in a native request that gets some. */
export function withMarkEdits(request: ChatRequest, native: NativeOperation): ChatRequest {
  const { written } = request;
  if (written?.cacheMarks === undefined) return request;
  const { body, edits = [], cacheMarks } = written;
  const marks = native.markEdits?.(body, edits, cacheMarks) ?? [];
  return { ...request, written: { ...written, edits: [...edits, ...marks] } };
}

/** The provider with the operation in place of chat completions. */
const nativeProvider = memoizePerObject((provider: Provider) =>
  memoizePerObject((native: NativeOperation): Provider => {
    const members = Object.entries(provider).filter(([name]) => !OF_CHAT.has(name));
    return {
      ...(Object.fromEntries(members) as unknown as Provider),
      framing: native.framing,
      clientHeaders: native.clientHeaders,
      clientQuery: native.clientQuery,
      inlines: () => NOTHING,
      encodeRequest: (request, target) => native.encodeRequest(withMarkEdits(request, native), target),
      decodeResponse: (body, context, value) => native.decodeResponse(body, context, value),
      openStream: (context) => native.openStream(context),
    };
  }),
);
/** What a provider does only for chat completions. */
const OF_CHAT: ReadonlySet<string> = new Set(["followUp", "leavesOutEmpty", "chatFieldOf"]);
const NOTHING: ReadonlySet<never> = new Set();
