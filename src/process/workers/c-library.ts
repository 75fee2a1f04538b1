// Functions of the C library for which Bun has no call.
import { dlopen, type FFIFunction } from "bun:ffi";
import { messageOf } from "../../core/thrown.ts";

/** Names of the C library with glibc, which had a part of its own for timers before 2.34, and with musl. */
const LIBRARIES = ["libc.so.6", "librt.so.1", `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`];

/** Throws an error that says why the library, or one of the functions, is not there. */
export function openCLibrary<Functions extends Record<string, FFIFunction>>(functions: Functions) {
  const failures: string[] = [];
  for (const name of LIBRARIES)
    try {
      return dlopen(name, functions).symbols;
    } catch (fault) {
      failures.push(messageOf(fault));
    }
  throw new Error(`the C library cannot be opened: ${failures.join("; ")}`);
}
