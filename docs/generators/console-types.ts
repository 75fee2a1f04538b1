// `npm run console:types`: writes the types of the answers that the console reads, console/src/api/types.ts, from the schemas of the OpenAPI
// document, so that a screen that reads a member that the admin API does not have does not pass the type check. The checks that need the file
// write it first, several of them at once.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { adminDocument, type Schema, schemaName, typeWordsOf } from "./admin-openapi.ts";

/** What the screens read; the schemas that these refer to are written as well. */
const READ_BY_SCREENS = [
  "LogPage",
  "NewCalls",
  "ViewList",
  "CallDetail",
  "Usage",
  "CallHistogram",
  "CallFacets",
  "ProjectTokenList",
  "Token",
  "ListedToken",
  "IssuedToken",
  "ModelList",
  "RouteSimulation",
  "RouteComparison",
  "PolicySimulation",
  "ObjectVersions",
  "Draft",
  "DraftList",
  "ProviderTest",
  "LimitStates",
  "LimitDetail",
  "ProviderHealths",
  "AttentionList",
  "TenantAuditList",
  "VerifiedAudit",
  "AccessAsOf",
  "TenantClaimList",
  "NewClaim",
  "CompanyLogins",
  "Integrations",
  "Gateway",
  "WebhookDeliveryList",
  "UserList",
  "TenantMembershipList",
  "ProjectMembershipList",
  "TenantSessionList",
];

const HEAD = `// The answers of the admin API that the console reads. \`npm run console:types\` writes this file from the OpenAPI document.\n`;

function consoleTypes(): string {
  const { components } = adminDocument();
  const written = new Map<string, string>();
  const waiting = [...READ_BY_SCREENS];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const schema = components.schemas[name];
    if (schema === undefined) throw new Error(`the OpenAPI document has no schema ${name}`);
    if (written.has(name)) continue;
    written.set(name, declaration(name, schema));
    waiting.push(...referredBy(schema));
  }
  const sorted = [...written].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return HEAD + sorted.map(([, text]) => `\n${text}`).join("");
}

function referredBy(schema: unknown): readonly string[] {
  if (typeof schema !== "object" || schema === null) return [];
  return Object.entries(schema).flatMap(([key, value]) =>
    key === "$ref" && typeof value === "string" ? [schemaName(value)] : referredBy(value),
  );
}

function declaration(name: string, schema: Schema): string {
  return schema.properties === undefined
    ? `${comment(schema, "")}export type ${name} = ${typeOf(schema, "")};\n`
    : `${comment(schema, "")}export interface ${name} ${objectType(schema, "")}\n`;
}

function typeOf(schema: Schema, indent: string): string {
  if (schema.$ref !== undefined) return schemaName(schema.$ref);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return [...new Set(choices.map((choice) => typeOf(choice, indent)))].join(" | ");
  if (schema.allOf !== undefined) return schema.allOf.map((part) => typeOf(part, indent)).join(" & ");
  const types = typeWordsOf(schema);
  return types.length === 0 ? "unknown" : types.map((type) => typeOfWord(type, schema, indent)).join(" | ");
}

function typeOfWord(type: string, schema: Schema, indent: string): string {
  if (type === "integer" || type === "number") return "number";
  if (type === "array") return `readonly ${grouped(typeOf(schema.items ?? {}, indent))}[]`;
  if (type !== "object") return type;
  if (schema.properties !== undefined) return objectType(schema, indent);
  const values =
    typeof schema.additionalProperties === "object" ? typeOf(schema.additionalProperties, indent) : "unknown";
  return `Readonly<Record<string, ${values}>>`;
}

function grouped(type: string): string {
  return type.includes(" | ") ? `(${type})` : type;
}

function objectType({ properties = {}, required = [] }: Schema, indent: string): string {
  const inner = `${indent}  `;
  const members = Object.entries(properties).map(([name, schema]) => {
    const key = /^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name);
    return `${comment(schema, inner)}${inner}readonly ${key}${required.includes(name) ? "" : "?"}: ${typeOf(schema, inner)};\n`;
  });
  return `{\n${members.join("")}${indent}}`;
}

function comment({ description }: Schema, indent: string): string {
  return description === undefined ? "" : `${indent}/** ${description.replaceAll("*/", "* /")} */\n`;
}

const FILE = join(import.meta.dir, "../../console/src/api/types.ts");
const types = consoleTypes();
if (!existsSync(FILE) || readFileSync(FILE, "utf8") !== types) {
  const written = `${FILE}.${process.pid}`;
  writeFileSync(written, types);
  renameSync(written, FILE);
}
