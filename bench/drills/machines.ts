// Machines for drills: network namespaces with an address each on one bridge, which can be cut off. That needs root; for
// other users, the machines are addresses of the loopback, and cannot be cut off.
// https://man7.org/linux/man-pages/man8/ip-netns.8.html
export interface Machine {
  readonly name: string;
  readonly address: string;
  /** The same command, run on this machine. */
  on(command: readonly string[]): readonly string[];
  /** Pulls its cable, and plugs it in again. */
  setLink(state: "up" | "down"): void;
}

export interface Network {
  /** Whether machines are network namespaces, and can be cut off. */
  readonly isReal: boolean;
  /** Of the machine on which the drill itself runs. */
  readonly address: string;
  readonly machines: readonly Machine[];
  dispose(): void;
}

export function openNetwork(names: readonly string[]): Network {
  const mark = `dg${process.pid.toString(36)}`;
  // Drills that run at the same time have networks of their own.
  const net = `10.${200 + (process.pid % 50)}.${process.pid % 250}`;
  const bridge = `${mark}br`;
  if (!attempt(["ip", "link", "add", bridge, "type", "bridge"])) return loopback(names);
  const machines = names.map((name, index): Machine => {
    const space = `${mark}-${name}`;
    return {
      name,
      address: `${net}.${10 + index}`,
      on: (command) => ["ip", "netns", "exec", space, ...command],
      setLink: (state) => ip("link", "set", `${mark}v${index}`, state),
    };
  });
  const dispose = (): void => {
    for (const { name } of machines) attempt(["ip", "netns", "del", `${mark}-${name}`]);
    attempt(["ip", "link", "del", bridge]);
  };
  try {
    ip("addr", "add", `${net}.1/24`, "dev", bridge);
    ip("link", "set", bridge, "up");
    for (const [index, { name, address }] of machines.entries()) {
      const space = `${mark}-${name}`;
      const cable = `${mark}v${index}`;
      ip("netns", "add", space);
      ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", space);
      ip("link", "set", cable, "master", bridge, "up");
      ip("-n", space, "addr", "add", `${address}/24`, "dev", "eth0");
      ip("-n", space, "link", "set", "eth0", "up");
      ip("-n", space, "link", "set", "lo", "up");
    }
  } catch (fault) {
    dispose();
    throw fault;
  }
  return { isReal: true, address: `${net}.1`, machines, dispose };
}

function loopback(names: readonly string[]): Network {
  const net = `127.${100 + (process.pid % 100)}.${process.pid % 250}`;
  return {
    isReal: false,
    address: `${net}.1`,
    machines: names.map((name, index) => ({
      name,
      address: `${net}.${10 + index}`,
      on: (command) => command,
      setLink: () => {
        throw new Error("an address of the loopback cannot be cut off");
      },
    })),
    dispose: () => {},
  };
}

function attempt(command: readonly string[]): boolean {
  return Bun.which(command[0]!) !== null && Bun.spawnSync([...command]).exitCode === 0;
}

function ip(...words: readonly string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(["ip", ...words]);
  if (exitCode !== 0) throw new Error(`ip ${words.join(" ")}: ${stderr.toString()}`);
}
