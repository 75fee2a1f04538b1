// Fits what the client wrote to a target that speaks the operation itself (promises 12.3 and 12.15). Everything passes,
// known or not, but for members that choose a model, an address or a credential, tools that run at the vendor, and ids
// of things that live there: those need a permission or the operator's consent.
import type { ChatRequest, Untranslated } from "../../core/chat.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Principal } from "../../core/identity.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import type { JsonEdit } from "../../core/json-edit.ts";
import { memoizeBounded } from "../../core/memoization.ts";
import type { ParameterDisposition } from "../../core/record.ts";
import type { ProviderSettings } from "../../core/snapshot.ts";
import type { NativeForm, Provider } from "../../providers/provider.ts";
import { type FitSettings, type FittedRequest, mayBeLeft } from "../fit/fit.ts";
import type { NativeTarget } from "./native-target.ts";

/** Throws `permission_required`, `unsupported_parameter` or `unknown_reference` with the path in the client's body. */
export function fitNative(
  request: ChatRequest,
  { native, resolved, edits, dropped }: NativeTarget,
  { hostedTools = [], vendorStore = false }: ProviderSettings,
  settings: FitSettings,
  principal: Principal,
): FittedRequest {
  const written = request.written!;
  const { form } = native;
  const body = { ...written.body, ...written.replaced };
  refuseOwn(body, written.untranslated, form);
  refusePrivileged(body, written.added, form, resolved.provider, principal);
  const left = hostedToolsLeft(
    body,
    form,
    { hostedTools, settings, untranslated: written.untranslated },
    resolved.provider,
  );
  if (!isOwnCredential(resolved) && !principal.permissions.has("vendor_objects"))
    refuseReferences(body, written.text, form, resolved.provider);
  const dispositions: Record<string, ParameterDisposition> = {};
  for (const name of Object.keys(written.body)) dispositions[name] = "native";
  for (const path of [...dropped, ...left]) dispositions[path] = "dropped";
  return {
    request: {
      ...request,
      written: {
        ...written,
        edits: [
          { path: ["x_gateway"], value: undefined },
          ...Object.entries(written.replaced ?? {}).map(([name, value]): JsonEdit => ({ path: [name], value })),
          ...(form.storeMember === undefined || vendorStore ? [] : [{ path: [form.storeMember], value: false }]),
          ...edits,
          ...left.map((path): JsonEdit => ({ path: ["tools", indexIn(path)], value: undefined })),
        ],
      },
    },
    dropped: [...dropped, ...left],
    dispositions,
    native,
  };
}

/** What the caller's own credential or address pays for and reaches is the caller's own concern. */
function isOwnCredential({ credentials, target }: NativeTarget["resolved"]): boolean {
  return target.isCallersAddress || credentials.some(({ fromCaller }) => fromCaller);
}

/** Throws the error of the translation for a member that only the gateway can do, and does not. */
function refuseOwn(body: JsonObject, untranslated: readonly Untranslated[], { ownMembers = [] }: NativeForm): void {
  const refused = untranslated.find(({ path }) => ownMembers.includes(path) && isSet(body[path]));
  if (refused !== undefined)
    throw new GatewayError("unsupported_parameter", refused.message, { param: refused.path, isWritten: true });
}

function refusePrivileged(
  body: JsonObject,
  added: JsonObject,
  { privileged, privilegedInTools }: NativeForm,
  { label }: Provider,
  { permissions, restrictions }: Principal,
): void {
  const path =
    privileged.find((name) => isSet(body[name]) || isSet(added[name])) ??
    toolsOf(body).flatMap((tool, index) =>
      privilegedInTools.filter((name) => isObject(tool) && isSet(tool[name])).map((name) => `tools[${index}].${name}`),
    )[0];
  if (path === undefined || (permissions.has("byo_endpoint") && restrictions === null)) return;
  throw new GatewayError(
    "permission_required",
    permissions.has("byo_endpoint")
      ? `${path} can choose further models, addresses or credentials at ${label}, but this access token is restricted to some models or routes.`
      : `${path} can choose further models, addresses or credentials at ${label} and needs the permission byo_endpoint.`,
    { param: path, isWritten: true },
  );
}

interface HostedRules {
  /** The types that the operator allows. */
  readonly hostedTools: readonly string[];
  readonly settings: FitSettings;
  readonly untranslated: readonly Untranslated[];
}

/**
 * Returns the paths of tools that would run at the vendor without the operator's consent, and may be left out. Throws
 * `unsupported_parameter` for one that may not.
 */
function hostedToolsLeft(
  body: JsonObject,
  form: NativeForm,
  rules: HostedRules,
  { label }: Provider,
): readonly string[] {
  return toolsOf(body).flatMap((tool, index) => {
    const type = isObject(tool) ? tool["type"] : undefined;
    if (!isObject(tool) || !isSet(type)) return [];
    if (typeof type === "string" && form.isClientTool(tool, type)) return [];
    if (typeof type === "string" && rules.hostedTools.some((one) => matches(one, type))) return [];
    const path = `tools[${index}]`;
    const known = rules.untranslated.find((one) => one.path === path);
    if (known !== undefined && mayBeLeft(known, rules.settings)) return [path];
    throw new GatewayError(
      "unsupported_parameter",
      `${path} would run at ${label} on the account of the gateway, and its operator has not allowed tools of type ${JSON.stringify(type)} in hosted_tools of the provider. Leave it out, or use a tool that you run yourself.`,
      { param: path, isWritten: true },
    );
  });
}

function matches(allowed: string, type: string): boolean {
  return allowed.endsWith("*") ? type.startsWith(allowed.slice(0, -1)) : allowed === type;
}

/** Throws `unknown_reference` for the first id of a thing that lives at the vendor. */
function refuseReferences(
  body: JsonObject,
  text: string,
  { vendorIds, referenceTypes = [] }: NativeForm,
  { label }: Provider,
): void {
  // nearly no request names any, which one pass over its text shows
  if (!namesAnyOf([...vendorIds, ...referenceTypes])(text)) return;
  const path = firstReference(body, { names: new Set(vendorIds), types: new Set(referenceTypes) }, "");
  if (path === null) return;
  throw new GatewayError(
    "unknown_reference",
    `${path} names something that lives at ${label}, where the gateway's account has the things of all its projects. Send the content itself, send a credential of your own, or use a token with the permission vendor_objects.`,
    { param: path, isWritten: true },
  );
}

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

function toolsOf({ tools }: JsonObject): readonly Json[] {
  return Array.isArray(tools) ? (tools as readonly Json[]) : [];
}

function isSet(value: Json | undefined): boolean {
  return value !== undefined && value !== null;
}

function indexIn(path: string): number {
  return Number(/\d+/.exec(path)![0]);
}
