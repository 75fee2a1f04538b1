// The OpenAPI 3.1 document: the admin API from its operations, and the other paths beside it.
// https://spec.openapis.org/oas/v3.1.1.html
import { OpenAPIHono, z } from "@hono/zod-openapi";
import { ADMIN_OPERATIONS, type Requirement } from "../../auth/admin-operations.ts";
import { ADMIN_BASE } from "../paths.ts";
import { chatPaths, chatSchemas, REFUSED, RESPONSES } from "./chat-schemas.ts";
import { keyAnswer, keyQuery } from "./identity/key.ts";
import type { AdminOperation } from "./operation.ts";

type Document = Readonly<Record<string, unknown>>;

const PARAMETERS: Readonly<Record<string, string>> = {
  tenant: "Id of the tenant.",
  project: "Id of the project.",
  user: "Id of the user.",
  id: "The id, or the name if it has one.",
};

const ROLE = "x-required-role";
const REACH = "x-reach";

export function openapiDocument(operations: readonly AdminOperation[], version: string): Document {
  const app = new OpenAPIHono();
  for (const operation of operations) app.openAPIRegistry.registerPath(described(operation));
  app.openAPIRegistry.registerPath({
    method: "get",
    path: "/api/v1/key",
    operationId: "readKey",
    tags: ["key"],
    summary: "Show the caller's access token with its permissions and remaining limits",
    [ROLE]: "viewer",
    [REACH]: "own",
    request: { query: keyQuery },
    responses: { 200: { description: "The access token.", content: { "application/json": { schema: keyAnswer } } } },
  });
  const made = app.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "Dragoman",
      version,
      description: "An LLM gateway: chat completions, and the administration of access, routing and limits.",
      license: { name: "Apache-2.0", url: "https://www.apache.org/licenses/LICENSE-2.0" },
    },
    servers: [{ url: "/" }],
    security: [{ accessToken: [] }],
  });
  const document = cleaned(made) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Document>>>>;
    readonly components: { readonly schemas: Document };
  };
  const paths = Object.fromEntries(
    Object.entries(document.paths).map(([path, item]) => [
      path,
      Object.fromEntries(
        Object.entries(item).map(([method, of]) => [
          method,
          { ...of, responses: { ...(of["responses"] as Document), ...REFUSED } },
        ]),
      ),
    ]),
  );
  return {
    ...document,
    paths: { ...chatPaths(), ...paths },
    components: {
      ...document.components,
      schemas: { ...chatSchemas(), ...document.components.schemas },
      responses: RESPONSES,
      securitySchemes: {
        accessToken: {
          type: "http",
          scheme: "bearer",
          description: "An access token: `dgm_pt_...` of a project, or `dgm_ut_...` of a user.",
        },
      },
    },
  };
}

type Path = Parameters<OpenAPIHono["openAPIRegistry"]["registerPath"]>[0];

function described(operation: AdminOperation): Path {
  const { id, method, isApart, path, tag, summary, query, body, bodyOptional, answer, textType, events } = operation;
  const { role, reach } = ADMIN_OPERATIONS.get(id) as Requirement;
  const changes = isApart !== true;
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  const params = z.strictObject(
    Object.fromEntries(
      names.map((name) => [
        name,
        z
          .string()
          .regex(/^[A-Za-z0-9_.:@+-]{1,200}$/)
          .meta({ description: PARAMETERS[name] ?? "" }),
      ]),
    ),
  );
  const headers = z.strictObject({
    "if-match": z
      .string()
      .optional()
      .meta({ description: "The expected ETag; any other is answered with 412 `etag_mismatch`." }),
    "idempotency-key": z.string().optional().meta({
      description:
        "Repeating a request with the same key within 24 h returns the first response, with `idempotent-replayed: true`.",
    }),
  });
  const made = id.startsWith("create") || id.startsWith("put");
  return {
    method,
    path: ADMIN_BASE + path,
    operationId: id,
    tags: [tag],
    summary,
    description: `Needs the role \`${role}\` ${reach === "operator" ? "and an operator of the gateway" : reach === "own" ? "or higher, and shows what the caller has access to" : `or higher in the ${reach}`}.`,
    [ROLE]: role,
    [REACH]: reach,
    request: {
      ...(names.length > 0 && { params }),
      ...(query !== undefined && { query }),
      ...(changes && { headers }),
      ...(body !== undefined && {
        body: {
          required: bodyOptional !== true,
          content: { "application/json": { schema: operation.described ?? body } },
        },
      }),
    },
    responses:
      events !== undefined
        ? { 200: { description: "A stream of events.", content: { "text/event-stream": { schema: events } } } }
        : textType !== undefined
          ? { 200: { description: "Done.", content: { [textType]: { schema: z.string() } } } }
          : answer === undefined
            ? { 204: { description: "Done." } }
            : responsesOf(answer, made, method === "put"),
  };
}

function responsesOf(schema: z.ZodType, makes: boolean, changesToo: boolean): Path["responses"] {
  const content = { "application/json": { schema } };
  if (!makes) return { 200: { description: "Done.", content } };
  return {
    201: { description: "Made.", content },
    200: {
      description: changesToo ? "The result, or what it would be in a dry run." : "What a dry run would create.",
      content,
    },
  };
}

/** Annotations in schemas that only the generated configuration page uses. */
const FOREIGN = new Set(["variable", "like"]);

function cleaned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(cleaned);
  if (typeof value !== "object" || value === null) return value;
  const isSchema = "type" in value || "anyOf" in value || "$ref" in value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !isSchema || !FOREIGN.has(key))
      .map(([key, one]) => [key, key === "pattern" && typeof one === "string" ? withoutFlags(one) : cleaned(one)]),
  );
}

/** A pattern in JSON Schema is a JavaScript pattern with the flag u, but cannot contain flags. */
function withoutFlags(pattern: string): string {
  return pattern.endsWith("$/u") ? pattern.slice(0, -2) : pattern;
}
