// The paths of the operations: under the specification's base address, and under those that users often configure by
// mistake (promise 9.6) or bring from another gateway, whose base address has no path. And the paths of health checks.
import type { Operation } from "../engine/operation.ts";
import { OPERATIONS } from "../operations/operations.ts";

export const BASES = ["/api/v1", "/v1", "/api", ""] as const;

/** Paths outside of the base addresses, where clients of other vendors look. */
const OTHER_PATHS: ReadonlyMap<string, readonly string[]> = new Map([["/rerank", ["/v2/rerank"]]]);

export const CALL_PATHS: ReadonlyMap<string, Operation> = new Map(
  [...OPERATIONS].flatMap(([path, operation]) => [
    ...BASES.map((base) => [`${base}${path}`, operation] as const),
    ...(OTHER_PATHS.get(path) ?? []).map((other) => [other, operation] as const),
  ]),
);
export const MODEL_PATHS = BASES.map((base) => `${base}/models`);
export const PARAMS_PATHS = BASES.map((base) => `${base}/params`);
export const KEY_PATHS = BASES.map((base) => `${base}/key`);
export const MCP_PATHS = BASES.map((base) => `${base}/mcp`);
export const OPENAPI_PATHS = BASES.map((base) => `${base}/openapi.json`);
export const ADMIN_BASE = "/api/v1/admin";

/** The first one of each is this gateway's own, the others are those of LiteLLM. */
export const LIVE_PATHS = ["/healthz", "/health/liveliness", "/health/liveness"] as const;
export const READY_PATHS = ["/readyz", "/health/readiness"] as const;
