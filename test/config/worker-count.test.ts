// How many workers `auto` stands for, by the affinity mask and by control groups of both versions: their cores and memory.
import { describe, expect, test } from "bun:test";
import { usableWorkers } from "../../src/config/worker-count.ts";

const workers = (count: number, cgroup: string | null, files: Readonly<Record<string, string>>): number =>
  usableWorkers({ cores: count, cgroup, readLimit: (path) => files[path] ?? null });

describe("[d13.1] one worker for each core that the gateway may use", () => {
  test("without a quota that is what the affinity mask says, up to 64", () => {
    expect(workers(8, null, {})).toBe(8);
    expect(workers(8, "0::/\n", { "/cpu.max": "max 100000\n" })).toBe(8);
    expect(workers(128, null, {})).toBe(64);
  });

  test("a quota counts, rounded up, and at least one worker remains", () => {
    expect(workers(8, "0::/\n", { "/cpu.max": "250000 100000\n" })).toBe(3);
    expect(workers(8, "0::/\n", { "/cpu.max": "10000 100000\n" })).toBe(1);
    expect(workers(2, "0::/\n", { "/cpu.max": "800000 100000\n" })).toBe(2);
  });

  test("the least of the groups that the process is in counts", () => {
    const files = { "/a/cpu.max": "200000 100000", "/a/b/cpu.max": "400000 100000" };
    expect(workers(8, "0::/a/b\n", files)).toBe(2);
    expect(workers(8, "0::/a/b/c\n", files)).toBe(2);
  });

  test("the first version of control groups has the quota and its period in two files", () => {
    const files = {
      "/cpu,cpuacct/docker/1/cpu.cfs_quota_us": "150000",
      "/cpu,cpuacct/docker/1/cpu.cfs_period_us": "100000",
    };
    expect(workers(8, "5:cpu,cpuacct:/docker/1\n4:memory:/docker/1\n", files)).toBe(2);
    expect(
      workers(8, "5:cpu,cpuacct:/\n", {
        "/cpu,cpuacct/cpu.cfs_quota_us": "-1",
        "/cpu,cpuacct/cpu.cfs_period_us": "100000",
      }),
    ).toBe(8);
  });

  test("and no more than the memory of the groups has room for, in both versions", () => {
    const gib = String(2 ** 30);
    expect(workers(16, "0::/\n", { "/memory.max": `${gib}\n` })).toBe(3);
    expect(workers(16, "0::/a\n", { "/memory.max": "max\n", "/a/memory.max": String(4 * 2 ** 30) })).toBe(15);
    expect(workers(2, "0::/\n", { "/memory.max": gib })).toBe(2);
    expect(workers(16, "0::/\n", { "/memory.max": String(2 ** 27) })).toBe(1);
    const first = (limit: string) =>
      workers(8, "5:cpu,cpuacct:/docker/1\n4:memory:/docker/1\n", { "/memory/docker/1/memory.limit_in_bytes": limit });
    expect(first(gib)).toBe(3);
    expect(first("9223372036854771712")).toBe(8);
  });
});
