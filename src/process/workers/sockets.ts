// Channels on a Unix socket: where the supervisor listens, and how a worker connects. Only the user of the gateway can open
// the socket, because no other user may enter its folder.
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Socket } from "bun";
import { OWNERS_FILE } from "../../store/database/owner-only.ts";
import { Channel, type Messages } from "./channel.ts";

/** What the kernel takes, without the byte that ends it: https://man7.org/linux/man-pages/man7/unix.7.html */
const MAX_PATH_BYTES = 107;
const FOLDER = "workers";
const ENDING = ".sock";
/** Of the name of a socket, without its ending: two gateways on one data folder have one each. */
const NAME_CHARACTERS = 12;
const ONLY_OWNER = 0o700;
/** A worker that leaves more than this unread does not run: the supervisor has little to say. */
const MAX_UNREAD_BY_WORKER_BYTES = 64 * 1024 * 1024;
/** Lines of the log may wait for a supervisor that gets no CPU for a while; beyond this it counts as gone. */
const MAX_UNREAD_BY_SUPERVISOR_BYTES = 256 * 1024 * 1024;

/** Listens in a folder of the data folder, or of the temporary folder where that path would be too long. */
export async function listenForChannels<Sent extends Messages, Taken extends Messages>({
  dataFolder,
  onChannel,
  onFault,
}: {
  readonly dataFolder: string;
  readonly onChannel: (channel: Channel<Sent, Taken>) => void;
  readonly onFault: (fault: unknown) => void;
}) {
  const { folder, isTemporary } = socketFolder(dataFolder);
  await removeDead(folder);
  const path = join(folder, `${crypto.randomUUID().slice(-NAME_CHARACTERS)}${ENDING}`);
  const listener = Bun.listen<Channel<Sent, Taken>>({
    unix: path,
    socket: {
      ...CONNECTION,
      open(socket) {
        socket.data = channelOf<Sent, Taken>(socket, onFault, MAX_UNREAD_BY_WORKER_BYTES);
        onChannel(socket.data);
      },
    },
  });
  chmodSync(path, OWNERS_FILE);
  return {
    path,
    close(): void {
      listener.stop(true);
      rmSync(isTemporary ? folder : path, { force: true, recursive: true });
    },
  };
}

/** Rejects when nothing listens at the path. */
export async function connectChannel<Sent extends Messages, Taken extends Messages>(
  path: string,
  onFault: (fault: unknown) => void,
): Promise<Channel<Sent, Taken>> {
  const socket = await Bun.connect<Channel<Sent, Taken>>({
    unix: path,
    socket: {
      ...CONNECTION,
      open(opened) {
        opened.data = channelOf<Sent, Taken>(opened, onFault, MAX_UNREAD_BY_SUPERVISOR_BYTES);
      },
    },
  });
  return socket.data;
}

const CONNECTION = {
  data(socket: Socket<{ read(bytes: Uint8Array): void }>, bytes: Uint8Array): void {
    socket.data.read(bytes);
  },
  drain(socket: Socket<{ drain(): void }>): void {
    socket.data.drain();
  },
  close(socket: Socket<{ closed(): void }>): void {
    socket.data.closed();
  },
  error(socket: Socket<{ closed(): void }>): void {
    socket.data.closed();
  },
} as const;

function channelOf<Sent extends Messages, Taken extends Messages>(
  socket: Socket<unknown>,
  onFault: (fault: unknown) => void,
  maxUnwrittenBytes: number,
): Channel<Sent, Taken> {
  return new Channel({
    write: (bytes) => socket.write(bytes),
    end: () => void socket.end(),
    maxUnwrittenBytes,
    onFault,
  });
}

function socketFolder(dataFolder: string): { readonly folder: string; readonly isTemporary: boolean } {
  const folder = resolve(dataFolder, FOLDER);
  if (Buffer.byteLength(folder) + 1 + NAME_CHARACTERS + ENDING.length > MAX_PATH_BYTES)
    return { folder: mkdtempSync(join(tmpdir(), "dragoman-")), isTemporary: true };
  mkdirSync(folder, { recursive: true, mode: ONLY_OWNER });
  chmodSync(folder, ONLY_OWNER);
  return { folder, isTemporary: false };
}

/** Removes sockets of gateways that were killed: nothing listens there any more. */
async function removeDead(folder: string): Promise<void> {
  for (const name of readdirSync(folder).filter((entry) => entry.endsWith(ENDING))) {
    const path = join(folder, name);
    try {
      (await Bun.connect({ unix: path, socket: { data() {} } })).end();
    } catch {
      rmSync(path, { force: true });
    }
  }
}
