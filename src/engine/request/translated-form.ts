// The form of an operation whose requests the engine translates to a chat completion, to which all rules of chat
// completions apply (parse.ts); errors name the path in what the client wrote.
import { invalid, invalidRequest } from "../../core/refusals.ts";
import type { BodyBounds } from "../../core/request/body-bounds.ts";
import type {
  Advisory,
  ChatRequest,
  EntryAuthor,
  Origins,
  RawPromptRules,
  RequestForm,
  TaskRules,
  Untranslated,
  WrittenRequest,
} from "../../core/chat.ts";
import { GatewayError } from "../../core/errors.ts";
import { isObject, isRawNumber, isSet, type Json, type JsonObject, mergeObjects } from "../../core/json.ts";
import { FIELDS, GATEWAY } from "../../core/params.ts";
import { placedTools, toolsOfItems } from "../../core/request/held-body.ts";
import { sourceOfValues } from "../../core/request/request-source.ts";
import { requestWithEntry } from "./entry-text.ts";
import { beyondBound } from "./bounded-body.ts";
import { relocated } from "../call/located-error.ts";
import { checkedHeaders } from "../fit/caller-headers.ts";
import { chatRequestOf, parseChatRequest, parsedBody } from "./parse.ts";
import { fieldOfGateway } from "./task-body.ts";
import { orNoted, VENDOR_JUDGED } from "./vendor-judged.ts";

/** What an operation says of its requests. */
export interface Translator {
  /**
   * Returns the chat completion that says the same as a body, which has no `x_gateway` any more. Throws GatewayError
   * with paths of the body.
   */
  translate(body: JsonObject): Translation;
  /**
   * Checks what chat completions do not have, wherever a request has it from: the body, `extra_body`, or an entry of
   * `fallbacks`. Throws `invalid_request`. Absent where there is nothing to check.
   */
  checkOwn?(request: ChatRequest): void;
  /** Set for a task. */
  readonly task?: TaskRules;
  /** Set for raw prompts. */
  readonly rawPrompts?: RawPromptRules;
  /** Set for a count. */
  readonly counts?: true;
  /** Set where the form has no place for several answers, so that no target is asked for them. */
  readonly hasOneAnswer?: true;
  /** As in `RequestForm`. */
  readonly leavesServers?: true;
  /** Returns the bounds of a body of this form, where they are others than those of a conversation; memoized. */
  readonly bounds?: (bounds: BodyBounds) => BodyBounds;
  /** Where a parameter of chat completions stands in this form, by its name there; without those of the same name. */
  readonly names: Readonly<Record<string, string>>;
  /** As in `RequestForm`. */
  readonly blockNames?: Readonly<Record<string, string>>;
}

/** The memo can be sent to another thread. */
export interface Translation extends Pick<
  WrittenRequest,
  | "origins"
  | "untranslated"
  | "replaced"
  | "removed"
  | "approved"
  | "asked"
  | "maxToolCalls"
  | "keepsReasoning"
  | "reasoningSummary"
  | "asksForNothing"
  | "memo"
> {
  readonly chat: JsonObject;
  /** Parameters of `chat` that are left out where a target lacks them. */
  readonly advisory?: readonly Advisory[];
}

/** The member of a body with the fields that the gateway itself acts on (promise 12.2). */
const OWN_FIELDS = "x_gateway";

/**
 * Fields of the gateway that each form has as members of its own. An answer to the deprecated form of functions has no
 * place in other forms.
 */
const IN_FORM: ReadonlySet<string> = new Set(["messages", "model", "metadata", "functions", "function_call"]);

/** Parameters that choose the target's address as fields of the gateway do. */
const ADDRESSING: ReadonlySet<string> = new Set(["deployment_id"]);

export function translatedForm(translator: Translator): RequestForm {
  const form: RequestForm = {
    ...(translator.task !== undefined && { task: translator.task }),
    ...(translator.rawPrompts !== undefined && { rawPrompts: translator.rawPrompts }),
    ...(translator.counts === true && { counts: true }),
    ...(translator.leavesServers === true && { leavesServers: true }),
    ...(translator.blockNames !== undefined && { blockNames: translator.blockNames }),
    parse: (text, bounds) =>
      bounds === null
        ? { ...parseChatRequest(text, null, VENDOR_JUDGED), form }
        : parsedRequest(text, bounds, translator, form),
    pathOf: (path, { written }) =>
      written === undefined ? path : pathIn(path, written.origins, new Set(written.ownFields), translator),
    withEntry(request, added, keepsEndpoint, author) {
      const { n, ...rest } = added;
      const leavesOut = translator.hasOneAnswer === true && isSet(n);
      const made = requestWithEntry(request, leavesOut ? rest : added, keepsEndpoint, author);
      translator.checkOwn?.(made);
      return leavesOut && n !== 1 ? withoutChoices(made, author) : made;
    },
  };
  return form;
}

/**
 * Notes that an `n` above 1 is left out. Routes may set it, because they serve other operations as well. Throws
 * `invalid_request` where the caller has set it.
 */
function withoutChoices(request: ChatRequest, author: EntryAuthor): ChatRequest {
  const message = "n cannot be used here, because this operation always has a single answer.";
  if (author === "caller") throw invalidRequest("n", message);
  const written = request.written!;
  const left: Untranslated = { path: "n", message, dropped: "always" };
  return { ...request, written: { ...written, untranslated: [...written.untranslated, left] } };
}

function parsedRequest(text: string, bounds: BodyBounds, translator: Translator, form: RequestForm): ChatRequest {
  const ofForm = translator.bounds?.(bounds) ?? bounds;
  const { value } = parsedBody(text, ofForm);
  const own = value[OWN_FIELDS];
  const body = own === undefined ? value : withoutOwn(value);
  requireFewItems(body, ofForm);
  requireScopesInOwnFields(body);
  requireHeadersOfCallers(body);
  const fields = checkedOwnFields(own);
  const {
    chat,
    origins,
    untranslated,
    advisory = [],
    replaced,
    approved = [],
    memo,
    ...reasoning
  } = translator.translate(body);
  const ownFields = Object.keys(fields);
  const whole = ownFields.length === 0 ? chat : mergeObjects(chat, fields, (_path, _there, added) => added);
  const asked = { text, body, origins, untranslated, advisory, ownFields, approved, added: {}, memo, ...reasoning };
  const written = replaced === undefined ? asked : { ...asked, replaced };
  try {
    const isJudged = translator.task === undefined;
    const request = chatRequestOf(
      whole,
      (rewritten) => sourceOfValues(whole, rewritten),
      isJudged ? VENDOR_JUDGED : undefined,
    );
    const parts = isJudged ? [...untranslated, ...valuesForVendors(whole, asked, translator)] : untranslated;
    // the gateway runs tools for the translation alone
    if (request.options.toolServers.some(({ url }) => url === null)) requireValid(parts);
    const made: ChatRequest = { ...request, form, written: { ...written, untranslated: parts } };
    translator.checkOwn?.(made);
    return made;
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    throw relocated(thrown, translator, (path) => pathIn(path, origins, new Set(ownFields), translator));
  }
}

/** Returns the values of parameters that only a vendor's own rules may allow. */
function valuesForVendors(
  chat: JsonObject,
  { origins, untranslated }: Pick<Translation, "origins" | "untranslated">,
  translator: Translator,
): readonly Untranslated[] {
  const found: Untranslated[] = [];
  for (const name of VENDOR_JUDGED) {
    const value = chat[name];
    if (value === undefined || value === null) continue;
    orNoted(
      (part) => found.push(part),
      undefined,
      () => {
        try {
          FIELDS.get(name)!.check(isRawNumber(value) ? Number(value.rawJSON) : value, name);
        } catch (thrown) {
          if (!(thrown instanceof GatewayError)) throw thrown;
          throw relocated(thrown, translator, (path) => pathIn(path, origins, new Set(), translator));
        }
      },
    );
  }
  return found.filter(({ path }) => !untranslated.some((known) => known.path === path));
}

function requireValid(parts: readonly Untranslated[]): void {
  const invalidPart = parts.find(({ isInvalid }) => isInvalid);
  if (invalidPart !== undefined)
    throw new GatewayError("invalid_request", invalidPart.message, { param: invalidPart.path, isWritten: true });
}

function withoutOwn({ [OWN_FIELDS]: _own, ...body }: JsonObject): JsonObject {
  return body;
}

/** The parser has bounded the lists of members that chat completions have too, before it made their values. */
function requireFewItems(body: JsonObject, { maxItems }: BodyBounds): void {
  for (const name in body) {
    const value = body[name];
    if (Array.isArray(value) && value.length > maxItems)
      throw beyondBound(`${name} may have at most ${maxItems} items.`, name);
  }
}

/** The scopes of a call, which never go to a provider (promise 2.1). */
const SCOPES = ["tenant_id", "project_id"] as const;

/** Throws `invalid_request` where a scope stands among the members of the form, which a provider may be sent as they are. */
function requireScopesInOwnFields(body: JsonObject): void {
  for (const name of SCOPES) if (isSet(body[name])) throw fieldOfGateway(name);
}

/**
 * Throws `header_not_allowed` and the like for headers of a tool that no caller may set (promise 2.10), wherever the
 * tool stands, and also where the provider runs it.
 */
function requireHeadersOfCallers(body: JsonObject): void {
  for (const { path, tool } of [...placedTools(body["tools"], "tools"), ...toolsOfItems(body)])
    if (isObject(tool) && isObject(tool["headers"])) checkedHeaders(`${path}.headers`, tool["headers"]);
}

/** Returns the fields of the gateway that the request sets. Throws `invalid_request` for a member that is none. */
function checkedOwnFields(own: Json | undefined): JsonObject {
  if (own === undefined || own === null) return {};
  if (!isObject(own)) throw invalid(OWN_FIELDS, "an object", own);
  for (const name of Object.keys(own))
    if (!ADDRESSING.has(name) && (!Object.hasOwn(GATEWAY, name) || IN_FORM.has(name))) {
      const param = `${OWN_FIELDS}.${name.slice(0, 64)}`;
      throw invalidRequest(
        param,
        `${param} is unknown: ${OWN_FIELDS} takes fields of the gateway, such as route, timeout and drop_params.`,
      );
    }
  return own;
}

const INDEXED = /^(messages|tools)\[(\d+)\](.*)$/s;
const PART = /^\.content\[(\d+)\]/;
const FIRST_NAME = /^[^.[]+/;

function pathIn(path: string, origins: Origins, ownFields: ReadonlySet<string>, { names }: Translator): string {
  const indexed = INDEXED.exec(path);
  if (indexed !== null) {
    const [, list, index, rest] = indexed;
    const part = list === "messages" ? PART.exec(rest!)?.[1] : undefined;
    const origin =
      (part === undefined ? undefined : origins.parts?.[Number(index)]?.[Number(part)]) ??
      origins[list as "messages" | "tools"][Number(index)];
    // members of a part do not have the same names in both forms
    return origin ?? `${names[list!] ?? list}${rest}`;
  }
  const name = FIRST_NAME.exec(path)?.[0] ?? path;
  if (ownFields.has(name)) return `${OWN_FIELDS}.${path}`;
  const own = origins.params?.[name] ?? names[name];
  return own === undefined ? path : path === name ? own : `${own}${path.slice(name.length)}`;
}
