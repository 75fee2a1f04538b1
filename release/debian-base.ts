// A base for the image of the gateway, made of packages of the Debian on which it runs: what the executable links, the
// certificates and the time zones, without a shell and without a package manager.
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "./command.ts";

const PACKAGES = ["base-files", "ca-certificates", "libc6", "libgcc-s1", "libstdc++6", "netbase", "tzdata"];
/** What these packages contain and nothing in the image reads. */
const LEFT_OUT = ["usr/share/doc", "usr/share/man", "usr/share/lintian", "usr/share/bug", "usr/share/locale"];
const PASSWD = "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/data:/sbin/nologin\n";
const GROUP = "root:x:0:\nnonroot:x:65532:\n";

/** Fills `folder` with the base for an architecture as Debian names it, such as `arm64`. Throws when apt-get cannot. */
export async function makeDebianBase(folder: string, architecture: string): Promise<void> {
  const packages = join(folder, ".packages");
  mkdirSync(packages, { recursive: true });
  // Packages for all architectures carry no architecture in their name.
  const named = PACKAGES.map((name) =>
    /^(?:ca-certificates|netbase|tzdata)$/.test(name) ? name : `${name}:${architecture}`,
  );
  await run(["apt-get", "download", "-qq", ...named], packages);
  for (const file of readdirSync(packages)) await run(["dpkg-deb", "-x", join(packages, file), folder], folder);
  rmSync(packages, { recursive: true });
  for (const path of LEFT_OUT) rmSync(join(folder, path), { recursive: true, force: true });
  writeFileSync(join(folder, "etc/passwd"), PASSWD);
  writeFileSync(join(folder, "etc/group"), GROUP);
  writeCertificates(folder);
  chmodSync(join(folder, "tmp"), 0o1777);
}

/** All certificates in one file, where OpenSSL and the runtime look for it; Debian makes it when it installs the package. */
function writeCertificates(folder: string): void {
  const certificates = join(folder, "usr/share/ca-certificates/mozilla");
  const all = readdirSync(certificates)
    .toSorted()
    .map((name) => readFileSync(join(certificates, name), "utf8").trim());
  mkdirSync(join(folder, "etc/ssl/certs"), { recursive: true });
  writeFileSync(join(folder, "etc/ssl/certs/ca-certificates.crt"), `${all.join("\n")}\n`);
}
