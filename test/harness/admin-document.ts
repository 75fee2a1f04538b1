// The operations of the admin API as its OpenAPI document describes them, for tests that are made from it.
import type { Role } from "../../src/core/identity.ts";

export interface Described {
  readonly operationId: string;
  /** In capitals. */
  readonly method: string;
  readonly path: string;
  readonly tag: string;
  /** The name of its schema; null: it takes no body. */
  readonly bodySchema: string | null;
  readonly query: readonly string[];
  readonly statuses: readonly string[];
  readonly role: Role;
  readonly reach: string;
}

/** Those that need a role: operations for all callers are not part of the admin API. */
export function describedOperations(document: any): readonly Described[] {
  return Object.entries<Record<string, any>>(document.paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([, of]) => of["x-required-role"] !== undefined)
      .map(([method, of]): Described => ({
        operationId: of.operationId,
        method: method.toUpperCase(),
        path,
        tag: of.tags[0],
        bodySchema:
          (of.requestBody?.content["application/json"].schema.$ref as string | undefined)?.split("/").at(-1) ?? null,
        query: (of.parameters ?? []).filter((one: any) => one.in === "query").map((one: any) => one.name as string),
        statuses: Object.keys(of.responses),
        role: of["x-required-role"],
        reach: of["x-reach"],
      })),
  );
}
