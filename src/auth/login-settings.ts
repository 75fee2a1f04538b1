// The section `oidc:` of the configuration: which issuers of OpenID Connect are trusted, and which roles the claims of
// their tokens grant.
import { z } from "zod";
import { SCOPE_ID } from "../config/sections.ts";
import { PERMISSIONS, ROLES } from "../core/identity.ts";
import type { LoginIssuer } from "../core/login.ts";

/** Signatures with a public key. Algorithms with a shared secret, and `none`, cannot be configured. */
const ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"] as const;
const ISSUER_NAME = /^[a-z0-9][a-z0-9-]{0,19}$/;
const CLAIM = /^[^\s.]{1,200}(\.[^\s.]{1,200}){0,7}$/;

const isWebAddress = (text: string): boolean =>
  URL.canParse(text) &&
  /^https?:$/.test(new URL(text).protocol) &&
  new URL(text).username === "" &&
  new URL(text).hash === "";
const address = (description: string) =>
  z
    .string()
    .max(2048)
    .refine(isWebAddress, 'expected an address such as "https://login.example.com"')
    .meta({ description });
const claim = (description: string) =>
  z
    .string()
    .regex(CLAIM, "expected the name of a claim, or a path such as realm_access.roles")
    .meta({ title: "Claim", description });

const grantEntry = z.strictObject({
  claim: claim("The claim to look at; a dot leads into an object.").default("sub"),
  value: z.string().min(1).max(256).optional().meta({
    title: "Value",
    description:
      "What the claim has to be, or has to hold where it is a list; `*` stands for any text. Not set: every login gets the role.",
  }),
  role: z.enum(ROLES).meta({ title: "Role", description: "The role that such a login has." }),
  project: z
    .string()
    .regex(SCOPE_ID, "expected the id of a project")
    .optional()
    .meta({ title: "Project", description: "Where it has the role. Not set: in the whole tenant." }),
  permissions: z
    .array(z.enum(PERMISSIONS))
    .max(PERMISSIONS.length)
    .default([])
    .meta({ title: "Permissions", description: "Special permissions that such a login has." }),
  operator: z.boolean().default(false).meta({
    title: "Operator",
    description:
      "Whether such a login is an operator of the gateway: it reaches every tenant, and reads `/metrics` and `/readyz?verbose`.",
  }),
});

const issuerEntry = z
  .strictObject({
    name: z
      .string()
      .regex(ISSUER_NAME, "expected 1 to 20 small letters, digits and dashes")
      .meta({ title: "Name", description: "A short name; the ids of its users begin with it: `<name>.<sub>`." }),
    issuer: address("The issuer, exactly as it stands in the claim `iss` of its tokens.").meta({ title: "Issuer" }),
    audience: z.union([z.string().min(1).max(256), z.array(z.string().min(1).max(256)).min(1).max(20)]).meta({
      title: "Audience",
      description:
        "What the claim `aud` has to be or to hold: the client id under which the issuer knows this gateway.",
    }),
    tenant: z
      .string()
      .regex(SCOPE_ID, "expected the id of a tenant")
      .default("default")
      .meta({ title: "Tenant", description: "The tenant that its users belong to." }),
    jwks_uri: address(
      "Where its keys are. Not set: its discovery document (`/.well-known/openid-configuration`) says so.",
    )
      .optional()
      .meta({ title: "Keys" }),
    algorithms: z.array(z.enum(ALGORITHMS)).min(1).default(["RS256", "ES256"]).meta({
      title: "Algorithms",
      description: "Signatures that are taken. Those with a shared secret never are, nor is an unsigned token.",
    }),
    subject_claim: claim("What tells its users apart.").default("sub"),
    name_claim: claim("What people are shown of a user.").default("email"),
    clock_tolerance_s: z
      .number()
      .min(0)
      .max(300)
      .default(30)
      .meta({ title: "Seconds", description: "How far its clock and this one may stand apart." }),
    keys_refresh_s: z.number().min(30).max(86_400).default(600).meta({
      title: "Seconds",
      description:
        "Its keys are fetched again this often while its tokens are used. A key that is not known is asked for at once, at most every 30 s; an issuer that is down takes away no key that is known.",
    }),
    roles: z.array(grantEntry).max(200).default([]).meta({
      title: "Roles",
      description:
        "Which roles a token gives by its claims. They add to those that the database has for the user `<name>.<sub>`. A login with neither is 403.",
    }),
  })
  .transform((file): LoginIssuer => ({
    name: file.name,
    issuer: file.issuer,
    audiences: typeof file.audience === "string" ? [file.audience] : file.audience,
    tenantId: file.tenant,
    keysUrl: file.jwks_uri ?? null,
    algorithms: file.algorithms,
    subjectClaim: file.subject_claim,
    nameClaim: file.name_claim,
    clockToleranceMs: file.clock_tolerance_s * 1000,
    keysRefreshMs: file.keys_refresh_s * 1000,
    grants: file.roles.map(({ claim: path, value = null, role, project = null, permissions, operator }) => ({
      claim: path,
      value,
      role,
      projectId: project,
      permissions,
      isOperator: operator,
    })),
  }));

export const loginsSection = z
  .array(issuerEntry)
  .max(20)
  .refine(
    (issuers) => new Set(issuers.map(({ name }) => name)).size === issuers.length,
    "each issuer has a name of its own",
  )
  .default([])
  .meta({
    title: "Company logins",
    description: "Issuers of OpenID Connect whose tokens are taken as personal tokens: `Authorization: Bearer <JWT>`.",
  });
