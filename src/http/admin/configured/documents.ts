// The rules of all nouns: what a document has to satisfy beyond its form, and what it may contain.
import { z } from "zod";
import { priceSchema } from "../../../accounting/price-settings.ts";
import { budgetSchema, limitSchema } from "../../../admission/settings.ts";
import type { ConfiguredNoun } from "../../../core/configured/configured.ts";
import { guardCost } from "../../../guards/guard-search.ts";
import { compileGuard } from "../../../guards/compile-guard.ts";
import { NO_PROVIDER, policySchema, serviceProvider } from "../../../policies/policy-settings.ts";
import { misplacedSettings, scopeSettings } from "../../../auth/settings/scope-settings.ts";
import { newWebhookSecret, webhookSchema } from "../../../observe/webhooks/webhook-settings.ts";
import { toolServerSchema } from "../../../mcp/settings.ts";
import { GatewayError } from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/json.ts";
import { PROVIDER_ID, providerEntrySchema, providerProblem } from "../../../providers/settings.ts";
import { checkAddress } from "../../../wire/address-guard.ts";
import type { Finding } from "../../../config/problem.ts";
import type { Resource } from "../../../store/records.ts";
import { isMasked } from "../../../store/configuration/secret-fields.ts";
import type { DocumentRule, DocumentDependencies, DocumentChange } from "./document-rule.ts";
import type { AdminCall } from "../operation.ts";
import { degradeProblems } from "../../../routing/lost-names.ts";
import { allOf, providerIds, routesOfPlace, thresholdsOf } from "./references.ts";
import { routeRule } from "./route-rule.ts";

export function documentRules(
  dependencies: DocumentDependencies,
): Readonly<Partial<Record<ConfiguredNoun, DocumentRule>>> {
  return {
    routes: routeRule(dependencies),
    providers: providerRule(dependencies),
    limits: { schema: limitSchema, named: "id", problems: tokenProblems },
    budgets: budgetRule(dependencies),
    prices: formAlone(priceSchema, "name"),
    policies: policyRule(dependencies),
    tool_servers: { ...formAlone(toolServerSchema, "name"), addresses: ["url", "oauth.token_url"] },
    webhooks: WEBHOOK_RULE,
    settings: settingsRule(),
  };
}

/** The rule of a noun that its schema describes completely. */
function formAlone(schema: z.ZodType, named: DocumentRule["named"]): DocumentRule {
  return { schema, named, problems: () => [] };
}

/** The provider whose service judges texts has to exist. */
function policyRule(dependencies: DocumentDependencies): DocumentRule {
  return {
    schema: policySchema,
    named: "id",
    derive: costOfGuard,
    addresses: ["guard.service.url"],
    references: async ({ call, document, reader }) => {
      const named = serviceProvider(document);
      if (named === undefined) return [];
      const ids = providerIds(dependencies, await allOf(reader, "provider", call.place!.tenantId));
      return ids.has(named) ? [] : [{ path: ["guard", "service", "provider"], message: NO_PROVIDER }];
    },
    problems: () => [],
  };
}

/** The cost of the policy's guard, if it has a valid one. */
function costOfGuard(document: JsonObject): JsonObject {
  const parsed = policySchema.safeParse(document);
  return parsed.success && parsed.data.guard !== undefined && parsed.data.guard.service === undefined
    ? { guard_cost: guardCost(compileGuard(parsed.data.guard).work) }
    : {};
}

/** When a request does not mention the secrets, the stored ones remain; a new webhook gets a new secret. */
const WEBHOOK_RULE: DocumentRule = {
  ...formAlone(webhookSchema, "name"),
  addresses: ["url"],
  kept: newWebhookSecret(),
  guardsOperator: true,
  completed(document, before) {
    if (document["secret"] !== undefined) return { document, shown: {} };
    const { secret, previous_secret: previous, previous_secret_until: until } = before ?? {};
    if (secret === undefined) {
      const made = newWebhookSecret();
      return { document: { ...document, secret: made }, shown: { secret: made } };
    }
    return {
      document: {
        ...document,
        secret,
        ...(previous !== undefined &&
          until !== undefined && { previous_secret: previous, previous_secret_until: until }),
      },
      shown: {},
    };
  },
};

/**
 * The access token that a limit or budget names has to exist and be usable where the rule applies: otherwise the rule
 * would silently apply to no call.
 */
async function tokenProblems({
  call,
  document,
  reader,
}: Pick<DocumentChange, "call" | "document" | "reader">): Promise<readonly Finding[]> {
  const named = inside(document["scope"], "token");
  if (typeof named !== "string" || named.includes("*")) return [];
  const { tenantId, projectId } = call.place!;
  const found = await reader.findToken(named);
  const isThere =
    found !== null &&
    found.tenantId === tenantId &&
    (projectId === null || found.projectId === null || found.projectId === projectId);
  return isThere
    ? []
    : [
        {
          path: ["scope", "token"],
          message:
            projectId === null
              ? "the tenant has no access token with this id"
              : "no access token with this id has access to the project",
        },
      ];
}

function settingsRule(): DocumentRule {
  return {
    schema: scopeSettings,
    named: "singleton",
    problems: ({ call, document }) =>
      misplacedSettings(document, call.place!.projectId === null ? "tenant" : "project"),
  };
}

/** The targets of `degrade_to` have to exist. */
function budgetRule(dependencies: DocumentDependencies): DocumentRule {
  return {
    schema: budgetSchema,
    named: "id",
    problems: tokenProblems,
    references: async ({ call, document, reader }) => {
      const { tenantId, projectId } = call.place!;
      if (!JSON.stringify(document).includes("degrade_to")) return [];
      const routes = await allOf(reader, "route", tenantId);
      const seen = [null, ...(projectId === null ? [] : [projectId])].map(
        (id) => routesOfPlace(dependencies, routes, { tenantId, projectId: id }).routes,
      );
      const providers = providerIds(dependencies, await allOf(reader, "provider", tenantId));
      return degradeProblems(thresholdsOf(document), providers, [dependencies.configuration().routes, ...seen]);
    },
  };
}

const EXPANSION = /\$\{[^}]*\}/;

function providerRule({ families }: DocumentDependencies): DocumentRule {
  const schema = providerEntrySchema(families);
  const known = new Map(families.map((family) => [family.id, family]));
  return {
    schema,
    named: "name",
    name: z.string().regex(PROVIDER_ID, "expected 1 to 64 lower-case letters, digits, dashes and underscores"),
    addresses: ["base_url", "token_url"],
    problems: ({ call, name, document }) => {
      const parsed = schema.safeParse(withKeptAccount(document));
      const problem = parsed.success ? providerProblem(name!, parsed.data, known) : null;
      return [
        ...(problem === null ? [] : [problem]),
        ...expansions(document, []),
        ...(call.caller.isOperator ? [] : machineCredentials(document)),
      ];
    },
  };
}

/** Only the configuration file and `dragoman apply` expand variables and files. A request contains the values themselves. */
function expansions(value: unknown, path: readonly (string | number)[]): readonly Finding[] {
  if (typeof value === "string")
    return EXPANSION.test(value)
      ? [
          {
            path,
            message:
              "expected the value itself: variables and files are expanded in the configuration file and by `dragoman apply`, and not here",
          },
        ]
      : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) =>
    expansions(one, [...path, Array.isArray(value) ? Number(key) : key]),
  );
}

/** Replaces a stored account whose secret comes back masked. */
const KEPT_ACCOUNT = JSON.stringify({
  type: "service_account",
  client_email: "kept",
  private_key: "-----BEGIN PRIVATE KEY-----\n",
});

/** A masked key file cannot be checked; it was checked when it was stored. */
function withKeptAccount(document: JsonObject): JsonObject {
  const account = inside(document["google"], "service_account");
  return typeof account === "string" && isMasked(account)
    ? { ...document, google: { ...(document["google"] as JsonObject), service_account: KEPT_ACCOUNT } }
    : document;
}

/** Only the operator may use identities of the machine and files on it. */
function machineCredentials(document: JsonObject): readonly Finding[] {
  const places: readonly (readonly [path: readonly string[], found: unknown])[] = [
    [["aws"], document["aws"] === "default"],
    [["aws", "profile"], inside(document["aws"], "profile")],
    [["google"], document["google"] === "default"],
    [["google", "credentials_file"], inside(document["google"], "credentials_file")],
    [["entra", "federated_token_file"], inside(document["entra"], "federated_token_file")],
    [["token_url"], document["token_url"]],
  ];
  return places.flatMap(([path, found]) =>
    found === false || found === undefined
      ? []
      : [
          {
            path,
            message:
              "this is an identity, a file or a service of the gateway's machine; only operators of the gateway may use it",
          },
        ],
  );
}

function inside(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>)[key] : undefined;
}

/**
 * Addresses that a caller other than an operator writes are checked like those of requests (promise 2.12); the
 * addresses of webhooks are checked for every caller. Throws `address_not_allowed`, `upstream_connection`.
 */
export async function requireAddresses(
  { addresses = [], guardsOperator }: DocumentRule,
  call: AdminCall,
): Promise<void> {
  if (call.caller.isOperator && guardsOperator !== true) return;
  for (const param of addresses) {
    const address = param.split(".").reduce(inside, call.body);
    if (typeof address === "string")
      await checkAddress(address, { allowPrivate: call.snapshot.allowPrivateAddresses, param });
  }
}

/**
 * A document has one author. A caller other than an operator who changes an operator's document takes over its
 * addresses, which are then checked like the caller's own and therefore have to be in the request. Throws `read_only`
 * for an address that is not in the request.
 */
export function requireOwnAddresses(
  { addresses = [], guardsOperator }: DocumentRule,
  { caller, body }: AdminCall,
  before: Resource,
  document: JsonObject,
): void {
  if (before.byOperator !== true || caller.isOperator || guardsOperator === true) return;
  for (const param of addresses) {
    const [kept, sent] = [document as unknown, body].map((of) => param.split(".").reduce(inside, of));
    if (typeof kept === "string" && sent !== kept)
      throw new GatewayError(
        "read_only",
        `${param} was set by an operator of the gateway, so it was not checked like an address set by a tenant. Send ${param} with the change to have it checked, or ask an operator to make the change.`,
        { param },
      );
  }
}
