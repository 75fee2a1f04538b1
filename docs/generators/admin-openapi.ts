// The OpenAPI document of the admin API without a gateway, for what is generated from it.
import { systemClock } from "../../src/core/clock.ts";
import { adminOperations } from "../../src/http/admin/app.ts";
import { PROVIDER_FAMILIES } from "../../src/process/parts/provider-families.ts";
import { openapiDocument } from "../../src/http/admin/openapi.ts";
import { noToolServers } from "../../src/mcp/tool-servers.ts";
import { providers } from "../../src/providers/registry.ts";

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly enum?: readonly (string | number | boolean | null)[];
  readonly const?: string | number | boolean | null;
  readonly description?: string;
}

export interface Described {
  readonly summary: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly {
    readonly in: string;
    readonly name: string;
    readonly description?: string;
    readonly schema: Schema;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly "x-required-role"?: string;
  readonly "x-reach"?: string;
}

/** Of a reference such as `#/components/schemas/Call`. */
export function schemaName(reference: string): string {
  return reference.slice(reference.lastIndexOf("/") + 1);
}

/** The words of its type; none where it may be anything. */
export function typeWordsOf({ type = [] }: Schema): readonly string[] {
  return typeof type === "string" ? [type] : type;
}

interface AdminDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const none = (): never => {
  throw new Error("the operations are only described");
};
const NOTHING_CONFIGURED = { families: PROVIDER_FAMILIES, providers, snapshot: none, configuration: none };
const NOT_STARTED = {
  configurationFile: null,
  host: "",
  port: 0,
  workers: 1,
  database: "sqlite",
  limitStore: "memory",
  hasConsole: false,
  calls: { keepDays: null, keepDetailsDays: null },
  audit: { keepDays: null, keepRefusedDays: null },
} as const;

export function adminDocument(): AdminDocument {
  return openapiDocument(
    adminOperations(NOTHING_CONFIGURED, {
      calls: null,
      simulations: null,
      auditReads: null,
      contents: null,
      toolServers: noToolServers,
      cache: null,
      clock: systemClock,
      limits: null,
      store: null,
      targets: none,
      integrations: none,
      auditSigner: none,
      isEnding: none,
      snapshot: none,
      call: none,
      notReady: none,
      version: "",
      started: NOT_STARTED,
    }),
    "",
  ) as unknown as AdminDocument;
}
