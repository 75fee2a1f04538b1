// The token of a project, as calls see it and as it is stored, but for what a test says of it.
import { type AccessToken, UNRESTRICTED } from "../../src/core/identity.ts";
import type { StoredToken } from "../../src/store/records.ts";

export function sampleToken(own: Partial<AccessToken> = {}): AccessToken {
  return {
    id: "AAAAAAAAAAAA",
    kind: "project",
    name: "test",
    tenantId: "acme",
    projectId: "site",
    userId: null,
    role: "developer",
    permissions: [],
    ...UNRESTRICTED,
    secrets: [{ sha256: new Uint8Array(32), retiresAtMs: null }],
    createdAtMs: 1,
    expiresAtMs: 2,
    revokedAtMs: null,
    ...own,
  };
}

export function storedSample({ lifetimeMs = 86_400_000, ...own }: Partial<StoredToken> = {}): StoredToken {
  return { ...sampleToken(own), lifetimeMs };
}
