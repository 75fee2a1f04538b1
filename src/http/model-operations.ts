// Which operations the gateway serves with a model, as listings, `GET /params` and docs/providers.md show it. A provider
// that has conversations serves each operation whose answer is a turn of one; the others need a form of their own.
import { modelKind } from "../accounting/model-catalogue.ts";
import { circumstanceOf } from "../engine/native/native-target.ts";
import type { NativeCircumstance } from "../core/chat.ts";
import type { JsonObject } from "../core/json.ts";
import { OPERATION_NAMES, type OperationName, type TaskName } from "../core/operation.ts";
import type { ProviderSettings } from "../core/snapshot.ts";
import { OPERATIONS } from "../operations/operations.ts";
import type { Provider } from "../providers/interface/provider.ts";

const CONVERSATIONS: ReadonlySet<OperationName> = new Set(["chat.completions", "responses", "messages"]);
const TASKS: ReadonlySet<OperationName> = new Set<TaskName>(["embeddings", "rerank", "moderations"]);
/** Operations that are served only where the provider speaks them. */
const NATIVE_ONLY: ReadonlySet<OperationName> = new Set(["messages.count_tokens", "responses.input_tokens"]);
const RAW_PROMPTS: OperationName = "completions";

const SERVED: ReadonlySet<OperationName> = new Set([...OPERATIONS.values()].map(({ name }) => name));
/** The operations that this gateway serves. */
export const LISTED_OPERATIONS = OPERATION_NAMES.filter((name) => SERVED.has(name));

export interface ListedOperation extends JsonObject {
  readonly name: OperationName;
  /** Whether the provider is sent what the client wrote; `null` where that is no question. */
  readonly native: boolean | null;
}

/** `circumstance` is null where the operator says that the provider speaks no operation itself. */
export function operationsOf(
  provider: Provider,
  model: string,
  circumstance: (operation: OperationName) => NativeCircumstance | null,
): readonly ListedOperation[] {
  const kind = modelKind(model);
  if (kind !== "conversation" || provider.hasOnlyTasks === true)
    return LISTED_OPERATIONS.filter(
      (name) =>
        TASKS.has(name) &&
        (kind === name || kind === "conversation") &&
        provider.tasks?.[name as TaskName]?.(model) != null,
    ).map((name) => ({ name, native: null }));
  const raw = provider.rawPrompts?.(model, circumstance(RAW_PROMPTS) === "set") ?? null;
  return LISTED_OPERATIONS.flatMap((name): readonly ListedOperation[] => {
    if (name === RAW_PROMPTS) return raw === null ? [] : [{ name, native: null }];
    if (raw?.isAlone === true) return [];
    const given = name === "chat.completions" ? null : circumstance(name);
    const native = given === null ? false : (provider.native?.(name, model, given) ?? null) !== null;
    if (NATIVE_ONLY.has(name)) return native ? [{ name, native }] : [];
    return CONVERSATIONS.has(name) ? [{ name, native: name === "chat.completions" ? null : native }] : [];
  });
}

/** The operations of a model of a configured provider. */
export function operationsAt(
  settings: ProviderSettings,
  provider: Provider,
  model: string,
): readonly ListedOperation[] {
  return operationsOf(provider, model, (operation) => circumstanceOf(settings, operation, false));
}
