// The names that say that their value is a secret, and that the chart for Kubernetes and the console know the same ones.
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  SECRET_HEADER,
  SECRET_HEADER_OF_CLIENT,
  SECRET_MEMBER,
  SECRET_QUERY,
  SECRET_SETTING,
} from "../../../src/core/text/secret-names.ts";

/** Each name, and what it says as the name of a header that is shown, of a client's header, a setting and a member. */
const NAMES: readonly (readonly [name: string, header: boolean, client: boolean, setting: boolean, member: boolean])[] =
  [
    ["authorization", true, true, true, true],
    ["X-Api-Key", true, true, true, true],
    ["api_key", true, true, true, true],
    ["apikey", true, true, true, true],
    ["x-session-token", true, true, true, true],
    ["client_secret", true, true, true, true],
    ["Set-Cookie", true, true, true, true],
    ["db_password", true, true, true, true],
    ["passwd", true, true, true, true],
    ["aws_credentials", true, true, true, true],
    ["signature", true, true, true, false],
    ["tokenizer", true, true, true, false],
    ["x-amz-date", false, true, false, false],
    ["x-goog-user-project", false, true, false, false],
    ["ocp-apim-subscription-key", true, false, false, true],
    ["prompt_cache_key", true, false, false, false],
    ["x-routing-key", true, false, false, false],
    ["x-auth-request-user", true, false, false, false],
    ["x-tier", false, false, false, false],
    ["accept-language", false, false, false, false],
    ["x-amzn", false, false, false, false],
  ];

const QUERIES = ["?key=x", "?api_key=x", "?a=b&X-Amz-Security-Token=x", "?sig=x", "?password=x", "?a=b", "?keys=x"];

const read = (path: string): string => readFileSync(join(import.meta.dir, "../../..", path), "utf8");

describe("a name says that its value is a secret", () => {
  test.each(NAMES)("%s", (name, header, client, setting, member) => {
    const tables = [SECRET_HEADER, SECRET_HEADER_OF_CLIENT, SECRET_SETTING, SECRET_MEMBER];
    expect(tables.map((table) => table.test(name))).toEqual([header, client, setting, member]);
  });

  test("and hides it in the query of an address", () => {
    const shown = QUERIES.map((query) => query.replaceAll(SECRET_QUERY, "$1****"));
    expect(shown).toEqual([
      "?key=****",
      "?api_key=****",
      "?a=b&X-Amz-Security-Token=****",
      "?sig=****",
      "?password=****",
      "?a=b",
      "?keys=x",
    ]);
  });

  test("in the chart for Kubernetes as well", () => {
    const chart = read("deploy/helm/dragoman/templates/_helpers.tpl");
    const headers = pattern(/regexMatch "\(\?i\)([^"]+)" \$name/, chart);
    expect(NAMES.map(([name]) => headers.test(name))).toEqual(NAMES.map(([, header]) => header));
    const queries = pattern(/\(\?i\)(\[\?&\][^"]+)" \$literal/, chart);
    expect(QUERIES.map((query) => queries.test(query))).toEqual(
      QUERIES.map((query) => query.replaceAll(SECRET_QUERY, "") !== query),
    );
  });

  test("in the request that the console shows as well", () => {
    const headers = pattern(/const SECRET = \/([^/]+)\/i;/, read("console/src/screens/call/request-code.ts"));
    expect(NAMES.map(([name]) => headers.test(name))).toEqual(NAMES.map(([, header]) => header));
  });
});

function pattern(where: RegExp, text: string): RegExp {
  return new RegExp(where.exec(text)![1]!, "i");
}
