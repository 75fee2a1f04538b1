// Timers of the kernel that end this process with SIGKILL, whatever its main thread does. The supervisor ends a worker
// whose main thread computes without end; where the supervisor itself has ended, these timers do.
// https://man7.org/linux/man-pages/man2/timer_create.2.html
import { FFIType, ptr } from "bun:ffi";
import { openCLibrary } from "./c-library.ts";

export interface ProcessTimer {
  /** Ends the process when the timer's clock has advanced by so many seconds; replaces what was set before. */
  set(seconds: number): void;
}

/** The clock of the timer: the CPU time of the thread that opens it, or time as it passes. */
export type TimerClock = "cpu" | "time";

// linux/time.h, asm-generic/siginfo.h, asm-generic/signal.h
const CLOCKS: Readonly<Record<TimerClock, number>> = { cpu: 3, time: 1 };
const SIGEV_SIGNAL = 0;
const SIGKILL = 9;
/** struct sigevent: a value of 8 bytes, the signal, how to notify, and room. */
const SIGEVENT_INTS = 16;
const SIGNAL_INDEX = 2;
const NOTIFY_INDEX = 3;

/** Without the functions of the C library, or where the kernel refuses, the timer does nothing. */
export function openProcessTimer(clock: TimerClock): ProcessTimer {
  try {
    const { timer_create, timer_settime } = openCLibrary({
      timer_create: { args: [FFIType.i32, FFIType.ptr, FFIType.ptr], returns: FFIType.i32 },
      timer_settime: { args: [FFIType.u64, FFIType.i32, FFIType.ptr, FFIType.ptr], returns: FFIType.i32 },
    });
    const event = new Int32Array(SIGEVENT_INTS);
    event[SIGNAL_INDEX] = SIGKILL;
    event[NOTIFY_INDEX] = SIGEV_SIGNAL;
    const id = new BigUint64Array(1);
    if (timer_create(CLOCKS[clock], ptr(event), ptr(id)) !== 0) return NO_TIMER;
    return {
      set(seconds) {
        // struct itimerspec: an interval, which is zero because the timer does not repeat, and the time until it ends;
        // both consist of seconds and nanoseconds
        const value = new BigInt64Array([0n, 0n, BigInt(seconds), 0n]);
        timer_settime(id[0]!, 0, ptr(value), null);
      },
    };
  } catch {
    return NO_TIMER;
  }
}

const NO_TIMER: ProcessTimer = { set: () => {} };
