// nginx as a plain reverse proxy, which is the practical bound for a proxy that does not read what it passes on: one
// worker, keep-alive connections to the mock, no access log.
// https://nginx.org/en/docs/http/ngx_http_upstream_module.html#keepalive
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { familyOf, onCore } from "./process-stats.ts";
import { ended, sameCall, type Subject } from "./subject.ts";
import { freePort } from "../test/harness/free-port.ts";
import { untilFound } from "../test/harness/until.ts";

/** Returns the path of the program, or null where it is not installed. */
export function nginxProgram(): string | null {
  return Bun.which("nginx") ?? Bun.which("/usr/sbin/nginx");
}

export function nginxVersion(program: string): string {
  return /nginx\/\S+/.exec(Bun.spawnSync([program, "-v"]).stderr.toString())?.[0] ?? "nginx";
}

/** `folder` is an empty one for the configuration and the temporary files. */
export async function startNginx(program: string, folder: string, mockPort: number, core: number): Promise<Subject> {
  mkdirSync(folder);
  const port = freePort();
  const config = join(folder, "nginx.conf");
  writeFileSync(config, configuration(folder, port, mockPort));
  const child = Bun.spawn(onCore(core, [program, "-p", folder, "-c", config]), {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  try {
    const pids = await untilFound(() => {
      if (child.exitCode !== null) throw new Error(`nginx ended with ${child.exitCode}`);
      const family = familyOf(child.pid);
      return family.length > 1 ? family : null;
    }, "nginx starts a worker");
    return { port, pids, target: sameCall, tidy: () => {}, stop: () => ended(child) };
  } catch (thrown) {
    await ended(child);
    throw thrown;
  }
}

function configuration(folder: string, port: number, mockPort: number): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((kind) => `  ${kind}_temp_path ${join(folder, kind)};`)
    .join("\n");
  return `daemon off;
worker_processes 1;
pid ${join(folder, "nginx.pid")};
error_log stderr error;
events { worker_connections 4096; }
http {
  access_log off;
${temporary}
  keepalive_requests 1000000000;
  upstream mock {
    server 127.0.0.1:${mockPort};
    keepalive 64;
    keepalive_requests 1000000000;
  }
  server {
    listen 127.0.0.1:${port};
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    location / { proxy_pass http://mock; }
    # as a stream has to be passed on: each piece at once
    location ~ -stream/ { proxy_pass http://mock; proxy_buffering off; }
  }
}
`;
}
