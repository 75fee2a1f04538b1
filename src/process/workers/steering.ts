// Which worker gets a new connection. All workers listen on one port, and the kernel asks a small program for the index of
// the listener among them (SO_ATTACH_REUSEPORT_CBPF, https://man7.org/linux/man-pages/man7/socket.7.html). The program draws
// by weights, so that a worker that is about to stop, or that does not respond, gets no new connections. Pure functions.

// Decides (records and configuration): Which worker gets a new connection? By: `weightsOf`, `steeringProgram`. Also:
// `process/workers/listener-group.ts`; docs/design/workers.md. Rule: By weights: none for a worker that stops or is silent,
// fewer for one with many calls in flight.

/** An instruction of classic BPF: https://docs.kernel.org/networking/filter.html */
export interface Instruction {
  readonly code: number;
  readonly whenTrue: number;
  readonly whenFalse: number;
  readonly k: number;
}

const LOAD_WORD = 0x20;
const MODULO = 0x94;
const JUMP_IF_AT_LEAST = 0x35;
const RETURN = 0x06;
/** SKF_AD_OFF + SKF_AD_RANDOM: where the kernel has a random word. */
const RANDOM_WORD = 0xffff_f000 + 56;
/** No listener has this index; the kernel then chooses by its hash of the connection. */
const NO_INDEX = 0xffff_ffff;
const BYTES = 8;

/**
 * The program that returns each index with the probability of its weight. Weights are whole numbers of at least 0; when
 * all are 0, the kernel chooses.
 */
export function steeringProgram(weights: readonly number[]): readonly Instruction[] {
  const sum = weights.reduce((total, weight) => total + weight, 0);
  const end = returned(NO_INDEX);
  if (sum === 0) return [end];
  const program = [instruction(LOAD_WORD, RANDOM_WORD), instruction(MODULO, sum)];
  let upTo = 0;
  for (const [index, weight] of weights.entries()) {
    if (weight === 0) continue;
    upTo += weight;
    program.push({ code: JUMP_IF_AT_LEAST, whenTrue: 1, whenFalse: 0, k: upTo }, returned(index));
  }
  return [...program, end];
}

const instruction = (code: number, k: number): Instruction => ({ code, whenTrue: 0, whenFalse: 0, k });
const returned = (index: number): Instruction => instruction(RETURN, index);

/** The array of `struct sock_filter`, in the byte order of the machine. */
export function programBytes(program: readonly Instruction[], isLittleEndian: boolean): Uint8Array {
  const bytes = new Uint8Array(program.length * BYTES);
  const view = new DataView(bytes.buffer);
  for (const [index, { code, whenTrue, whenFalse, k }] of program.entries()) {
    view.setUint16(index * BYTES, code, isLittleEndian);
    view.setUint8(index * BYTES + 2, whenTrue);
    view.setUint8(index * BYTES + 3, whenFalse);
    view.setUint32(index * BYTES + 4, k >>> 0, isLittleEndian);
  }
  return bytes;
}

/** How a listening worker stands. */
export interface ListenerLoad {
  readonly callsInFlight: number;
  /** It is about to stop, or does not respond. */
  readonly isAvoided: boolean;
}

/** The weight of a worker with an average load, and the bounds of all others. */
const EVEN = 16;
const MOST = 64;
/** Differences of a few calls say nothing: so many are added to each worker's calls. */
const SMOOTHING_CALLS = 8;

/**
 * A worker with more calls in flight than the others, as with long streams, gets fewer new connections, in inverse
 * proportion. If all are avoided, none is: a connection that waits is better than one that is refused.
 */
export function weightsOf(loads: readonly ListenerLoad[]): readonly number[] {
  const open = loads.filter(({ isAvoided }) => !isAvoided);
  if (open.length === 0) return loads.map(() => 1);
  const average = open.reduce((sum, { callsInFlight }) => sum + callsInFlight, 0) / open.length;
  return loads.map(({ callsInFlight, isAvoided }) =>
    isAvoided
      ? 0
      : Math.max(
          1,
          Math.min(MOST, Math.round((EVEN * (average + SMOOTHING_CALLS)) / (callsInFlight + SMOOTHING_CALLS))),
        ),
  );
}
