// How much a disk of the tests still takes, and how much of it is reserved. The files are real ones.
import { writeFileSync } from "node:fs";
import { type JournalDisk, systemDisk } from "../../../src/store/journal/journal-disk.ts";
import { RESERVE_FILLING } from "../../../src/store/journal/journal-entry.ts";

type Parts = Pick<JournalDisk, "write" | "truncate" | "close" | "reserve" | "takeOver" | "remove">;

export class DiskRoom implements Parts {
  /** Bytes that anyone may take. */
  left = Number.POSITIVE_INFINITY;
  /** Bytes of the files that were set aside, also when they have been taken over since. */
  readonly #reserved = new Map<string, number>();
  /** Those that were taken over, by descriptor. */
  readonly #files = new Map<number, string>();

  /** As the system does it: what fits is taken. */
  readonly write = (fd: number, bytes: Buffer, length: number, position: number): number => {
    const own = Math.max(0, Math.min(length, this.#reservedFor(fd) - position));
    if (own + this.left === 0) throw diskFull();
    const taken = systemDisk.write(fd, bytes, Math.min(length, own + this.left), position);
    this.left -= taken - Math.min(taken, own);
    return taken;
  };

  readonly truncate = (fd: number, length: number): void => {
    systemDisk.truncate(fd, length);
    const given = this.#reservedFor(fd) - length;
    if (given <= 0) return;
    this.left += given;
    this.#reserved.set(this.#files.get(fd)!, length);
  };

  readonly close = (fd: number): void => {
    this.#files.delete(fd);
    systemDisk.close(fd);
  };

  readonly reserve = (path: string, bytes: number, freed: number): Promise<void> => {
    if (this.left < bytes || this.left + freed < 2 * bytes) return Promise.reject(diskFull());
    this.left -= bytes;
    this.#reserved.set(path, bytes);
    writeFileSync(path, Buffer.alloc(bytes, RESERVE_FILLING));
    return Promise.resolve();
  };

  readonly takeOver = (path: string, name: string): number => {
    const fd = systemDisk.takeOver(path, name);
    this.#files.set(fd, name);
    this.#reserved.set(name, this.#reserved.get(path)!);
    this.#reserved.delete(path);
    return fd;
  };

  readonly remove = (path: string): void => {
    this.left += this.#reserved.get(path) ?? 0;
    this.#reserved.delete(path);
    systemDisk.remove(path);
  };

  #reservedFor(fd: number): number {
    const path = this.#files.get(fd);
    return path === undefined ? 0 : this.#reserved.get(path)!;
  }
}

export function diskFull(): Error {
  return Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
}
