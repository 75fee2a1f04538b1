// Which of two presented tokens counts (promise 12.1).
import { expect, test } from "bun:test";
import { newAccessToken } from "../../src/auth/tokens/access-token.ts";
import { presentedToken } from "../../src/auth/identify.ts";
import { GatewayError } from "../../src/core/errors.ts";
import type { LoginIssuer } from "../../src/core/configured/login.ts";

const one = newAccessToken("project").text;
const other = newAccessToken("personal").text;
const jwt = (issuer: string): string =>
  ["{}", JSON.stringify({ iss: issuer }), "x"]
    .map((part) => Buffer.from(part.padEnd(4)).toString("base64url"))
    .join(".");
const logins = [{ issuer: "https://login.test" } as LoginIssuer];
const presented = (authorization: string | null, key: string | null): string | null =>
  presentedToken(
    new Headers({ ...(authorization !== null && { authorization }), ...(key !== null && { "x-api-key": key }) }),
    { logins },
  );

test("[d12.1] a token counts in either header", () => {
  expect(presented(`Bearer ${one}`, null)).toBe(`Bearer ${one}`);
  expect(presented(null, one)).toBe(`Bearer ${one}`);
  expect(presented("", ` ${one} `)).toBe(`Bearer ${one}`);
  expect(presented(null, null)).toBeNull();
  expect(presented(null, "sk-ant-of-a-provider")).toBe("Bearer sk-ant-of-a-provider");
});

test("[d12.1] of two the one of this gateway, or of a configured issuer, counts, whichever header it is in", () => {
  expect(presented(`Bearer ${one}`, "sk-ant-of-a-provider")).toBe(`Bearer ${one}`);
  expect(presented("Bearer sk-ant-of-a-provider", one)).toBe(`Bearer ${one}`);
  expect(presented("Basic dXNlcjpwYXNz", one)).toBe(`Bearer ${one}`);
  const login = jwt("https://login.test");
  expect(presented("Bearer sk-of-a-provider", login)).toBe(`Bearer ${login}`);
  expect(presented(`Bearer ${one}`, jwt("https://elsewhere.test"))).toBe(`Bearer ${one}`);
  // neither is: the error is about the usual header
  expect(presented("Bearer a", "b")).toBe("Bearer a");
});

test("[d12.1] two that are the same are one, and two that differ are refused without being repeated", () => {
  expect(presented(`Bearer ${one}`, one)).toBe(`Bearer ${one}`);
  for (const [authorization, key] of [
    [`Bearer ${one}`, other],
    [`bearer  ${other}`, jwt("https://login.test")],
  ] as const) {
    let thrown: unknown;
    try {
      presented(authorization, key);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(GatewayError);
    expect((thrown as GatewayError).code).toBe("invalid_token");
    expect((thrown as GatewayError).message).not.toContain(key);
  }
});
