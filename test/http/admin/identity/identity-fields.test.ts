// Compares the fields that the admin API shows of users and projects with those that the audit log shows of them, because the two are declared apart.
import { expect, test } from "bun:test";
import type { z } from "zod";
import { TENANT_OPERATIONS } from "../../../../src/http/admin/identity/tenants.ts";
import { USER_OPERATIONS } from "../../../../src/http/admin/identity/users.ts";
import { auditedOf, PROJECT_FIELDS, USER_FIELDS } from "../../../../src/store/database/identity-fields.ts";

/** What every answer has beside the fields. */
const HEAD = new Set(["id", "tenant_id", "etag", "created_at", "updated_at"]);

for (const [operations, id, fields] of [
  [USER_OPERATIONS, "readUser", USER_FIELDS],
  [TENANT_OPERATIONS, "readProject", PROJECT_FIELDS],
] as const)
  test(`the audit log has the fields of what ${id} answers, by the same names`, () => {
    const { shape } = operations.find((one) => one.id === id)!.answer as z.ZodObject;
    const shown = Object.keys(shape).filter((name) => !HEAD.has(name));
    expect(Object.keys(auditedOf(fields, {})).toSorted()).toEqual(shown.toSorted());
  });
