// Operations beside chat completions that a row's models speak themselves. The row says which, where, and according to
// which page; the forms are those of the providers that have no other.
import type { NativeCircumstance } from "../../core/chat.ts";
import type { Json } from "../../core/json.ts";
import type { OperationName } from "../../core/operation.ts";
import type { Target } from "../../core/target.ts";
import { API_VERSION } from "../anthropic/encode-request.ts";
import { memoizeBounded } from "../../core/memoization.ts";
import { MESSAGES } from "../anthropic/native-messages.ts";
import { nativeRequest } from "../native/native-body.ts";
import type { NativeOperation } from "../interface/native-operation.ts";
import type { Provider } from "../interface/provider.ts";
import type { UpstreamFailure } from "../interface/upstream-failure.ts";
import { nativeInputTokens, nativeResponses } from "../responses/native-responses.ts";

type OfPlatform = "clientQuery" | "lacksFeatures" | "encryptedReasoning" | "foreignSeal" | "refusesOpenReasoning";

/** The operations that rows can name. */
export type NativeName = Extract<OperationName, "messages" | "responses" | "responses.input_tokens">;

/** That models of a row speak an operation, and what is other there than in its form. */
export interface NativeFact extends Partial<Pick<NativeOperation, OfPlatform>> {
  /**
   * The path below the base URL, or the whole address; a path that begins with a slash is below the host. That of the
   * operation itself when absent.
   */
  readonly path?: string | ((target: Target) => string);
  /** The vendor's page that says so. */
  readonly source: string;
  /** The models that speak it; all when absent. */
  readonly models?: RegExp;
}
export type NativeFacts = Readonly<Partial<Record<NativeName, NativeFact>>>;

/** A form with the path that it has where no row names one, and the headers that it needs. */
interface SpokenForm {
  readonly form: Omit<NativeOperation, "encodeRequest">;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Returns how the models of a row are called natively. `failureOf` reads an error that came with status 200; `base`
 * returns the base address, which paths are below.
 */
export function nativeOperations(
  facts: NativeFacts,
  failureOf: (parsed: Json, text: string) => UpstreamFailure,
  base: (target: Target) => string,
): NonNullable<Provider["native"]> {
  const forms: Readonly<Record<NativeName, SpokenForm>> = {
    messages: { form: MESSAGES, path: "messages", headers: { "anthropic-version": API_VERSION } },
    responses: { form: nativeResponses(failureOf), path: "responses", headers: {} },
    "responses.input_tokens": { form: nativeInputTokens(failureOf), path: "responses/input_tokens", headers: {} },
  };
  const byRow = new Map<string, NativeOperation>();
  const atSetAddress = new Map<string, NativeOperation>();
  for (const [name, spoken] of Object.entries(forms) as [NativeName, SpokenForm][]) {
    const fact = facts[name];
    if (fact !== undefined) byRow.set(name, operationAt(spoken, fact, base));
    atSetAddress.set(name, byRow.get(name) ?? operationAt(spoken, { source: spoken.form.source }, base));
  }
  return (operation: OperationName, model: string, circumstance: NativeCircumstance) => {
    if (circumstance === "elsewhere") return null;
    if (circumstance === "set") return atSetAddress.get(operation) ?? null;
    return facts[operation as NativeName]?.models?.test(model) === false ? null : (byRow.get(operation) ?? null);
  };
}

/** The most base addresses whose URLs are kept. */
const MAX_URLS = 100;

function operationAt(
  { form, headers, path: ownPath }: SpokenForm,
  { path = ownPath, models: _models, ...other }: NativeFact,
  base: (target: Target) => string,
): NativeOperation {
  const urlBelow = memoizeBounded(MAX_URLS, (baseUrl: string) => new URL(path as string, `${baseUrl}/`).href);
  return {
    ...form,
    ...other,
    encodeRequest: (request, target) =>
      nativeRequest(request, target, typeof path === "string" ? urlBelow(base(target)) : path(target), headers),
  };
}
