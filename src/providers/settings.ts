// The `providers:` section of the configuration: which providers exist, under which ids, at which addresses, with which
// keys and models. The known families are passed in as data, so that a new provider changes nothing here.
import { z } from "zod";
import type { ModelListing } from "../core/snapshot.ts";
import { sectionSettings } from "../config/section-settings.ts";
import { didYouMean } from "../config/suggestion.ts";
import type { StoredCredential } from "../core/configured/credential.ts";
import type { OperationName } from "../core/operation.ts";
import { ADDRESS_WORD } from "../core/target.ts";
import {
  CREDENTIAL_KEYS,
  credentialProblem,
  isPlainAddress,
  storedCredentials,
  trimmedAddress,
} from "./credentials/credential-settings.ts";
import type { Provider } from "./interface/provider.ts";
import type { Finding } from "../config/problem.ts";

/** What the configuration needs to know about a provider's implementation or row. */
export type ProviderFamily = Pick<
  Provider,
  | "id"
  | "label"
  | "baseUrl"
  | "otherOrigins"
  | "baseUrlVariables"
  | "keyVariables"
  | "credentials"
  | "settings"
  | "native"
  | "rawPrompts"
  | "privileged"
>;

/**
 * Whether the family answers inside the gateway. It then needs neither key nor address and is always enabled, and the
 * address that it has is not an HTTP one.
 */
export function runsInside(family: ProviderFamily): boolean {
  return family.baseUrl !== null && !/^https?:/i.test(family.baseUrl);
}

export interface ProviderEntry {
  readonly family: string;
  readonly enabled: boolean;
  /** The address without a slash at the end. `null` when the family's own address is used. */
  readonly baseUrl: string | null;
  /**
   * The credentials from the file. When it is empty, the credentials of the environment are used where this is allowed.
   */
  readonly credentials: readonly StoredCredential[];
  /** The operator's own token service. `credentials` already contain its address. */
  readonly tokenUrl: string | null;
  /** The settings from the file, which have precedence over the environment. */
  readonly settings: Readonly<Record<string, string>>;
  readonly models: readonly ModelListing[];
  readonly sharesConnections: boolean;
  /** `null` when the row decides. */
  readonly native: readonly OperationName[] | null;
  /** `null` when the row decides. */
  readonly hostedTools: readonly HostedToolEntry[] | null;
  readonly vendorStore: boolean;
}

/** A type of tools that may run at the vendor. */
export interface HostedToolEntry {
  readonly type: string;
  /** `null` when the row's price holds, if it has one. */
  readonly nanoUsd: number | null;
}

export interface ProvidersConfiguration {
  readonly allowPrivateAddresses: boolean;
  /** The entries by id, in the order of the file. */
  readonly entries: ReadonlyMap<string, ProviderEntry>;
}

export const PROVIDER_ID = /^[a-z0-9][a-z0-9_-]{0,63}$/;
/**
 * A model's own name, within the bounds of promise 1.8. A `.` between slashes is removed from an address just as `..`
 * is.
 */
export const MODEL_ID = /^(?!.*\.\.)(?!(?:.*\/)?\.(?:\/|$))[\x21-\x22\x24-\x3e\x40-\x7e]{1,256}$/;
const USD = /^(0(\.\d{1,18})?|1(\.0{1,18})?)$/;
const price = (description: string) =>
  z
    .string()
    .regex(USD, 'expected US dollars for one token as a decimal number in quotes, "0" to "1", such as "0.00000025"')
    .meta({ title: "USD per token", description });
const tokens = (description: string) =>
  z.int().min(1).max(1_000_000_000).optional().meta({ title: "Tokens", description });
const modelId = z
  .string()
  .regex(
    MODEL_ID,
    "expected a model's name: printable characters without spaces, `..`, `?`, `#` and a `.` between slashes",
  );

const MODEL = {
  id: modelId.meta({ title: "Id", description: "The model's name at the provider." }),
  name: z.string().min(1).max(256).optional().meta({ title: "Name", description: "Name for display." }),
  context_length: tokens("Maximum number of tokens of prompt and completion together."),
  max_completion_tokens: tokens("Maximum number of tokens of a completion."),
  pricing: z
    .strictObject({ prompt: price("Price of a prompt token."), completion: price("Price of a completion token.") })
    .optional()
    .meta({ title: "Pricing", description: "Prices in US dollars per token, as decimal numbers in quotes." }),
};
const modelSchema = z.union([
  modelId.meta({ title: "Model", description: "The model's name at the provider." }),
  z.strictObject(MODEL).meta({
    title: "Model",
    description:
      "A model and its properties, which take precedence over the bundled price list. If the file names no models, those of the bundled list are listed. `max_completion_tokens` is also sent to providers that require a maximum, if the call sets none.",
  }),
]);

const toModelListing = (model: z.output<typeof modelSchema>): ModelListing =>
  sectionSettings(MODEL, typeof model === "string" ? { id: model } : model);

/**
 * Operations that are translated where a model does not speak them, or refused where there is no translation: token
 * counts, and raw prompts.
 */
const NATIVE_OPERATIONS = [
  "messages",
  "messages.count_tokens",
  "responses",
  "responses.input_tokens",
  "completions",
] as const satisfies readonly OperationName[];

/** Names of models of each kind that a provider may call in a form of its own. */
const NATIVE_MODELS = ["m", "claude-m", "anthropic.claude-m"] as const;

const hostedToolType = z
  .string()
  .regex(/^[\w.-]{1,64}\*?$/, "expected a type of tools, such as web_search_20250305 or web_search*");

const ENTRY_SHAPE = {
  type: z.string().optional().meta({
    title: "Type",
    description:
      "The known provider that your own id stands for, such as `custom` for any server with OpenAI's API. The id of a known provider needs no type.",
  }),
  enabled: z.boolean().default(true).meta({
    title: "Enabled",
    description: "`false` disables the provider, even if its key is in the environment.",
  }),
  base_url: z
    .string()
    .refine(isPlainAddress, "expected an http or https address without user name, query and fragment")
    .transform(trimmedAddress)
    .optional()
    .meta({
      title: "Base URL",
      description:
        "The base URL, as the vendor's own client library defines it. It may be in a private network if it stands in the file or an operator has set it, and otherwise only with `allow_private_addresses`. The default is the provider's public address.",
    }),
  ...CREDENTIAL_KEYS,
  shared_connections: z.boolean().default(false).meta({
    title: "Shared connections",
    description:
      "`true` lets calls of several tenants use the same connection one after another, which saves handshakes if many tenants use the provider occasionally. Over HTTP/1.1 an answer that the provider or a proxy frames wrongly could reach the next call on the connection, so set it only for providers whose framing you trust. Connections are never shared between credentials. It has an effect only in the configuration file, because a provider stored for a tenant serves only that tenant.",
  }),
  native: z.array(z.enum(NATIVE_OPERATIONS)).optional().meta({
    title: "Native operations",
    description:
      "The operations that this provider's models speak themselves: calls of such an operation are sent as the client wrote them. Without it, the row of the provider decides, at the provider's own address; an empty list turns it off ([Native operations](native-operations.md)). `completions` says that all of these models take [raw prompts](completions.md).",
  }),
  hosted_tools: z
    .array(
      z.union([
        hostedToolType,
        z
          .strictObject({
            type: hostedToolType,
            price: z
              .string()
              .regex(/^[0-9](\.\d{1,9})?$/, 'expected US dollars in quotes, such as "0.01"')
              .meta({ title: "Price", description: "Price of one use in US dollars." }),
          })
          .meta({ title: "Hosted tool with its price" }),
      ]),
    )
    .max(100)
    .optional()
    .meta({
      title: "Hosted tools",
      description:
        'Types of tools that may run at the vendor, on the bill of its account, where a call is sent as the client wrote it. A type that ends in `*` stands for every type that begins so; `{type: ..., price: "0.01"}` says what one use costs. Without the list, tools may run whose price the gateway knows ([Tools that run at the vendor](native-operations.md#tools-that-run-at-the-vendor)); an empty list forbids all.',
    }),
  vendor_store: z.boolean().default(false).meta({
    title: "Storing at the vendor",
    description: "`true` lets calls store their answers at the vendor. Without it, `store` goes out as false.",
  }),
  models: z.array(modelSchema).max(10_000).default([]).meta({
    title: "Models",
    description:
      "Models that `GET /api/v1/models` lists, each as a name or as a mapping. Without any, it lists those of the built-in list, if the provider is at its default address. Other models can be called too.",
  }),
};

/** The schema of one entry, whatever its id. `providerProblem` reports what is wrong beyond the form. */
export function providerEntrySchema(families: readonly ProviderFamily[]) {
  const shape: typeof ENTRY_SHAPE = { ...ENTRY_SHAPE, ...settingsShape(families) };
  return z
    .strictObject(shape)
    .prefault({})
    .meta({ title: "Provider", description: "A provider. An empty mapping is enough if it needs no key." });
}

function settingsShape(families: readonly ProviderFamily[]): Readonly<Record<string, z.ZodType>> {
  const meanings = new Map<string, Set<string>>();
  for (const { label, settings } of families)
    for (const { name, meaning, default: fallback } of settings) {
      if (Object.hasOwn(ENTRY_SHAPE, name))
        throw new Error(`${label} has a setting ${name}, which is a key of all providers`);
      const given = fallback === undefined || meaning.includes(fallback) ? "" : `, by default \`${fallback}\``;
      meanings.getOrInsertComputed(name, () => new Set()).add(`${label}: ${meaning.replace(/\.$/, "")}${given}.`);
    }
  return Object.fromEntries(
    [...meanings].map(([name, texts]) => [
      name,
      z
        .string()
        .regex(ADDRESS_WORD, "expected 1 to 128 letters, digits, dots, underscores or dashes")
        .optional()
        .meta({ title: name, description: [...texts].join(" ") }),
    ]),
  );
}

/** The section's schema for the known `families`. */
export function providersSection(families: readonly ProviderFamily[]) {
  const known = new Map(families.map((family) => [family.id, family]));
  return z
    .object({
      allow_private_addresses: z.boolean().default(false).meta({
        title: "Private addresses",
        description:
          "Whether addresses in requests, and those that people other than operators configure, may be in private networks. Addresses in this file always may.",
        variable: "DRAGOMAN_ALLOW_PRIVATE_ADDRESSES",
      }),
    })
    .catchall(providerEntrySchema(families))
    .superRefine((section, context) => {
      for (const [id, entry] of entriesOf(section)) {
        const problem = providerProblem(id, entry, known);
        if (problem !== null)
          context.addIssue({ code: "custom", path: [id, ...problem.path], message: problem.message });
      }
    })
    .transform((section): ProvidersConfiguration => ({
      allowPrivateAddresses: section.allow_private_addresses,
      entries: new Map(entriesOf(section).map(([id, entry]) => [id, toProviderEntry(id, entry, known)])),
    }))
    .prefault({})
    .meta({
      title: "Providers",
      description:
        "Providers by id. A known provider is enabled by its key in the environment or by an entry here; your own id with a `type` adds another account or address.",
    });
}

type FileEntry = z.output<ReturnType<typeof providerEntrySchema>>;

function entriesOf(section: Readonly<Record<string, unknown>>): readonly (readonly [string, FileEntry])[] {
  return Object.entries(section).filter(([id]) => id !== "allow_private_addresses") as [string, FileEntry][];
}

/** `entry` must have no problems, so that its family is known. */
export function toProviderEntry(
  id: string,
  entry: FileEntry,
  known: ReadonlyMap<string, ProviderFamily>,
): ProviderEntry {
  const family = known.get(entry.type ?? id)!;
  const { enabled, base_url: baseUrl = null, token_url: tokenUrl = null } = entry;
  return {
    family: family.id,
    enabled,
    baseUrl,
    credentials: storedCredentials(entry, family),
    tokenUrl,
    settings: Object.fromEntries(familySettings(entry)),
    models: entry.models.map(toModelListing),
    sharesConnections: entry.shared_connections,
    native: entry.native ?? null,
    hostedTools: entry.hosted_tools?.map(toHostedTool) ?? null,
    vendorStore: entry.vendor_store,
  };
}

function toHostedTool(entry: string | { readonly type: string; readonly price: string }): HostedToolEntry {
  if (typeof entry === "string") return { type: entry, nanoUsd: null };
  const [whole, digits = ""] = entry.price.split(".");
  return { type: entry.type, nanoUsd: Number(whole) * NANO + Number(digits.padEnd(NANO_DIGITS, "0")) };
}
const NANO_DIGITS = 9;
const NANO = 10 ** NANO_DIGITS;

/** The members that are not keys of every entry: they are settings of families. */
function familySettings(entry: FileEntry): readonly (readonly [string, string])[] {
  return Object.entries(entry).filter(([name, value]) => !Object.hasOwn(ENTRY_SHAPE, name) && value !== undefined) as [
    string,
    string,
  ][];
}

function settingProblem(entry: FileEntry, { label, settings }: ProviderFamily): Finding | null {
  const foreign = familySettings(entry).find(([name]) => !settings.some((one) => one.name === name));
  if (foreign === undefined) return null;
  return {
    path: [foreign[0]],
    message: `${label} has no such setting; ${settings.length === 0 ? "it has none" : `it has ${settings.map(({ name }) => name).join(", ")}`}`,
  };
}

function nativeProblem({ native }: FileEntry, { label, native: speaks, rawPrompts }: ProviderFamily): Finding | null {
  const place = (native ?? []).findIndex(
    (operation) =>
      !NATIVE_MODELS.some(
        (model) =>
          (operation === "completions" ? rawPrompts?.(model, true) : speaks?.(operation, model, "set")) != null,
      ),
  );
  return place < 0
    ? null
    : {
        path: ["native", place],
        message: `${label} cannot be called with the client's own body for ${native![place]}`,
      };
}

export function providerProblem(
  id: string,
  entry: FileEntry,
  known: ReadonlyMap<string, ProviderFamily>,
): Finding | null {
  if (!PROVIDER_ID.test(id))
    return { path: [], message: "expected an id of 1 to 64 lower-case letters, digits, dashes and underscores" };
  if (known.has(id) && entry.type !== undefined && entry.type !== id)
    return {
      path: ["type"],
      message: `${JSON.stringify(id)} is the id of a known provider; leave \`type\` out, or use another id`,
    };
  const family = known.get(entry.type ?? id);
  if (family === undefined) {
    if (entry.type !== undefined)
      return { path: ["type"], message: `unknown provider${didYouMean(entry.type, known.keys())}` };
    return {
      path: [],
      message: `unknown provider id${didYouMean(id, known.keys()) || ";"} your own ids need \`type\``,
    };
  }
  const elsewhere = id === family.id && family.baseUrlVariables.length > 0;
  if (family.baseUrl === null && entry.base_url === undefined && !elsewhere)
    return { path: ["base_url"], message: `is missing: ${family.label} has no default address` };
  if (runsInside(family) && entry.base_url !== undefined)
    return { path: ["base_url"], message: `${family.label} runs inside the gateway and has no address` };
  const problem = credentialProblem(entry, family) ?? settingProblem(entry, family) ?? nativeProblem(entry, family);
  if (problem !== null) return problem;
  const seen = new Set<string>();
  for (const [index, model] of entry.models.entries()) {
    const name = typeof model === "string" ? model : model.id;
    if (seen.has(name)) return { path: ["models", index], message: "duplicate model" };
    seen.add(name);
  }
  return null;
}
