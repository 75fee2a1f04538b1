// Finds the ids of things that live at a vendor in what a client wrote: files, containers, vector stores, responses,
// conversations, stored prompts, items of stored answers (promise 12.15).
import type { ChatRequest } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject, isFilled, isSet, textOrEmpty } from "../../core/json.ts";
import type { VendorReference } from "../../core/request/vendor-reference.ts";
import { EMPTY_REFERENCE_TYPES, REFERENCE_TYPES, VENDOR_ID_MEMBERS } from "../../providers/native-forms.ts";
import {
  ADDRESS_MEMBERS,
  isAddress,
  isOfStoredFiles,
  mayNameStoredFile,
  namesStoredFile,
  STORED_THING_MEMBERS,
  TEXT_MEMBERS,
} from "../../providers/conversation/stored-things.ts";
import { parseJson } from "../../wire/json/json.ts";
import { entriesOf, requestForEntry } from "../fit/entry-request.ts";

/**
 * Members that hold an id only as the `id` of an object; a text is another thing. The other members hold ids by
 * themselves, in a list, or as the `id` of an object.
 */
const OBJECTS: ReadonlySet<string> = new Set(["prompt"]);

/** Members with free contents of the caller or the model, in which names mean nothing. */
const FREE: ReadonlySet<string> = new Set(["input_schema", "parameters", "metadata", "schema", "arguments"]);

const ID_MEMBERS: ReadonlySet<string> = new Set([...VENDOR_ID_MEMBERS, ...STORED_THING_MEMBERS]);

/** The name of a reference that is the address of a file, in whatever member it stands. */
export const STORED_FILE = "address of a file";

const ANY = new RegExp(`"(?:${[...ID_MEMBERS, ...REFERENCE_TYPES, ...EMPTY_REFERENCE_TYPES.keys()].join("|")})"`);
/** A letter or an underscore that is written as an escape, which honest clients never do. */
const ESCAPED_LETTER = /\\u00[4-7]/;
const MAX_REFERENCES = 1000;
const NONE: readonly VendorReference[] = [];

/**
 * Returns the references of a request that is here; one that another thread holds has its own list. The inputs of a task
 * are content, of which a client may keep any members, such as the fields of documents: no vendor looks anything up there.
 */
export function referencesOf({
  form,
  written,
  held,
  source,
  blocks,
  vendorForms,
  extra,
  messages,
}: ChatRequest): readonly VendorReference[] {
  if (form.task !== undefined) return NONE;
  if (held !== undefined) return held.references ?? NONE;
  if (written !== undefined) {
    // nearly no request names any, which one pass over its text shows
    if (written.replaced === undefined && !mayRefer(written.text)) return NONE;
    return referencesIn({ ...written.body, ...written.replaced });
  }
  // in a chat completion they stand only where a vendor's own forms do
  const mayHold =
    blocks.size > 0 || vendorForms.length > 0 || Object.keys(extra).length > 0 || messages.some(mayNameStored);
  return mayHold ? referencesInText(source.text) : NONE;
}

/**
 * Returns the references of the parameters of the request's own entries: fallbacks and inline routes. What the caller's
 * own credential or address reaches is the caller's own concern.
 */
export function entryReferencesOf(request: ChatRequest): readonly VendorReference[] {
  return entriesOf(request).flatMap(({ path, entry }) => {
    const found = referencesInText(JSON.stringify(entry.params));
    if (found.length === 0) return NONE;
    const { baseUrl, credentials } = requestForEntry(request, entry, "caller").options;
    return baseUrl !== null || credentials.size > 0
      ? NONE
      : found.map((one) => ({ ...one, path: `${path}.${one.path}` }));
  });
}

/** Returns the references of a body. */
export function referencesInText(text: string): readonly VendorReference[] {
  if (!mayRefer(text)) return NONE;
  const body = parseJson(text);
  return isObject(body) ? referencesIn(body) : NONE;
}

function mayRefer(text: string): boolean {
  return ANY.test(text) || ESCAPED_LETTER.test(text) || mayNameStoredFile(text);
}

/** Whether a message has the turn of a vendor, or images of an earlier answer, or stands for files. */
function mayNameStored({ extra_content: turn, images, content }: JsonObject): boolean {
  return turn !== undefined || images !== undefined || (typeof content === "string" && isOfStoredFiles(content));
}

/** Returns the references in the value of a body, or in some of its members. */
export function referencesIn(body: JsonObject): readonly VendorReference[] {
  const found: VendorReference[] = [];
  visit(body, "", found);
  if (found.length <= MAX_REFERENCES) return found;
  // what is beyond the bound is not known here
  return [...found.slice(0, MAX_REFERENCES), { ...found[MAX_REFERENCES]!, id: "" }];
}

function visit(value: Json | undefined, path: string, found: VendorReference[]): void {
  if (found.length > MAX_REFERENCES) return;
  if (Array.isArray(value)) {
    for (const [index, item] of (value as readonly Json[]).entries()) visit(item, `${path}[${index}]`, found);
    return;
  }
  if (!isObject(value)) return;
  const { type } = value;
  if (REFERENCE_TYPES.has(type) || isEmpty(value))
    found.push({ path: `${path}.id`, name: type as string, id: textOrEmpty(value["id"]) });
  // the input of a tool call is the model's own
  const isCall = typeof type === "string" && type.endsWith("tool_use");
  for (const [name, member] of Object.entries(value)) {
    if (FREE.has(name) || (isCall && name === "input")) continue;
    const at = path === "" ? name : `${path}.${name}`;
    if (ID_MEMBERS.has(name) && (isObject(member) || !OBJECTS.has(name)))
      for (const id of idsIn(member)) found.push({ path: at, name, id });
    if (ADDRESS_MEMBERS.has(name)) addStoredFile(member, at, found);
    if (TEXT_MEMBERS.has(name) && typeof member === "string" && isOfStoredFiles(member))
      found.push({ path: at, name: STORED_FILE, id: "" });
    visit(member, at, found);
  }
}

/** Whether an object has an id and none of its content. */
function isEmpty(value: JsonObject): boolean {
  const contents = EMPTY_REFERENCE_TYPES.get(value["type"]);
  return contents !== undefined && isFilled(value["id"]) && !contents.some((name) => isFilled(value[name]));
}

function addStoredFile(member: Json | undefined, at: string, found: VendorReference[]): void {
  const [address, path] = isObject(member) ? [member["url"], `${at}.url`] : [member, at];
  if (typeof address === "string" && namesStoredFile(address)) found.push({ path, name: STORED_FILE, id: address });
}

/**
 * Returns an empty id for one that is no text, because no such id is bound to a project. Where chat completions take an
 * address in place of an id, the content is fetched like any other, and there is no id.
 */
function idsIn(member: Json | undefined): readonly string[] {
  if (typeof member === "string") return member === "" || isAddress(member) ? [] : [member];
  if (Array.isArray(member)) return (member as readonly Json[]).map(textOrEmpty);
  return isObject(member) && isSet(member["id"]) ? [textOrEmpty(member["id"])] : [];
}
