// The company logins of a tenant as the configuration file has them: which claims of a token give which roles.
import { z } from "zod";
import { PERMISSIONS, ROLES } from "../../../core/identity.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { LoginIssuer } from "../../../core/configured/login.ts";
import { type AdminOperation, reading } from "../operation.ts";
import { shownAs } from "../shown.ts";

const grant = z
  .strictObject({
    claim: z.string().meta({ description: "The claim of the token; dots lead into objects." }),
    value: z.string().nullable().meta({ description: "What the claim has to be or to contain; null for any value." }),
    role: z.enum(ROLES),
    project_id: z.string().nullable().meta({ description: "Null for the role in the whole tenant." }),
    permissions: z.array(z.enum(PERMISSIONS)),
    operator: z.boolean(),
  })
  .meta({ id: "LoginRole" });
const login = z
  .strictObject({
    name: z.string(),
    issuer: z.string(),
    console: z.boolean().meta({ description: "Whether people log in to the console there." }),
    roles: z
      .array(grant)
      .meta({ description: "What a token gives in addition to what the database has for its user." }),
  })
  .meta({ id: "CompanyLogin" });
const logins = z.strictObject({ data: z.array(login) }).meta({ id: "CompanyLogins" });

const shownLogin = ({ name, issuer, console: client, grants }: LoginIssuer): JsonObject =>
  shownAs(login, {
    name,
    issuer,
    console: client !== undefined,
    roles: grants.map((one) => ({ ...one, operator: one.isOperator === true })),
  });

export const LOGIN_OPERATIONS: readonly AdminOperation[] = [
  reading({
    id: "listTenantLogins",
    path: "/tenants/{tenant}/logins",
    tag: "logins",
    summary: "List the company logins of the tenant, with the roles that claims give",
    answer: logins,
    run: ({ place, snapshot }) => ({
      body: { data: snapshot.logins.filter(({ tenantId }) => tenantId === place!.tenantId).map(shownLogin) },
    }),
  }),
];
