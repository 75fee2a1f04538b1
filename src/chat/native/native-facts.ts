// What has to be known of a body in the form of an operation before a target that speaks the operation may be sent it:
// which members it has, which of its tools run at the vendor, and whether it names things that live there. The thread
// that holds a long body works this out for the thread that serves calls.
import type { HeldBody, NotedTool } from "../../core/held-body.ts";
import type { WrittenRequest } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { memoizeBounded } from "../../core/memoization.ts";
import type { NativeForm } from "../../providers/provider.ts";
import { withoutCarriers } from "../carriers/native-carriers.ts";

export interface NativeFacts {
  readonly names: readonly string[];
  /** Whether a member is there and is not null. */
  has(name: string): boolean;
  readonly tools: readonly NotedTool[];
  /** Returns the path of the first id of a thing that lives at the vendor; null where there is none. */
  reference(): string | null;
  /** Whether a string of the body begins with the word by which a feature is used. */
  readonly uses: (word: string) => boolean;
}

/** Returns the facts of a body that this thread or another one holds. */
export function factsOf({ text, body: sent, replaced, held }: WrittenRequest, form: NativeForm): NativeFacts {
  if (held !== undefined) {
    const names = new Set(held.names);
    const unset = new Set(held.unset);
    return {
      names: held.names,
      has: (name) => names.has(name) && !unset.has(name),
      tools: held.tools,
      reference: () => held.reference,
      uses: (word) => held.uses.includes(word),
    };
  }
  const body = { ...sent, ...replaced };
  return {
    names: Object.keys(sent),
    has: (name) => Object.hasOwn(body, name) && isSet(body[name]),
    tools: notedTools(body, form),
    reference: () => referenceIn(body, text, form),
    uses: (word) => text.includes(`"${word}`),
  };
}

/** Returns what the serving thread gets to know of a body. */
export function heldBody({ text, body }: WrittenRequest, form: NativeForm): HeldBody {
  const names = Object.keys(body);
  return {
    names,
    unset: names.filter((name) => !isSet(body[name])),
    tools: notedTools(body, form),
    reference: referenceIn(body, text, form),
    hasCarriers: withoutCarriers(body).length > 0,
    uses: (form.features?.foreign ?? []).flatMap(({ inBody }) => inBody.filter((word) => text.includes(`"${word}`))),
  };
}

/** A longer text is not the name of a type. */
const MAX_TYPE = 256;

function notedTools({ tools }: JsonObject, form: NativeForm): readonly NotedTool[] {
  if (!Array.isArray(tools)) return [];
  return (tools as readonly Json[]).flatMap((tool, index) => {
    if (!isObject(tool)) return [];
    const { type } = tool;
    const isHosted = isSet(type) && !(typeof type === "string" && form.isClientTool(tool, type));
    const privileged = form.privilegedInTools.find((name) => isSet(tool[name])) ?? null;
    const named = typeof type === "string" ? type.slice(0, MAX_TYPE) : null;
    return isHosted || privileged !== null ? [{ index, type: named, isHosted, privileged }] : [];
  });
}

function referenceIn(body: JsonObject, text: string, { vendorIds, referenceTypes = [] }: NativeForm): string | null {
  // nearly no request names any, which one pass over its text shows
  if (!namesAnyOf([...vendorIds, ...referenceTypes])(text) && !ESCAPED_LETTER.test(text)) return null;
  return firstReference(body, { names: new Set(vendorIds), types: new Set(referenceTypes) }, "");
}

/** A letter or an underscore that is written as an escape, as no program does that has nothing to hide. */
const ESCAPED_LETTER = /\\u00[5-7]/;

/** Members with free contents of the caller, in which names mean nothing. */
const FREE: ReadonlySet<string> = new Set(["input_schema", "parameters", "metadata", "schema", "arguments"]);

const MAX_FORMS = 100;
const testerOf = memoizeBounded(MAX_FORMS, (words: string): ((text: string) => boolean) => {
  const form = new RegExp(`"(?:${words})"`);
  return (text) => form.test(text);
});

/** Returns whether a text has one of the words as a whole string. */
function namesAnyOf(words: readonly string[]): (text: string) => boolean {
  return testerOf(words.join("|"));
}

interface ReferenceForms {
  readonly names: ReadonlySet<string>;
  readonly types: ReadonlySet<unknown>;
}

function firstReference(value: Json | undefined, forms: ReferenceForms, path: string): string | null {
  if (Array.isArray(value)) {
    for (const [index, item] of (value as readonly Json[]).entries()) {
      const found = firstReference(item, forms, `${path}[${index}]`);
      if (found !== null) return found;
    }
    return null;
  }
  if (!isObject(value)) return null;
  if (forms.types.has(value["type"])) return `${path}.id`;
  // the input of a tool call is the model's own
  const isCall = value["type"] === "tool_use";
  for (const [name, member] of Object.entries(value)) {
    const at = path === "" ? name : `${path}.${name}`;
    if (FREE.has(name) || (isCall && name === "input")) continue;
    if (forms.names.has(name) && isReference(member)) return at;
    const found = firstReference(member, forms, at);
    if (found !== null) return found;
  }
  return null;
}

/** Whether a member holds an id, by itself, in a list, or as the `id` of an object. */
function isReference(value: Json | undefined): boolean {
  if (typeof value === "string") return value !== "";
  if (Array.isArray(value)) return value.length > 0;
  return isObject(value) && isSet(value["id"]);
}

function isSet(value: Json | undefined): boolean {
  return value !== undefined && value !== null;
}
