// nginx as a plain reverse proxy, which is the practical bound for a proxy that does not read what it passes on: one
// worker, keep-alive connections to the mock, no access log. And nginx as a provider that costs little: it answers with
// files. https://nginx.org/en/docs/http/ngx_http_upstream_module.html#keepalive
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { familyOf, onCore } from "./process-stats.ts";
import { answerBody } from "../load/answers.ts";
import { ended, sameCall, type Subject } from "./subject.ts";
import { freePort } from "../../test/harness/processes/free-port.ts";
import { untilFound } from "../../test/harness/time/until.ts";

/** Returns the path of the program, or null where it is not installed. */
export function nginxProgram(): string | null {
  return Bun.which("nginx") ?? Bun.which("/usr/sbin/nginx");
}

export function nginxVersion(program: string): string {
  return /nginx\/\S+/.exec(Bun.spawnSync([program, "-v"]).stderr.toString())?.[0] ?? "nginx";
}

/** `folder` is a new one for the configuration and the temporary files. */
export function startNginx(program: string, folder: string, mockPort: number, core: number): Promise<Subject> {
  return start(program, folder, core, proxyTo(mockPort));
}

/** Answers as the mock does, but with all of a stream at once. */
export function startNginxProvider(
  program: string,
  folder: string,
  answers: readonly string[],
  core: number,
): Promise<Subject> {
  mkdirSync(join(folder, "answers"), { recursive: true });
  const locations = answers.map((answer) => {
    const { contentType, body } = answerBody(answer);
    writeFileSync(join(folder, "answers", answer), body);
    // A file is not an answer to POST, which is status 405, unless that is answered with the file.
    return `    location /${answer}/ { error_page 405 =200 /answers/${answer}; return 405; }
    location = /answers/${answer} { internal; root ${folder}; types {} default_type "${contentType}"; }`;
  });
  return start(program, folder, core, { upstream: "", locations: locations.join("\n") });
}

interface Served {
  readonly upstream: string;
  readonly locations: string;
}

async function start(program: string, folder: string, core: number, served: Served): Promise<Subject> {
  mkdirSync(folder, { recursive: true });
  const port = freePort();
  const config = join(folder, "nginx.conf");
  writeFileSync(config, configuration(folder, port, served));
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

function proxyTo(mockPort: number): Served {
  return {
    upstream: `  upstream mock {
    server 127.0.0.1:${mockPort};
    keepalive 64;
    keepalive_requests 1000000000;
  }`,
    locations: `    proxy_http_version 1.1;
    proxy_set_header Connection "";
    location / { proxy_pass http://mock; }
    # as a stream has to be passed on: each piece at once
    location ~ -stream/ { proxy_pass http://mock; proxy_buffering off; }`,
  };
}

function configuration(folder: string, port: number, { upstream, locations }: Served): string {
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
${upstream}
  server {
    listen 127.0.0.1:${port};
${locations}
  }
}
`;
}
