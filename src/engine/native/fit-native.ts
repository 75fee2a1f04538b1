// Fits what the client wrote to a target that speaks the operation itself (promise 12.3). Everything passes, known or
// not, but for members that choose a model, an address or a credential, and tools that run at the vendor: those need a
// permission or the operator's consent.
import type { ChatRequest, Untranslated, WrittenRequest } from "../../core/chat.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Principal } from "../../core/identity.ts";
import { isSet, listIn } from "../../core/json.ts";
import { shortMember } from "../../core/request/held-body.ts";
import { type JsonEdit, memberEdits } from "../../core/request/json-edit.ts";
import { mayRunHosted } from "../../core/configured/hosted-tool.ts";
import type { ParameterDisposition } from "../../core/record/record.ts";
import type { ProviderSettings } from "../../core/snapshot.ts";
import type { NativeForm, NativeOperation, FeatureHeader } from "../../providers/interface/native-operation.ts";
import type { Provider } from "../../providers/interface/provider.ts";
import { choosesAtProvider } from "../fit/endpoint-fields.ts";
import { type FitSettings, type FittedRequest, mayBeLeft } from "../fit/fit.ts";
import { addedMembers, factsOf, type NativeFacts } from "./native-facts.ts";
import type { NativeTarget } from "./native-target.ts";

/** Throws `permission_required` or `unsupported_parameter` with the path in the client's body. */
export function fitNative(
  request: ChatRequest,
  { native, spoken, resolved, edits, dropped }: NativeTarget,
  entry: ProviderSettings,
  settings: FitSettings,
  principal: Principal,
  http: Headers,
): FittedRequest {
  const written = request.written!;
  const { form } = native;
  const facts = factsOf(written, form);
  const own = ownLeft(facts, written.untranslated, native, settings);
  refusePrivileged(facts, request, form, resolved.provider, principal);
  const left = hostedToolsLeft(facts, { entry, settings, written }, resolved.provider);
  const features =
    form.features === undefined || native.lacksFeatures !== true
      ? null
      : splitFeatures(http.get(form.features.name), form.features, facts);
  const asked = askedReasoning(written, native, resolved.target.model);
  const told = [...dropped, ...own, ...left, ...(features?.left ?? [])];
  const dispositions: Record<string, ParameterDisposition> = {};
  for (const name of facts.names) dispositions[name] = "native";
  for (const path of told) dispositions[path] = "dropped";
  return {
    request: {
      ...request,
      written: {
        ...written,
        spoken,
        edits: [
          ...(written.masks ?? []),
          ...(written.removed ?? []),
          { path: ["x_gateway"], value: undefined },
          ...memberEdits(written.replaced ?? {}),
          ...(form.storeMember === undefined || settings.storesNothing !== true
            ? []
            : [{ path: [form.storeMember], value: false }]),
          ...asked,
          ...edits,
          ...own.map((path): JsonEdit => ({ path: [path], value: undefined })),
          ...left.map((path): JsonEdit => ({ path: placeOf(path), value: undefined })),
        ],
        ...(features !== null && { headers: { [form.features!.name]: features.header } }),
      },
    },
    dropped: told,
    dispositions,
    native,
    ...(facts.tools.some(({ isHosted }) => isHosted) && { runsHostedTools: true as const }),
    ...(asked.length > 0 && { hidesReasoning: true }),
  };
}

/** Where the answer is kept, the provider is asked for what it needs back of its reasoning in later calls. */
function askedReasoning(
  written: WrittenRequest,
  { form: { reasoningMember: member }, encryptedReasoning }: NativeOperation,
  model: string,
): readonly JsonEdit[] {
  if (written.keepsReasoning !== true || member === undefined || encryptedReasoning?.test(model) !== true) return [];
  return [{ path: [member.name], value: [...listIn(shortMember(written, member.name)), member.item] }];
}

/**
 * Returns the members that are left out because only the gateway, or the form's own vendor, does what they ask for.
 * Throws the error of the translation for one that may not be left out.
 */
function ownLeft(
  facts: NativeFacts,
  untranslated: readonly Untranslated[],
  { form: { ownMembers = [], threadMember }, keepsThreads }: NativeOperation,
  settings: FitSettings,
): readonly string[] {
  const own = untranslated.filter(
    ({ path }) => facts.has(path) && (ownMembers.includes(path) || (path === threadMember && keepsThreads !== true)),
  );
  const refused = own.find((part) => !mayBeLeft(part, settings));
  if (refused !== undefined)
    throw new GatewayError("unsupported_parameter", refused.message, { param: refused.path, isWritten: true });
  return own.map(({ path }) => path);
}

function refusePrivileged(
  facts: NativeFacts,
  { written, configured }: ChatRequest,
  { privileged }: NativeForm,
  provider: Provider,
  { permissions, restrictions, permitsTool }: Principal,
): void {
  const { label } = provider;
  const added = addedMembers(written!);
  const inTools = facts.tools.find((tool) => tool.privileged !== null);
  const path =
    [...privileged, ...provider.privileged].find(
      (name) => facts.has(name) || (isSet(added[name]) && configured?.has(name) !== true),
    ) ??
    facts.names.find((name) => choosesAtProvider(name) && facts.has(name)) ??
    (inTools === undefined ? undefined : `${inTools.path}.${inTools.privileged}`);
  const isRestricted = restrictions !== null || permitsTool !== undefined;
  if (path === undefined || (permissions.has("byo_endpoint") && !isRestricted)) return;
  throw new GatewayError(
    "permission_required",
    permissions.has("byo_endpoint")
      ? `${path} can choose further models, tools, addresses or credentials at ${label}, but this access token is restricted to some models, routes or tools.`
      : `${path} can choose further models, tools, addresses or credentials at ${label} and needs the permission byo_endpoint.`,
    { param: path, isWritten: true },
  );
}

interface HostedRules {
  readonly entry: ProviderSettings;
  readonly settings: FitSettings;
  readonly written: Pick<WrittenRequest, "untranslated" | "replaced">;
}

/**
 * Returns the paths of tools that would run at the vendor without the operator's consent, and may be left out. Throws
 * `unsupported_parameter` for one that may not.
 */
function hostedToolsLeft(
  facts: NativeFacts,
  rules: HostedRules,
  { label, hostedTools: priced = [] }: Provider,
): readonly string[] {
  return facts.tools.flatMap(({ path, type, isHosted }) => {
    if (!isHosted || (type !== null && mayRunHosted(type, rules.entry, priced))) return [];
    const { untranslated, replaced = {} } = rules.written;
    const known = untranslated.find((one) => one.path === path);
    // what stands in place of a member goes out as a whole
    const isReplaced = Object.hasOwn(replaced, String(placeOf(path)[0]));
    if (known !== undefined && !isReplaced && mayBeLeft(known, rules.settings)) return [path];
    throw new GatewayError(
      "unsupported_parameter",
      `${path} would run at ${label} on the account of the gateway, which knows no price for tools of type ${JSON.stringify(type)}, and its operator has not allowed them in hosted_tools of the provider. Leave it out, or use a tool that you run yourself.`,
      { param: path, isWritten: true },
    );
  });
}

/** The place of a tool, as edits name it. */
function placeOf(path: string): JsonEdit["path"] {
  return path.match(/[^.[\]]+/g)!.map((key) => (/^\d+$/.test(key) ? Number(key) : key));
}

interface SplitFeatures {
  /** The header as it goes out; empty where nothing is left of it. */
  readonly header: string;
  /** The features that were left out, as `x-gateway-dropped-params` names them. */
  readonly left: readonly string[];
}

/**
 * Splits the header in which a client lists features for one target: a feature that only its vendor's own platform has is
 * left out elsewhere, unless the body uses it. Header and body go together, or neither does (promise 12.3). Returns null
 * where the header goes out as it came.
 */
function splitFeatures(
  value: string | null,
  { name, foreign }: FeatureHeader,
  { uses }: Pick<NativeFacts, "uses">,
): SplitFeatures | null {
  if (value === null) return null;
  const listed = value.split(",").map((feature) => feature.trim());
  const left = listed.filter((feature) => {
    const found = foreign.find((one) => one.feature.test(feature));
    return found !== undefined && !found.inBody.some(uses);
  });
  if (left.length === 0) return null;
  return {
    header: listed.filter((feature) => !left.includes(feature)).join(","),
    left: left.map((feature) => `${name}.${feature.slice(0, 64)}`),
  };
}
