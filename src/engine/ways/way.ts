// The four ways in which a request is prepared for a target: as a translated conversation, as the native request that the
// client wrote, as raw prompts, or as a task without a conversation. Each way is a function of a file of its own.
import type { CarrierPlace, ChatRequest, RawPromptRules, TaskRules } from "../../core/chat.ts";
import type { Principal } from "../../core/identity.ts";
import type { RecordedOperation } from "../../core/operation.ts";
import type { GuardPolicy, PolicyTarget } from "../../core/configured/policy.ts";
import type { ProviderSettings } from "../../core/snapshot.ts";
import type { CallPolicies } from "../call/call-policies.ts";
import type { ChatContext } from "../call/context.ts";
import type { FitSettings, FittedRequest, TranslationReason } from "../fit/fit.ts";
import { type NativeCall, nativeAt, type NativeTarget } from "../native/native-target.ts";
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

/** `translated`: `reason` is `null` where the client's form is not sent to any provider as it is. */
export type Way =
  | { readonly kind: "translated"; readonly reason: TranslationReason | null }
  | { readonly kind: "native"; readonly native: NativeTarget }
  | { readonly kind: "raw_prompts"; readonly rules: RawPromptRules }
  | { readonly kind: "task"; readonly rules: TaskRules };

/** What a way makes of a request. */
export interface WayResult {
  readonly resolved: Resolved;
  readonly fitted: FittedRequest;
  /** Set where the request depends on which of several credentials the target is called with. */
  readonly fittedFor?: (identity: string | null) => FittedRequest;
  /** The ids of a vendor's things that are sent; absent where the way sends none. */
  readonly references?: SentReferences;
}

export interface SentReferences {
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

export function nativeCallOf({ operation, entry, outputGuards, settings }: AskedTarget): NativeCall {
  return { operation, settings: entry, isAnswerGuarded: outputGuards.length > 0, fit: settings };
}

/** For whom, and from which model, a request carries reasoning that the gateway has sealed. */
export function carrierPlaceOf({ principal, policyTarget }: AskedTarget): CarrierPlace {
  const { tenantId, projectId } = principal;
  return { tenantId, projectId, provider: policyTarget.provider, model: policyTarget.model };
}
