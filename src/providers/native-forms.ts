// The forms that providers speak beside chat completions, by operation. They are the same at every provider.
import type { OperationName } from "../core/operation.ts";
import { MESSAGES_FORM } from "./anthropic/native-messages.ts";
import type { NativeForm } from "./interface/native-operation.ts";
import { RESPONSES_FORM } from "./responses/native-responses.ts";

const FORMS: ReadonlyMap<OperationName, NativeForm> = new Map([
  ["messages", MESSAGES_FORM],
  ["messages.count_tokens", MESSAGES_FORM],
  ["responses", RESPONSES_FORM],
  ["responses.input_tokens", RESPONSES_FORM],
]);

/** Returns null for an operation that no provider speaks in a form of its own. */
export function nativeFormOf(operation: OperationName): NativeForm | null {
  return FORMS.get(operation) ?? null;
}

function namesOf({ vendorIds, referenceTypes = [], emptyReferenceTypes = {} }: NativeForm): readonly string[] {
  return [...vendorIds, ...referenceTypes, ...Object.keys(emptyReferenceTypes)];
}

const REFERENCE_NAMES: ReadonlyMap<NativeForm, ReadonlySet<string>> = new Map(
  [...FORMS.values()].map((form) => [form, new Set(namesOf(form))]),
);

/** Returns the members and the types of objects by which a form names what lives at a vendor. */
export function referenceNamesOf(form: NativeForm): ReadonlySet<string> {
  return REFERENCE_NAMES.get(form)!;
}

/** The members that need the permission `byo_endpoint`, in any of the forms. */
export const PRIVILEGED_MEMBERS: ReadonlySet<string> = new Set([...FORMS.values()].flatMap((form) => form.privileged));

/** The members that hold ids of things that live at a vendor, in any of the forms. */
export const VENDOR_ID_MEMBERS: ReadonlySet<string> = new Set([...FORMS.values()].flatMap((form) => form.vendorIds));

/** The types of objects whose own `id` is one, in any of the forms. */
export const REFERENCE_TYPES: ReadonlySet<unknown> = new Set(
  [...FORMS.values()].flatMap((form) => form.referenceTypes ?? []),
);

/** The members with the content of objects whose own `id` is one where they have none of these, by their types. */
export const EMPTY_REFERENCE_TYPES: ReadonlyMap<unknown, readonly string[]> = new Map(
  [...FORMS.values()].flatMap((form) => Object.entries(form.emptyReferenceTypes ?? {})),
);
