// Flags, environment and file: their precedence, and their mistakes.
import { describe, expect, test } from "bun:test";
import { readEnvironment } from "../../src/config/environment.ts";
import { usableWorkers } from "../../src/config/worker-count.ts";
import { ConfigurationError } from "../../src/config/problem.ts";
import {
  resolveConfigFile,
  resolveServerOptions,
  type ServerFlags,
  type StartOptions,
} from "../../src/snapshot/server-options.ts";

const file: StartOptions = {
  server: {
    host: "file",
    port: 1,
    workers: 1,
    data: "file-data",
    databaseUrl: null,
    upstreamProxy: "http://proxy.test:3128",
  },
  log: { level: "debug" },
  ledger: { sync: "background", onFull: "refuse", folder: null },
  cache: { store: "memory", maxBytes: 1_048_576, maxAnswerBytes: 1024, url: null, clusterNodes: null },
  calls: { keepDays: 90, keepDetailsDays: 30 },
  audit: { keepDays: null, keepRefusedDays: 400, signingKey: null },
  console: { enabled: null },
  limit_store: { driver: null, url: null, clusterNodes: null },
};

describe("precedence of settings", () => {
  const all = {
    PORT: "2",
    DRAGOMAN_HOST: "environment",
    DRAGOMAN_DATA: "environment-data",
    DRAGOMAN_LOG_LEVEL: "warn",
  };
  test.each<[string, ServerFlags, Record<string, string>, object]>([
    ["the file", {}, {}, { host: "file", port: 1, dataFolder: "file-data", logLevel: "debug" }],
    [
      "the environment before the file",
      {},
      all,
      { host: "environment", port: 2, dataFolder: "environment-data", logLevel: "warn" },
    ],
    [
      "a flag before the environment",
      { port: "3", host: "flag", data: "flag-data" },
      all,
      { host: "flag", port: 3, dataFolder: "flag-data", logLevel: "warn" },
    ],
    [
      "each by itself",
      { port: 0 },
      { DRAGOMAN_HOST: "::1" },
      { host: "::1", port: 0, dataFolder: "file-data", logLevel: "debug" },
    ],
    [
      "an empty variable is not set",
      {},
      { PORT: "", DRAGOMAN_HOST: "" },
      { host: "file", port: 1, dataFolder: "file-data", logLevel: "debug" },
    ],
  ])("%s", (_name, flags, environment, expected) => {
    expect(resolveServerOptions({ flags, environment: readEnvironment(environment), file })).toEqual({
      ...expected,
      workers: 1,
      databaseUrl: null,
      upstreamProxy: { url: "http://proxy.test:3128", exceptions: "" },
      ledger: file.ledger,
      cache: file.cache,
      calls: file.calls,
      audit: file.audit,
      hasConsole: "host" in expected && expected.host === "::1",
      limitStore: null,
    } as ReturnType<typeof resolveServerOptions>);
  });

  test("the limit store is the configured address, the variable's first; memory is memory, and Valkey without an address is a mistake", () => {
    const place = (settings: Partial<StartOptions["limit_store"]>, environment: Record<string, string> = {}): unknown =>
      resolveServerOptions({
        flags: {},
        environment: readEnvironment(environment),
        file: { ...file, limit_store: { driver: null, url: null, clusterNodes: null, ...settings } },
      }).limitStore;
    const variable = { DRAGOMAN_LIMIT_STORE_URL: "redis://:secret@one.test:6379" };
    expect(place({})).toBeNull();
    expect(place({}, variable)).toEqual({ url: variable.DRAGOMAN_LIMIT_STORE_URL, clusterNodes: null });
    expect(place({ url: "redis://two.test", clusterNodes: [] }, variable)).toEqual({
      url: variable.DRAGOMAN_LIMIT_STORE_URL,
      clusterNodes: [],
    });
    expect(place({ driver: "memory", url: "redis://two.test" }, variable)).toBeNull();
    expect(() => place({ driver: "valkey" })).toThrow("limit_store.url");
    expect(() => readEnvironment({ DRAGOMAN_LIMIT_STORE_URL: "http://one.test" })).toThrow("redis://");
  });

  test("[d13.1] the number of workers is the flag's, the environment's or the file's, and above 1 on Linux only", () => {
    const workers = (
      flags: ServerFlags,
      variables: Record<string, string>,
      inFile: number | "auto",
      platform: NodeJS.Platform = "linux",
    ): number =>
      resolveServerOptions({
        flags,
        environment: readEnvironment(variables),
        file: { ...file, server: { ...file.server, workers: inFile } },
        platform,
      }).workers;
    expect(workers({}, {}, 3)).toBe(3);
    expect(workers({}, { DRAGOMAN_WORKERS: "4" }, 3)).toBe(4);
    expect(workers({ workers: "5" }, { DRAGOMAN_WORKERS: "4" }, 3)).toBe(5);
    expect(workers({ workers: "auto" }, {}, 3)).toBe(usableWorkers());
    expect(() => workers({}, {}, 2, "darwin")).toThrow(
      "server.workers: several workers can share one port on Linux only",
    );
    expect(workers({}, {}, "auto", "darwin")).toBe(1);
    for (const wrong of ["0", "1000", "many", "2.5", "-1", "65", " "])
      expect(() => workers({ workers: wrong }, {}, 1)).toThrow(
        "command line --workers: expected a whole number from 1 to 64, or auto",
      );
    expect(() => workers({}, { DRAGOMAN_WORKERS: "many" }, 1)).toThrow(
      "environment DRAGOMAN_WORKERS: expected a whole number from 1 to 64, or auto",
    );
  });

  test("all wrong flags are reported at once, by name", () => {
    const resolve = (): unknown =>
      resolveServerOptions({
        flags: { port: "http", host: "http://a", data: "" },
        environment: readEnvironment({}),
        file,
      });
    expect(resolve).toThrow(ConfigurationError);
    expect(resolve).toThrow(
      "command line --port: expected a port from 0 to 65535\ncommand line --host: expected a host name or an address, without scheme and port\ncommand line --data: expected a path",
    );
  });
});

describe("the configuration file", () => {
  const resolve = (flags: ServerFlags, environment: Record<string, string>, there: boolean): string | null =>
    resolveConfigFile({ flags, environment: readEnvironment(environment), exists: () => there });
  test("is a named one in any case, the flag's first", () => {
    expect(resolve({ config: "flag.yaml" }, { DRAGOMAN_CONFIG: "environment.yaml" }, false)).toBe("flag.yaml");
    expect(resolve({}, { DRAGOMAN_CONFIG: "environment.yaml" }, true)).toBe("environment.yaml");
  });
  test("is otherwise the one of the working directory, if there is one", () => {
    expect(resolve({}, {}, true)).toBe("dragoman.yaml");
    expect(resolve({}, {}, false)).toBeNull();
  });
});

describe("the environment", () => {
  test("is typed, frozen and a copy", () => {
    const source: Record<string, string> = {
      PORT: " 8080 ",
      DRAGOMAN_ALLOW_PRIVATE_ADDRESSES: "1",
      DRAGOMAN_LOG_LEVEL: "WARN",
      KEY: "k",
      EMPTY: "",
    };
    const environment = readEnvironment(source);
    source["KEY"] = "other";
    expect(environment).toMatchObject({
      port: 8080,
      host: null,
      dataFolder: null,
      configFile: null,
      logLevel: "warn",
      allowPrivateAddresses: true,
    });
    expect([environment.get("KEY"), environment.get("EMPTY"), environment.get("NONE")]).toEqual([
      "k",
      undefined,
      undefined,
    ]);
    expect(Object.isFrozen(environment)).toBe(true);
  });

  test("is the process's own when none is given", () => {
    expect(readEnvironment().get("PATH")).toBe(process.env["PATH"]);
  });

  test.each([
    ["PORT", "65536"],
    ["PORT", "-1"],
    ["PORT", "80; rm"],
    ["DRAGOMAN_HOST", "http://x"],
    ["DRAGOMAN_LOG_LEVEL", "loud"],
    ["DRAGOMAN_ALLOW_PRIVATE_ADDRESSES", "yes"],
  ])("%s=%s is refused by name, without the value", (name, value) => {
    let message = "";
    try {
      readEnvironment({ [name]: value });
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(ConfigurationError);
      message = (thrown as Error).message;
    }
    expect(message).toStartWith(`environment ${name}: expected `);
    expect(message).not.toContain(value);
  });

  test("a private address may be forbidden and allowed", () => {
    expect(readEnvironment({ DRAGOMAN_ALLOW_PRIVATE_ADDRESSES: "0" }).allowPrivateAddresses).toBe(false);
    expect(readEnvironment({}).allowPrivateAddresses).toBeNull();
  });
});
