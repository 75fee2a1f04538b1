// What the journal asks of the disk, so that tests can make one that is full, slow or broken; and the real one.
import {
  close,
  closeSync,
  existsSync,
  fdatasync,
  fsync,
  ftruncateSync,
  open,
  openSync,
  renameSync,
  rmSync,
  statfsSync,
  write,
  writeSync,
} from "node:fs";
import { appendFile, rename, statfs, writeFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { RESERVE_FILLING } from "./journal-entry.ts";
import { OWNERS_FILE } from "./owner-only.ts";

export interface JournalDisk {
  /** A new file; throws when it is there. */
  create(path: string): number;
  /** Hands bytes over to the operating system; gives how many it took, or throws the system's error. */
  write(fd: number, bytes: Buffer, length: number, position: number): number;
  truncate(fd: number, length: number): void;
  /** Writes zeros from one place to another, so that the file system has nothing more to do for what is written there later; does not hold the event loop up. */
  zero(fd: number, from: number, to: number): Promise<void>;
  /** Resolves when what was written is on the disk; does not hold the event loop up. */
  sync(fd: number): Promise<void>;
  syncFolder(folder: string): Promise<void>;
  close(fd: number): void;
  /** Makes a file that takes so much room. Rejects while less than twice as much is free, counting `freed`, which is given back as soon as the file is there. */
  reserve(path: string, bytes: number, freed: number): Promise<void>;
  /** Opens a file that is there under another name, so that its room is written to. Throws when that name is taken. */
  takeOver(path: string, name: string): number;
  /** Bytes that the disk of this folder has altogether. */
  size(folder: string): number;
  remove(path: string): void;
  rename(path: string, to: string): void;
  /** Puts a text in the place of what stands there, on the disk and whole or not at all. */
  replace(path: string, text: string): Promise<void>;
  /** Puts a text behind what stands there; on the disk when it resolves. */
  append(path: string, text: string): Promise<void>;
}

const ZEROS = Buffer.alloc(128 * 1024);

/** In pieces: while one is written, nobody else can write to the file. */
async function writeZeros(fd: number, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += ZEROS.length) {
    const length = Math.min(ZEROS.length, to - at);
    await new Promise<void>((resolve, reject) =>
      write(fd, ZEROS, 0, length, at, (fault, taken) =>
        fault === null || fault === undefined
          ? taken === length
            ? resolve()
            : reject(new Error(`the disk took ${taken} of ${length} bytes`))
          : reject(fault),
      ),
    );
  }
}

export const systemDisk: JournalDisk = {
  create: (path) => openSync(path, "wx+", OWNERS_FILE),
  write: (fd, bytes, length, position) => writeSync(fd, bytes, 0, length, position),
  truncate: (fd, length) => ftruncateSync(fd, length),
  zero: writeZeros,
  sync: (fd) =>
    new Promise((resolve, reject) =>
      fdatasync(fd, (fault) => (fault === null || fault === undefined ? resolve() : reject(fault))),
    ),
  syncFolder: (folder) =>
    new Promise((resolve, reject) => {
      open(folder, "r", (fault, fd) => {
        if (fault !== null && fault !== undefined) return reject(fault);
        fsync(fd, (failed) => close(fd, () => (failed === null || failed === undefined ? resolve() : reject(failed))));
      });
    }),
  close: (fd) => closeSync(fd),
  async reserve(path, bytes, freed) {
    // an attempt would take the room that closing rows may need meanwhile
    const { bavail, bsize } = await statfs(dirname(path));
    const left = bavail * bsize + freed;
    if (left < 2 * bytes)
      throw Object.assign(
        new Error(
          `the disk of ${dirname(path)} has ${left} bytes left, and ${2 * bytes} have to be free, half of which are set aside in the file ${basename(path)} for the rows of calls under way when the disk fills`,
        ),
        { code: "ENOSPC" },
      );
    // no zeros: a file system may keep those without taking room
    await writeFile(path, Buffer.alloc(bytes, RESERVE_FILLING), { mode: OWNERS_FILE, flush: true });
  },
  takeOver(path, name) {
    // the name is this process's own to give: it holds the lock of the folder
    if (existsSync(name)) throw Object.assign(new Error(`EEXIST: ${name} is there`), { code: "EEXIST" });
    const fd = openSync(path, "r+");
    try {
      renameSync(path, name);
    } catch (fault) {
      closeSync(fd);
      throw fault;
    }
    return fd;
  },
  size(folder) {
    const { blocks, bsize } = statfsSync(folder);
    return blocks * bsize;
  },
  remove: (path) => rmSync(path, { force: true }),
  rename: (path, to) => renameSync(path, to),
  async replace(path, text) {
    const next = `${path}.next`;
    await writeFile(next, text, { mode: OWNERS_FILE, flush: true });
    await rename(next, path);
  },
  append: (path, text) => appendFile(path, text, { mode: OWNERS_FILE, flush: true }),
};
