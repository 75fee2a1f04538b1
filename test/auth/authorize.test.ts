// From token and request to a principal, case by case; and over random tenants: no principal leaves its own tenant.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { authorize, type RequestedScope } from "../../src/auth/authorize.ts";
import { GatewayError } from "../../src/core/errors.ts";
import {
  type AccessToken,
  type Membership,
  type Permission,
  PERMISSIONS,
  type Project,
  type Role,
  roleAtLeast,
  ROLES,
} from "../../src/core/identity.ts";
import { identityMaps, thrownBy } from "./identities.ts";
import { sampleToken } from "../harness/sample-tokens.ts";

const PROJECTS: readonly Project[] = [
  { id: "site", tenantId: "acme", name: "Site" },
  { id: "app", tenantId: "acme", name: "App" },
  { id: "lab", tenantId: "beta", name: "Lab" },
];
const projectToken: AccessToken = sampleToken({
  id: "AAAAAAAAAAAA",
  secrets: [],
  createdAtMs: 0,
  expiresAtMs: 1,
});
const personalToken: AccessToken = { ...projectToken, kind: "personal", projectId: null, userId: "ann", role: null };
const NOTHING: RequestedScope = { tenantId: null, projectId: null, needs: new Map() };
const role = (projectId: string | null, its: Role): Membership => ({
  userId: "ann",
  tenantId: "acme",
  projectId,
  role: its,
});

const call = (token: AccessToken, scope: Partial<RequestedScope> = {}, memberships: readonly Membership[] = []) =>
  authorize(token, { ...NOTHING, ...scope }, identityMaps({ tokens: [], projects: PROJECTS, memberships }));
const refusal = (...given: Parameters<typeof call>) => thrownBy(() => call(...given));

describe("authorize, a project token", () => {
  test("names tenant and project by itself, and the request may repeat them", () => {
    const principal = {
      tokenId: "AAAAAAAAAAAA",
      tokenKind: "project",
      tenantId: "acme",
      projectId: "site",
      userId: null,
      role: "developer",
      permissions: new Set<Permission>(),
      restrictions: null,
    } as const;
    for (const scope of [{}, { tenantId: "acme" }, { projectId: "site" }, { tenantId: "acme", projectId: "site" }])
      expect(call(projectToken, scope)).toEqual(principal);
  });

  test("another tenant or project is scope_mismatch with the field", async () => {
    expect(await refusal(projectToken, { tenantId: "beta" })).toMatchObject({
      code: "scope_mismatch",
      param: "tenant_id",
    });
    expect(await refusal(projectToken, { tenantId: "" })).toMatchObject({ code: "scope_mismatch", param: "tenant_id" });
    for (const projectId of ["app", "lab", "unknown", ""])
      expect(await refusal(projectToken, { projectId })).toMatchObject({ code: "scope_mismatch", param: "project_id" });
  });

  test("whose project is gone, or belongs to another tenant by now, reaches nothing", async () => {
    expect((await refusal({ ...projectToken, projectId: "gone" })).code).toBe("scope_mismatch");
    expect((await refusal({ ...projectToken, projectId: "lab" })).code).toBe("scope_mismatch");
    expect((await refusal({ ...projectToken, projectId: null })).code).toBe("scope_mismatch");
  });

  test("has the role of its cap, developer without one, never above maintainer", async () => {
    const roles = (["developer", "maintainer", "admin", "owner", null] as const).map(
      (cap) => call({ ...projectToken, role: cap }).role,
    );
    expect(roles).toEqual(["developer", "maintainer", "maintainer", "maintainer", "developer"]);
    expect(await refusal({ ...projectToken, role: "viewer" })).toMatchObject({ code: "insufficient_role" });
  });

  test("a field that needs a permission is refused by its name without it", async () => {
    const needs = new Map<Permission, string>([
      ["byo_endpoint", "base_url"],
      ["debug", "x-gateway-explain"],
    ]);
    expect(await refusal(projectToken, { needs })).toMatchObject({ code: "permission_required", param: "base_url" });
    expect(await refusal({ ...projectToken, permissions: ["byo_endpoint"] }, { needs })).toMatchObject({
      code: "permission_required",
      param: "x-gateway-explain",
    });
    expect(call({ ...projectToken, permissions: ["debug", "byo_endpoint"] }, { needs }).permissions).toEqual(
      new Set<Permission>(["byo_endpoint", "debug"]),
    );
  });
});

describe("authorize, a personal token", () => {
  test("goes to the only project that the user has a role in", () => {
    expect(call(personalToken, {}, [role("app", "developer")])).toMatchObject({
      projectId: "app",
      userId: "ann",
      role: "developer",
      tokenKind: "personal",
    });
    expect(
      authorize(
        { ...personalToken, tenantId: "beta" },
        NOTHING,
        identityMaps({
          tokens: [],
          projects: PROJECTS,
          memberships: [{ userId: "ann", tenantId: "beta", projectId: null, role: "admin" }],
        }),
      ),
    ).toMatchObject({ tenantId: "beta", projectId: "lab", role: "admin" });
  });

  test("with several projects and none named it is project_required, which lists them and no others", async () => {
    for (const memberships of [[role("site", "viewer"), role("app", "developer")], [role(null, "viewer")]]) {
      const error = await refusal(personalToken, {}, memberships);
      expect(error).toMatchObject({ code: "project_required", param: "project_id" });
      expect(error.message).toContain("app, site");
      expect(error.message).not.toContain("lab");
    }
  });

  test("a long list of projects is cut, and says so", async () => {
    const projects = Array.from({ length: 60 }, (_, index) => ({ id: `p${100 + index}`, tenantId: "acme", name: "P" }));
    const error = await thrownBy(() =>
      authorize(personalToken, NOTHING, identityMaps({ tokens: [], projects, memberships: [role(null, "owner")] })),
    );
    expect(error.message).toContain("p149 and 10 more");
    expect(error.message).not.toContain("p150");
  });

  test("with no project at all it is project_required too", async () => {
    expect((await refusal(personalToken, {}, [])).code).toBe("project_required");
    expect((await refusal(personalToken, {}, [role("gone", "owner")])).code).toBe("project_required");
  });

  test("has the higher of its roles in tenant and project", async () => {
    for (const inTenant of ROLES) {
      for (const inProject of ROLES) {
        const higher = roleAtLeast(inTenant, inProject) ? inTenant : inProject;
        for (const memberships of [
          [role(null, inTenant), role("site", inProject)],
          [role("site", inProject), role(null, inTenant)],
        ]) {
          if (higher === "viewer")
            expect((await refusal(personalToken, { projectId: "site" }, memberships)).code).toBe("insufficient_role");
          else expect(call(personalToken, { projectId: "site" }, memberships).role).toBe(higher);
        }
      }
    }
  });

  test("a role in one project counts in no other", async () => {
    const memberships = [role("app", "owner"), role("site", "viewer")];
    expect((await refusal(personalToken, { projectId: "site" }, memberships)).code).toBe("insufficient_role");
    expect(call(personalToken, { projectId: "app" }, memberships).role).toBe("owner");
  });

  test("a project that is unknown, hidden or another tenant's gets one and the same answer", async () => {
    const answers = await Promise.all(
      ["unknown", "app", "lab"].map((projectId) => refusal(personalToken, { projectId }, [role("site", "owner")])),
    );
    // Nor does a role in the whole tenant reach into another.
    answers.push(
      ...(await Promise.all(
        ["unknown", "lab"].map((projectId) => refusal(personalToken, { projectId }, [role(null, "owner")])),
      )),
    );
    for (const answer of answers)
      expect({ code: answer.code, message: answer.message, param: answer.param }).toEqual({
        code: "scope_mismatch",
        message: answers[0]!.message,
        param: "project_id",
      });
  });

  test("carries its own permissions, whatever the user's role", async () => {
    const needs = new Map<Permission, string>([["debug", "x-gateway-explain"]]);
    expect((await refusal(personalToken, { projectId: "site", needs }, [role(null, "owner")])).code).toBe(
      "permission_required",
    );
    expect(
      call({ ...personalToken, permissions: ["debug"] }, { projectId: "site", needs }, [
        role(null, "owner"),
      ]).permissions.has("debug"),
    ).toBe(true);
  });
});

test("a principal never belongs to another tenant than its token, nor to a project of another, nor lacks the required role", () => {
  const tenant: fc.Arbitrary<string> = fc.constantFrom("acme", "beta");
  const projectId = fc.constantFrom("site", "app", "lab", "gone");
  const anyRole = fc.constantFrom(...ROLES);
  const anyToken: fc.Arbitrary<AccessToken> = fc
    .record({
      kind: fc.constantFrom("project", "personal"),
      tenantId: tenant,
      projectId: fc.option(projectId),
      userId: fc.option(fc.constantFrom("ann", "bob")),
      role: fc.option(anyRole),
      permissions: fc.subarray([...PERMISSIONS]),
    })
    .map((fields) => ({ ...projectToken, ...fields }));
  const anyScope = fc.record({
    tenantId: fc.option(fc.constantFrom("acme", "beta", "gone"), { freq: 2 }),
    projectId: fc.option(projectId, { freq: 2 }),
    needs: fc
      .subarray([...PERMISSIONS], { maxLength: 1 })
      .map((needed) => new Map(needed.map((permission) => [permission, "field"]))),
  });
  const memberships = fc.array(
    fc.record({
      userId: fc.constantFrom("ann", "bob"),
      tenantId: tenant,
      projectId: fc.option(projectId),
      role: anyRole,
    }),
    { maxLength: 5 },
  );
  const projects = fc
    .record({ site: tenant, app: tenant, lab: tenant })
    .map((owners) => Object.entries(owners).map(([id, tenantId]) => ({ id, tenantId, name: id })));
  // What was granted, by kind of token and by whether the request named a project: without all four the property would say little.
  const granted = new Map<string, number>();
  fc.assert(
    fc.property(anyToken, anyScope, memberships, projects, (token, scope, given, all) => {
      let principal;
      try {
        principal = authorize(token, scope, identityMaps({ tokens: [], projects: all, memberships: given }));
      } catch (error) {
        expect(error).toBeInstanceOf(GatewayError);
        return;
      }
      const way = `${token.kind}, ${scope.projectId === null ? "none" : "one"} named`;
      granted.set(way, (granted.get(way) ?? 0) + 1);
      expect(principal.tenantId).toBe(token.tenantId);
      expect(all.find((project) => project.id === principal.projectId)?.tenantId).toBe(token.tenantId);
      expect([null, token.tenantId]).toContain(scope.tenantId);
      expect([null, principal.projectId]).toContain(scope.projectId);
      expect(roleAtLeast(principal.role, "developer")).toBe(true);
      if (token.kind === "project")
        expect([principal.projectId, roleAtLeast("maintainer", principal.role)]).toEqual([token.projectId!, true]);
      else
        expect(
          given.some(
            (one) =>
              one.userId === token.userId &&
              one.tenantId === token.tenantId &&
              [null, principal.projectId].includes(one.projectId) &&
              one.role === principal.role,
          ),
        ).toBe(true);
      for (const permission of scope.needs.keys()) expect(token.permissions).toContain(permission);
    }),
    { numRuns: 10_000 },
  );
  expect([...granted.keys()].toSorted()).toEqual([
    "personal, none named",
    "personal, one named",
    "project, none named",
    "project, one named",
  ]);
  expect(Math.min(...granted.values())).toBeGreaterThan(10);
});
