/** Whole Unix seconds of an instant, rounded down. */
export function toUnixSeconds(at: Date): number {
  return Math.floor(at.getTime() / 1000)
}

export function fromUnixSeconds(seconds: number): Date {
  return new Date(seconds * 1000)
}
