// Operations beside chat completions that a row's models speak themselves. The row says which, where, and according to
// which page; the forms are those of the providers that have no other.
import type { OperationName } from "../../core/operation.ts";
import type { Target } from "../../core/target.ts";
import { API_VERSION } from "../anthropic/encode-request.ts";
import { NATIVE_MESSAGES } from "../anthropic/native-messages.ts";
import { nativeBody } from "../native-body.ts";
import type { NativeCircumstance, NativeOperation, Provider } from "../provider.ts";

/** The operations that rows can name. */
export type NativeName = Extract<OperationName, "messages">;

/** That models of a row speak an operation. */
export interface NativeFact {
  /** The path below the base URL; one that begins with a slash is below the host. */
  readonly path: string;
  /** The vendor's page that says so. */
  readonly source: string;
  /** The models that speak it; all when absent. */
  readonly models?: RegExp;
}
export type NativeFacts = Readonly<Partial<Record<NativeName, NativeFact>>>;

/** A form with the path that it has where no row names one, and the headers that it needs. */
interface SpokenForm {
  readonly form: NativeOperation;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

const FORMS: Readonly<Record<NativeName, SpokenForm>> = {
  messages: { form: NATIVE_MESSAGES, path: "messages", headers: { "anthropic-version": API_VERSION } },
};

/** Returns how the models of a row are called natively. */
export function nativeOperations(facts: NativeFacts): NonNullable<Provider["native"]> {
  const byRow = new Map<string, NativeOperation>();
  const atSetAddress = new Map<string, NativeOperation>();
  for (const [name, spoken] of Object.entries(FORMS) as [NativeName, SpokenForm][]) {
    const fact = facts[name];
    if (fact !== undefined) byRow.set(name, operationAt(spoken, fact));
    atSetAddress.set(name, byRow.get(name) ?? operationAt(spoken, { path: spoken.path, source: spoken.form.source }));
  }
  return (operation: OperationName, model: string, circumstance: NativeCircumstance) => {
    if (circumstance === "elsewhere") return null;
    if (circumstance === "set") return atSetAddress.get(operation) ?? null;
    return facts[operation as NativeName]?.models?.test(model) === false ? null : (byRow.get(operation) ?? null);
  };
}

function operationAt({ form, headers }: SpokenForm, { path, source }: NativeFact): NativeOperation {
  return {
    ...form,
    source,
    encodeRequest: (request, target) => ({
      request: {
        url: addressOf(target, path),
        headers: { ...headers, ...target.headers, "content-type": "application/json" },
        body: nativeBody(request, [{ path: ["model"], value: target.model }]),
      },
      memo: null,
    }),
  };
}

function addressOf({ baseUrl }: Target, path: string): string {
  return new URL(path, `${baseUrl}/`).href;
}
