// HAProxy in front of the gateways of a drill: it sends calls to those whose /readyz answers 200, and repeats a call
// elsewhere only where no connection could be made. https://docs.haproxy.org/2.6/configuration.html
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { endWithThisProcess } from "../../../test/harness/processes/server-end.ts";
import { until } from "../../../test/harness/time/until.ts";
import type { Place } from "./following-proxy.ts";

export interface LoadBalancer {
  readonly url: string;
  start(): Promise<void>;
  kill(): Promise<void>;
}

export async function startLoadBalancer(
  folder: string,
  { address, port }: Place,
  gateways: readonly Place[],
): Promise<LoadBalancer> {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "haproxy.cfg");
  writeFileSync(file, configuration({ address, port }, gateways));
  let child: Bun.Subprocess | null = null;
  const start = async (): Promise<void> => {
    child = Bun.spawn(["haproxy", "-db", "-f", file], { stdout: "ignore", stderr: "ignore" });
    endWithThisProcess({ pid: child.pid, mark: file, signal: "KILL", folder });
    await until(async () => {
      const answer = await fetch(`http://${address}:${port}/readyz`).catch(() => null);
      return answer?.status === 200;
    }, "the load balancer passes calls on");
  };
  await start();
  return {
    url: `http://${address}:${port}`,
    start,
    async kill() {
      child?.kill("SIGKILL");
      await child?.exited;
    },
  };
}

function configuration(own: Place, gateways: readonly Place[]): string {
  const servers = gateways.map(({ address, port }, index) => `  server gateway${index + 1} ${address}:${port} check`);
  return `defaults
  mode http
  timeout connect 1s
  timeout client 10m
  timeout server 10m
  timeout check 1s
  retries 3
  option redispatch 1
  retry-on conn-failure
  default-server inter 250ms fall 2 rise 2
frontend calls
  bind ${own.address}:${own.port}
  default_backend gateways
backend gateways
  balance roundrobin
  option httpchk
  http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host gateway
${servers.join("\n")}
`;
}
