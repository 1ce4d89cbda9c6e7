/** A clock for durations within this process, which setting the system's clock does not move. */

/** Milliseconds since an arbitrary moment. */
export function monotonicNow(): number {
  return performance.now();
}
