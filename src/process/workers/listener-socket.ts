// Attaches the program of steering.ts to the listeners of a port, through the C library (c-library.ts). Where that is not possible (another C library, a system call filter), the kernel spreads connections by their hash.
import { FFIType, ptr } from "bun:ffi";
import { readdirSync } from "node:fs";
import { endianness } from "node:os";
import { openCLibrary } from "./c-library.ts";
import { programBytes, steeringProgram } from "./steering.ts";

// asm-generic/socket.h
const SOL_SOCKET = 1;
const SO_ACCEPTCONN = 30;
const SO_ATTACH_REUSEPORT_CBPF = 51;
/** Enough for any address; the port stands in its bytes 2 and 3. */
const ADDRESS_BYTES = 128;
const PROGRAM_BYTES = 16;

export type ListenerSocket = ReturnType<typeof findListenerSocket>;

/** Finds the socket on which this process listens on the port. Throws an error that says why it cannot be steered. */
export function findListenerSocket(port: number) {
  const { getsockopt, getsockname, setsockopt } = openSocketCalls();
  const descriptor = readdirSync("/proc/self/fd")
    .map(Number)
    .find((candidate) => {
      const value = new Int32Array(1);
      const length = new Uint32Array([value.byteLength]);
      if (getsockopt(candidate, SOL_SOCKET, SO_ACCEPTCONN, ptr(value), ptr(length)) !== 0 || value[0] !== 1)
        return false;
      const address = new Uint8Array(ADDRESS_BYTES);
      const addressLength = new Uint32Array([ADDRESS_BYTES]);
      if (getsockname(candidate, ptr(address), ptr(addressLength)) !== 0) return false;
      return new DataView(address.buffer).getUint16(2) === port;
    });
  if (descriptor === undefined) throw new Error(`no socket of this process listens on port ${port}`);
  const isLittleEndian = endianness() === "LE";
  return {
    /**
     * Sets the weights of all listeners of the port, in the order in which they began to listen. Throws when the system
     * refuses.
     */
    steer(weights: readonly number[]): void {
      const instructions = steeringProgram(weights);
      const program = programBytes(instructions, isLittleEndian);
      // struct sock_fprog: the number of instructions, and their address
      const description = new DataView(new ArrayBuffer(PROGRAM_BYTES));
      description.setUint16(0, instructions.length, isLittleEndian);
      description.setBigUint64(PROGRAM_BYTES / 2, BigInt(ptr(program)), isLittleEndian);
      const result = setsockopt(
        descriptor,
        SOL_SOCKET,
        SO_ATTACH_REUSEPORT_CBPF,
        ptr(new Uint8Array(description.buffer)),
        PROGRAM_BYTES,
      );
      if (result !== 0) throw new Error("the system refuses SO_ATTACH_REUSEPORT_CBPF");
    },
  };
}

function openSocketCalls() {
  return openCLibrary({
    getsockopt: {
      args: [FFIType.i32, FFIType.i32, FFIType.i32, FFIType.ptr, FFIType.ptr],
      returns: FFIType.i32,
    },
    getsockname: { args: [FFIType.i32, FFIType.ptr, FFIType.ptr], returns: FFIType.i32 },
    setsockopt: {
      args: [FFIType.i32, FFIType.i32, FFIType.i32, FFIType.ptr, FFIType.u32],
      returns: FFIType.i32,
    },
  });
}
