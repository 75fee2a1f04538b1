// The section `oidc:` of the configuration: which issuers of OpenID Connect are trusted, and which roles the claims of
// their tokens grant.
import { z } from "zod";
import { SCOPE_ID } from "../../config/sections.ts";
import { sectionSettings } from "../../config/section-settings.ts";
import { PERMISSIONS, ROLES } from "../../core/identity.ts";
import type { LoginIssuer } from "../../core/configured/login.ts";

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
  claim: claim("The claim to check; a dot separates the members of nested objects.").default("sub"),
  value: z.string().min(1).max(256).optional().meta({
    title: "Value",
    description:
      "The value that the claim must have, or a list must contain; `*` matches any text. By default every login gets the role.",
  }),
  role: z.enum(ROLES).meta({ title: "Role", description: "The role that a matching login has." }),
  project: z.string().regex(SCOPE_ID, "expected the id of a project").optional().meta({
    title: "Project",
    description: "The project in which the login has the role. The default is the whole tenant.",
  }),
  permissions: z
    .array(z.enum(PERMISSIONS))
    .max(PERMISSIONS.length)
    .default([])
    .meta({ title: "Permissions", description: "Special permissions that a matching login has." }),
  operator: z.boolean().default(false).meta({
    title: "Operator",
    description:
      "Whether a matching login is an operator of the gateway, with access to all tenants, `/metrics` and `/readyz?verbose`.",
  }),
});

const CONSOLE_CLIENT = {
  client_id: z.string().min(1).max(256).meta({
    title: "Client",
    description:
      "The client id of the console at the issuer. Its redirect URI is `<address of the gateway>/console/oidc/callback`.",
  }),
  client_secret: z.string().min(1).max(1024).optional().meta({
    title: "Secret",
    description:
      'The secret of the client, best as `"${file:/run/secrets/oidc}"`. Without it, the console is a public client, which proves itself by PKCE alone.',
  }),
  scopes: z
    .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/, "expected a scope without spaces"))
    .min(1)
    .max(50)
    .default(["openid", "email", "profile"])
    .refine((scopes) => scopes.includes("openid"), "expected openid among the scopes")
    .meta({ title: "Scopes", description: "What the console asks for; groups often need a scope of their own." }),
  label: z
    .string()
    .min(1)
    .max(60)
    .optional()
    .meta({ title: "Label", description: "What the login page shows; the default is the issuer's name." }),
};
const consoleClient = z
  .strictObject(CONSOLE_CLIENT)
  .meta({ title: "Console", description: "How people log in to the web console at this issuer: docs/console.md." });

const ISSUER = {
  name: z
    .string()
    .regex(ISSUER_NAME, "expected 1 to 20 lower-case letters, digits and dashes")
    .meta({ title: "Name", description: "A short name, with which the ids of its users begin: `<name>.<sub>`." }),
  issuer: address("The issuer, exactly as in the claim `iss` of its tokens.").meta({ title: "Issuer" }),
  audience: z.union([z.string().min(1).max(256), z.array(z.string().min(1).max(256)).min(1).max(20)]).meta({
    title: "Audience",
    description: "The value that the claim `aud` must be or contain: the client id of this gateway at the issuer.",
  }),
  tenant: z
    .string()
    .regex(SCOPE_ID, "expected the id of a tenant")
    .default("default")
    .meta({ title: "Tenant", description: "The tenant to which its users belong." }),
  jwks_uri: address(
    "Address of its keys. The default is taken from its discovery document (`/.well-known/openid-configuration`).",
  )
    .optional()
    .meta({ title: "Keys" }),
  algorithms: z.array(z.enum(ALGORITHMS)).min(1).default(["RS256", "ES256"]).meta({
    title: "Algorithms",
    description:
      "Accepted signature algorithms. Signatures with a shared secret and unsigned tokens are never accepted.",
  }),
  subject_claim: claim("The claim that identifies a user.").default("sub"),
  name_claim: claim("The claim that is shown as the user's name.").default("email"),
  clock_tolerance_s: z
    .number()
    .min(0)
    .max(300)
    .default(30)
    .meta({ title: "Seconds", description: "How far the clocks of the issuer and the gateway may differ." }),
  keys_refresh_s: z.number().min(30).max(86_400).default(600).meta({
    title: "Seconds",
    description:
      "How often its keys are fetched while its tokens are used. An unknown key is looked up at once, at most every 30 s; known keys stay valid while the issuer is down.",
  }),
  console: consoleClient.optional(),
  roles: z.array(grantEntry).max(200).default([]).meta({
    title: "Roles",
    description:
      "Roles that a token gives by its claims, in addition to those of the user `<name>.<sub>` in the database. A login without any role is answered with 403.",
  }),
};
const issuerEntry = z.strictObject(ISSUER).transform((file): LoginIssuer => {
  const {
    console: client,
    audience,
    tenant: tenantId,
    jwksUri: keysUrl,
    roles,
    ...same
  } = sectionSettings(ISSUER, file);
  return {
    ...same,
    ...(client !== null && {
      console: { ...sectionSettings(CONSOLE_CLIENT, client), label: client.label ?? same.name },
    }),
    audiences: typeof audience === "string" ? [audience] : audience,
    tenantId,
    keysUrl,
    grants: roles.map(({ project, operator: isOperator, ...grant }) => ({
      ...grant,
      value: grant.value ?? null,
      projectId: project ?? null,
      isOperator,
    })),
  };
});

export const loginsSection = z
  .array(issuerEntry)
  .max(20)
  .refine(
    (issuers) => new Set(issuers.map(({ name }) => name)).size === issuers.length,
    "expected each issuer name only once",
  )
  .default([])
  .meta({
    title: "Company logins",
    description:
      "OpenID Connect issuers whose tokens are accepted like personal tokens: `Authorization: Bearer <JWT>`.",
  });
