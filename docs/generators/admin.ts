// The reference of docs/admin-api.md, from the same operations and schemas that the gateway serves and describes at /api/v1/openapi.json.
import { adminDocument, type Described, type Schema, schemaName, typeWordsOf } from "./admin-openapi.ts";
import { code, table } from "./markdown.ts";

/** Tables of the operations by noun, and of the fields of what they take. */
export function adminReference(): string {
  const { paths, components } = adminDocument();
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, of]) => ({ path, method, of })),
  );
  const tags = Map.groupBy(
    operations.filter(({ of }) => of["x-required-role"] !== undefined),
    ({ of }) => of.tags[0]!,
  );
  const told = new Set<string>();
  return [...tags]
    .map(([tag, list]) => {
      const rows = list.map(({ path, method, of }) => [
        code(`${method.toUpperCase()} ${path.replace("/api/v1/admin", "")}`),
        roleWords(of),
        bodyName(of) === null ? "" : code(bodyName(of)!),
        of.summary,
      ]);
      const bodies = [...new Set(list.flatMap(({ of }) => bodyName(of) ?? []))].filter(
        (name) => !told.has(name) && told.add(name) && !/(Fields|Change)$/.test(name),
      );
      const fields = bodies.flatMap((name) => fieldsTable(name, components.schemas[name]!));
      return [
        `### ${tag.replace("_", " ")}`,
        "",
        table(["operation", "role", "body", "what it does"], rows),
        ...queryTables(list),
        ...fields,
      ].join("\n");
    })
    .join("\n\n");
}

interface Operation {
  readonly path: string;
  readonly method: string;
  readonly of: Described;
}

/** Longer enumerations have a page of their own. */
const MAX_ENUMERATED = 30;

/** What every list and every change takes: the page describes it once, above the tables. */
const COMMON_QUERY = new Set(["limit", "cursor", "dry_run"]);

/** One table for the operations that take the same query parameters. */
function queryTables(operations: readonly Operation[]): readonly string[] {
  const tables = new Map<string, string[]>();
  for (const { path, method, of } of operations) {
    const own = (of.parameters ?? []).filter(
      (parameter) => parameter.in === "query" && !COMMON_QUERY.has(parameter.name),
    );
    if (own.length === 0) continue;
    const rows = table(
      ["query parameter", "type", "meaning"],
      own.map(({ name, schema, description }) => [
        code(name),
        typeWords(schema),
        description ?? schema.description ?? "",
      ]),
    );
    const takers = tables.get(rows) ?? [];
    takers.push(code(`${method.toUpperCase()} ${path.replace("/api/v1/admin", "")}`));
    tables.set(rows, takers);
  }
  return [...tables].flatMap(([rows, takers]) => ["", `Query parameters of ${takers.join(", ")}:`, "", rows]);
}

function roleWords({ "x-required-role": role = "", "x-reach": reach }: Described): string {
  if (reach === "own") return "any";
  return reach === "operator" ? "operator" : `${role} in the ${reach}`;
}

const nameOrNull = (reference: string | undefined): string | null =>
  reference === undefined ? null : schemaName(reference);

function bodyName({ requestBody }: Described): string | null {
  return nameOrNull(requestBody?.content["application/json"]?.schema.$ref);
}

function fieldsTable(name: string, { properties = {}, required = [] }: Schema): readonly string[] {
  const rows = Object.entries(properties).map(([field, schema]) => [
    code(field),
    required.includes(field) ? "yes" : "",
    typeWords(schema),
    schema.description ?? "",
  ]);
  return rows.length === 0 ? [] : ["", `${code(name)}:`, "", table(["field", "required", "type", "meaning"], rows)];
}

function typeWords(schema: Schema): string {
  if (schema.$ref !== undefined) return code(schemaName(schema.$ref));
  if (schema.enum !== undefined && schema.enum.length > MAX_ENUMERATED) return "string";
  if (schema.enum !== undefined) return schema.enum.map((one) => code(String(one))).join(", ");
  if (schema.const !== undefined) return code(String(schema.const));
  const forms = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (forms !== undefined) return [...new Set(forms.map(typeWords))].join(" or ");
  const types = typeWordsOf(schema);
  if (types.includes("array")) return `list of ${schema.items === undefined ? "anything" : typeWords(schema.items)}`;
  return types.length === 0 ? "anything" : types.join(" or ");
}
