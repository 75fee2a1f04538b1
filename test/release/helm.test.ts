// The chart for Kubernetes: what it says agrees with the gateway, what it renders is what a cluster takes, and values
// that contradict each other are refused with their cure. Rendering needs helm, and the schemas of Kubernetes need
// kubeconform and the folder that KUBERNETES_SCHEMAS names; where they are missing, those tests are skipped.
import { describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse, parseAllDocuments } from "yaml";
import { VARIABLES } from "../../src/config/environment.ts";
import { runCli } from "../harness/processes/gateway-process.ts";
import { projectFolder as PROJECT } from "../harness/processes/gateway-program.ts";

const CHART = join(PROJECT, "deploy/helm/dragoman");
const read = (name: string): string => readFileSync(join(CHART, name), "utf8");
const helm = Bun.which("helm");
const kubeconform = Bun.which("kubeconform");
const schemas = process.env["KUBERNETES_SCHEMAS"];
if (helm === null) console.log("skipped: what the chart renders, because there is no helm here");
else if (kubeconform === null || schemas === undefined)
  console.log("skipped: the schemas of Kubernetes, because there is no kubeconform here, or no KUBERNETES_SCHEMAS");

/** The version that it is rendered for. */
const KUBERNETES = "1.34.0";

/** The least that the chart needs: the first token is in no log. */
const ALONE = { firstToken: { secret: "first" } };
const TOGETHER = {
  ...ALONE,
  replicas: 3,
  workers: "auto",
  database: { secret: "stores", key: "database" },
  limitStore: { secret: "stores", key: "counts" },
  masterKey: { secret: "master" },
  providerKeys: { secrets: ["provider-keys"] },
};
const EVERYTHING = {
  ...TOGETHER,
  autoscaling: { enabled: true },
  networkPolicy: { enabled: true, from: [{ podSelector: { matchLabels: { app: "front" } } }] },
  ingress: {
    enabled: true,
    className: "nginx",
    hosts: ["llm.example.com"],
    tls: [{ hosts: ["llm.example.com"], secretName: "cert" }],
  },
  metrics: { serviceMonitor: { enabled: true, tokenSecret: "ops" }, dashboard: { enabled: true } },
};

/** Each way in which the configuration can hold a secret, as itself and as what stands for it. */
const SECRETS: readonly {
  readonly path: string;
  readonly of: (secret: string) => object;
  readonly literal: string;
  readonly reference: string;
}[] = [
  {
    path: "config.providers.openai.api_key",
    of: (api_key) => ({ providers: { openai: { api_key } } }),
    literal: "sk-x",
    reference: "${OPENAI_API_KEY}",
  },
  {
    path: "config.providers.openai.api_key",
    of: (api_key) => ({ providers: { openai: { api_key } } }),
    literal: "${OPENAI_API_KEY:-sk-x}",
    reference: "${OPENAI_API_KEY:-}",
  },
  {
    path: "config.providers.openai.api_keys[1]",
    of: (key) => ({ providers: { openai: { api_keys: ["${FIRST}", key] } } }),
    literal: "sk-x",
    reference: "${SECOND}",
  },
  {
    path: "config.providers.openai.api_keys[0].key",
    of: (key) => ({ providers: { openai: { api_keys: [{ key, weight: 2 }] } } }),
    literal: "sk-x",
    reference: "${file:/run/secrets/openai}",
  },
  {
    path: "config.providers.bedrock.aws.secret_access_key",
    of: (secret_access_key) => ({ providers: { bedrock: { aws: { access_key_id: "AKIA", secret_access_key } } } }),
    literal: "wJalr",
    reference: "${AWS_SECRET}",
  },
  {
    path: "config.server.database_url",
    of: (database_url) => ({ server: { database_url } }),
    literal: "postgres://gate:pw@db/gate",
    reference: "postgres://gate:${DB_PASSWORD}@db/gate",
  },
  {
    path: "config.server.upstream_proxy",
    of: (upstream_proxy) => ({ server: { upstream_proxy } }),
    literal: "http://user:pw@proxy.internal:3128",
    reference: "${PROXY}",
  },
  {
    path: "config.limit_store.url",
    of: (url) => ({ limit_store: { url } }),
    literal: "redis://u:p@h",
    reference: "${COUNTS}",
  },
  {
    path: "config.tool_servers.docs.headers.Authorization",
    of: (Authorization) => ({ tool_servers: { docs: { headers: { Authorization } } } }),
    literal: "Bearer abc",
    reference: "Bearer ${DOCS_TOKEN}",
  },
  {
    path: "config.tool_servers.docs.url",
    of: (url) => ({ tool_servers: { docs: { url } } }),
    literal: "https://docs.example.com/mcp?api_key=abc",
    reference: "https://docs.example.com/mcp?api_key=${DOCS_KEY}",
  },
  {
    path: "config.logins[0].console.client_secret",
    of: (client_secret) => ({ logins: [{ console: { client_secret } }] }),
    literal: "abc",
    reference: "${OIDC_SECRET}",
  },
  {
    path: "config.integrations.hook.secrets[0]",
    of: (secret) => ({ integrations: { hook: { type: "webhook", secrets: [secret] } } }),
    literal: "whsec_abc",
    reference: "${HOOK_SECRET}",
  },
];

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: any;
  readonly data?: Readonly<Record<string, string>>;
}

interface Rendered {
  readonly code: number;
  readonly text: string;
  readonly errors: string;
}

function render(values: object): Rendered {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-chart-"));
  try {
    const file = join(folder, "values.json");
    writeFileSync(file, JSON.stringify(values));
    const { exitCode, stdout, stderr } = Bun.spawnSync([
      helm!,
      "template",
      "gate",
      CHART,
      "--values",
      file,
      "--kube-version",
      KUBERNETES,
      "--api-versions",
      "monitoring.coreos.com/v1",
    ]);
    // it tells that it follows the link to the dashboard
    const errors = stderr.toString().replaceAll(/^.*found symbolic link in path.*\n/gm, "");
    return { code: exitCode, text: stdout.toString(), errors };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function manifests(values: object): readonly Manifest[] {
  const { code, text, errors } = render(values);
  expect([code, errors]).toEqual([0, ""]);
  return parseAllDocuments(text).flatMap((one) => (one.toJS() as Manifest | null) ?? []);
}

const only = (all: readonly Manifest[], kind: string): Manifest => all.find((one) => one.kind === kind)!;
const container = (all: readonly Manifest[]): any => only(all, "StatefulSet").spec.template.spec.containers[0];
const environmentOf = (all: readonly Manifest[]): Readonly<Record<string, any>> =>
  Object.fromEntries(container(all).env.map((one: any) => [one.name, one.value ?? one.valueFrom]));

describe("[d16.5] the chart agrees with the gateway", () => {
  test("in its version, and in the variables that it sets", () => {
    const { version } = JSON.parse(readFileSync(join(PROJECT, "package.json"), "utf8")) as { readonly version: string };
    expect(parse(read("Chart.yaml"))).toMatchObject({ version, appVersion: version });
    const set = read("templates/statefulset.yaml").match(/(?<=- name: )[A-Z_]+/g)!;
    expect(set.length).toBeGreaterThan(5);
    expect(set.filter((name) => !Object.hasOwn(VARIABLES, name))).toEqual([]);
  });

  test("in the metric by which it scales, and in its dashboard", () => {
    const metric = /name: (dragoman_\w+)/.exec(read("templates/autoscaling.yaml"))![1]!;
    expect(readFileSync(join(PROJECT, "docs/metrics.md"), "utf8")).toContain(`| \`${metric}\` | gauge |`);
    if (existsSync(join(CHART, "dashboards/dragoman.json")))
      expect(read("dashboards/dragoman.json")).toBe(
        readFileSync(join(PROJECT, "examples/grafana/dragoman.json"), "utf8"),
      );
  });

  test("has a schema that names each value, and no other", () => {
    const schema = JSON.parse(read("values.schema.json")) as Schema;
    const missing: string[] = [];
    const compare = (values: object, of: Schema, path: string): void => {
      for (const [name, value] of Object.entries(values)) {
        const member = of.properties?.[name];
        const own = member?.$ref === undefined ? member : schema.definitions?.[member.$ref.split("/").at(-1)!];
        if (own === undefined) missing.push(`${path}${name}`);
        else if (value !== null && typeof value === "object" && !Array.isArray(value) && own.properties !== undefined)
          compare(value as object, own, `${path}${name}.`);
      }
    };
    compare(parse(read("values.yaml")) as object, schema, "");
    expect(missing).toEqual([]);
  });

  test("has a configuration that the gateway accepts, and waits longer than it drains", async () => {
    const folder = mkdtempSync(join(tmpdir(), "dragoman-chart-"));
    try {
      const file = join(folder, "dragoman.yaml");
      const { config } = parse(read("values.yaml")) as { readonly config: object };
      writeFileSync(file, JSON.stringify(config));
      const checked = await runCli(["check", file]);
      expect([checked.code, checked.stderr]).toEqual([0, ""]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe.skipIf(helm === null)("[d16.5] what the chart renders", () => {
  test("is one gateway with SQLite on a volume, whose first token comes from a secret", () => {
    const all = manifests(ALONE);
    expect(all.map(({ kind }) => kind).toSorted()).toEqual([
      "ConfigMap",
      "Service",
      "Service",
      "ServiceAccount",
      "StatefulSet",
    ]);
    const { spec } = only(all, "StatefulSet");
    expect(spec.replicas).toBe(1);
    expect(spec.persistentVolumeClaimRetentionPolicy).toEqual({ whenDeleted: "Retain", whenScaled: "Retain" });
    expect(spec.volumeClaimTemplates[0].spec.resources.requests.storage).toBe("10Gi");
    expect(environmentOf(all)).toEqual({
      DRAGOMAN_CONFIG: "/etc/dragoman/dragoman.yaml",
      DRAGOMAN_WORKERS: "1",
      DRAGOMAN_FIRST_TOKEN_FILE: "/var/run/secrets/dragoman/first-token/token",
    });
    const { securityContext, terminationGracePeriodSeconds } = spec.template.spec;
    expect(securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 65532, fsGroup: 65532 });
    expect(container(all).securityContext).toMatchObject({
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    expect(terminationGracePeriodSeconds).toBeGreaterThan(30 + 5);
  });

  test("is several gateways with PostgreSQL and Valkey, and every secret by its name alone", () => {
    const all = manifests(TOGETHER);
    expect(only(all, "StatefulSet").spec.replicas).toBe(3);
    expect(only(all, "PodDisruptionBudget").spec.maxUnavailable).toBe(1);
    expect(environmentOf(all)).toMatchObject({
      DRAGOMAN_WORKERS: "auto",
      DATABASE_URL: { secretKeyRef: { name: "stores", key: "database" } },
      DRAGOMAN_LIMIT_STORE_URL: { secretKeyRef: { name: "stores", key: "counts" } },
      DRAGOMAN_MASTER_KEY_FILE: "/var/run/secrets/dragoman/master-key/master-key",
    });
    expect(container(all).envFrom).toEqual([{ secretRef: { name: "provider-keys" } }]);
    expect(all.filter(({ kind }) => kind === "Secret")).toEqual([]);
  });

  test("lets streams pass the ingress, scales on calls in flight, and reads metrics with a token once", () => {
    const all = manifests(EVERYTHING);
    expect(only(all, "Ingress").metadata.annotations).toMatchObject({
      "nginx.ingress.kubernetes.io/proxy-read-timeout": "3600",
      "nginx.ingress.kubernetes.io/proxy-buffering": "off",
    });
    const { spec: scaler } = only(all, "HorizontalPodAutoscaler");
    expect(scaler.metrics[0].pods).toEqual({
      metric: { name: "dragoman_calls_in_flight" },
      target: { type: "AverageValue", averageValue: "200" },
    });
    expect(only(all, "StatefulSet").spec).not.toHaveProperty("replicas");
    const [endpoint] = only(all, "ServiceMonitor").spec.endpoints;
    expect(endpoint.authorization).toEqual({ credentials: { name: "ops", key: "token" } });
    expect(endpoint.relabelings).toHaveLength(1);
    const dashboard = all.find(({ metadata }) => metadata.name.endsWith("-dashboard"))!;
    expect(JSON.parse(dashboard.data!["dragoman.json"]!)).toHaveProperty("title", "Dragoman");
    expect(only(all, "NetworkPolicy").spec.policyTypes).toEqual(["Ingress", "Egress"]);
  });

  test("selects with each service, budget and policy the gateways and nothing else", () => {
    const all = manifests(EVERYTHING);
    const { labels } = only(all, "StatefulSet").spec.template.metadata;
    const selectors = all.flatMap(({ kind, spec }) =>
      kind === "Service"
        ? [spec.selector]
        : kind === "NetworkPolicy"
          ? [spec.podSelector.matchLabels]
          : kind === "PodDisruptionBudget"
            ? [spec.selector.matchLabels]
            : [],
    );
    expect(selectors).toHaveLength(4);
    for (const selector of selectors) expect(labels).toMatchObject(selector);
  });

  test.each([
    ["no first token", {}, "firstToken.secret is empty"],
    ["two gateways with SQLite", { ...ALONE, replicas: 2 }, "2 gateways need database.secret"],
    ["two gateways that count alone", { ...TOGETHER, limitStore: { secret: "" } }, "3 gateways need limitStore.secret"],
    [
      "PostgreSQL without a master key",
      { ...TOGETHER, masterKey: { secret: "" } },
      "database.secret needs masterKey.secret",
    ],
    ["scaling with SQLite", { ...ALONE, autoscaling: { enabled: true } }, "6 gateways need database.secret"],
    [
      "bounds of scaling the wrong way round",
      { ...TOGETHER, autoscaling: { enabled: true, minReplicas: 9, maxReplicas: 3 } },
      "autoscaling.minReplicas is above",
    ],
    ["an ingress without a host", { ...ALONE, ingress: { enabled: true } }, "ingress.enabled needs ingress.hosts"],
    [
      "a monitor without a token",
      { ...ALONE, metrics: { serviceMonitor: { enabled: true } } },
      "needs metrics.serviceMonitor.tokenSecret",
    ],
    [
      "a number of workers in the configuration",
      { ...ALONE, config: { server: { workers: 4 } } },
      "config.server.workers has no effect",
    ],
    [
      "a time to end that is known to the gateway alone",
      { ...ALONE, config: { server: { drain_s: "${DRAIN}" } } },
      "config.server.drain_s has to be a number",
    ],
    ["a value of another type", { ...ALONE, replicas: "many" }, "replicas"],
    ["a value that does not exist", { ...ALONE, replica: 2 }, "replica"],
  ])("refuses %s", (_, values, told) => {
    const { code, errors } = render(values);
    expect(code).not.toBe(0);
    expect(errors).toContain(told);
  });

  test.each(SECRETS)("refuses a secret in the configuration: $path", ({ path, of, literal, reference }) => {
    const { code, errors } = render({ ...ALONE, config: of(literal) });
    expect([code === 0, errors]).toEqual([false, expect.stringContaining(`${path} would stand in a ConfigMap`)]);
    expect(errors).not.toContain(literal);
    const config = only(manifests({ ...ALONE, config: of(reference) }), "ConfigMap");
    expect(config.data!["dragoman.yaml"]).toContain(reference);
  });

  test("takes what is no secret as it stands", () => {
    const config = {
      server: { drain_s: 30, upstream_proxy: "http://proxy.internal:3128" },
      limit_store: { url: "redis://counts:6379/0" },
      providers: { openai: { api_key: "${OPENAI_API_KEY:-}", base_url: "https://models.example.com/v1?version=2" } },
      tool_servers: { docs: { url: "https://docs.example.com/mcp", headers: { "x-team": "search" } } },
      policies: { personal: { guard: { classes: ["email", "secret"] } } },
      routes: { chat: { sticky: { key: "user" } } },
    };
    expect(parse(only(manifests({ ...ALONE, config }), "ConfigMap").data!["dragoman.yaml"]!)).toEqual(config);
  });

  test.skipIf(kubeconform === null || schemas === undefined).each([
    ["one gateway", ALONE],
    ["several", TOGETHER],
    ["everything", EVERYTHING],
  ])("is what Kubernetes takes: %s", async (_, values) => {
    const child = Bun.spawn(
      [
        kubeconform!,
        "-strict",
        "-summary",
        "-kubernetes-version",
        KUBERNETES,
        "-skip",
        "ServiceMonitor",
        "-schema-location",
        schemas!,
        "-",
      ],
      { stdin: new Blob([render(values).text]), stderr: "pipe" },
    );
    const [out, errors, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    expect([code, out, errors]).toEqual([0, expect.stringContaining("Invalid: 0, Errors: 0"), ""]);
  });
});

interface Schema {
  readonly properties?: Readonly<Record<string, Schema & { readonly $ref?: string }>>;
  readonly definitions?: Readonly<Record<string, Schema>>;
}
