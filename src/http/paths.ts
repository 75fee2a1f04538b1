// The paths of the operations: under the specification's base address, and under those that users often configure by
// mistake (promise 9.6).

export const BASES = ["/api/v1", "/v1", "/api"] as const;

export const CHAT_PATHS = BASES.map((base) => `${base}/chat/completions`);
export const MODEL_PATHS = BASES.map((base) => `${base}/models`);
export const PARAMS_PATHS = BASES.map((base) => `${base}/params`);
export const KEY_PATHS = BASES.map((base) => `${base}/key`);
export const OPENAPI_PATHS = BASES.map((base) => `${base}/openapi.json`);
export const ADMIN_BASE = "/api/v1/admin";
