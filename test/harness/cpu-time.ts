// What work costs in CPU time of this process, all of its threads together. Wall time would count what other processes do on a busy machine as well.
// A bound on it is at least ten times what was measured on a developer's machine, and far below what work of the wrong order would take.

export async function cpuMsOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** The most CPU time of this thread that passed between two turns of its loop while the work ran: how long it delayed all other work. */
export async function longestTurnMs(work: () => unknown): Promise<number> {
  let [longestMs, lastMs] = [0, threadMs()];
  const look = (): void => {
    const nowMs = threadMs();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
  };
  const looking = setInterval(look, 1);
  await work();
  clearInterval(looking);
  look();
  return longestMs;
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
