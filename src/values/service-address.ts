/** Begins the value of every key that the sandbox makes. */
export const sandboxKeyPrefix = 'sandbox-'

/** Whether the address is one of an example: hosts that RFC 2606 keeps for documentation. */
export function isExampleAddress(url: string): boolean {
  return /(?:^|\.)example\.(?:com|net|org)$|\.(?:example|invalid)$/.test(new URL(url).hostname)
}

/** Whether the address is on this machine. */
export function isLoopback(url: string): boolean {
  return /^(?:localhost|127\.[\d.]+|\[::1\])$/.test(new URL(url).hostname)
}
