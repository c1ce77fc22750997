import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const execute = promisify(execFile)
const ip = async (...args: readonly string[]) => await execute('ip', args)

/** A simulated host on this machine: a network namespace with a virtual cable. */
export interface Host extends AsyncDisposable {
  /** The address of this machine as seen from the host. */
  readonly gateway: string
  /** Starts a program on the host. */
  readonly launcher: readonly string[]
  /** Cuts the cable: no error is sent and nothing is answered. */
  cut(): Promise<void>
  /** Reconnects the cable. */
  heal(): Promise<void>
}

let made = 0

/** Needs root, and a kernel with network namespaces. */
export async function openHost(): Promise<Host> {
  const number = ++made
  const [name, cable] = [`forecourt-${process.pid}-${number}`, `fc${process.pid}x${number}`]
  // From the addresses that are reserved for network tests (RFC 2544).
  const [gateway, own] = [1, 2].map((last) => `198.18.${(process.pid + number) % 250}.${last}`)
  await ip('netns', 'add', name)
  await ip('link', 'add', cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name)
  await ip('address', 'add', `${gateway}/24`, 'dev', cable)
  await ip('link', 'set', cable, 'up')
  await ip('-n', name, 'address', 'add', `${own}/24`, 'dev', 'eth0')
  for (const device of ['lo', 'eth0']) await ip('-n', name, 'link', 'set', device, 'up')
  // So that all hosts reach a service at one address: work belongs to the base URLs of its run.
  await ip('-n', name, 'route', 'add', 'default', 'via', gateway!)
  return {
    gateway: gateway!,
    launcher: ['ip', 'netns', 'exec', name],
    cut: async () => {
      await ip('link', 'set', cable, 'down')
    },
    heal: async () => {
      await ip('link', 'set', cable, 'up')
    },
    async [Symbol.asyncDispose]() {
      await ip('link', 'delete', cable)
      await ip('netns', 'delete', name)
    },
  }
}

/** Whether this process may create hosts. */
export async function mayOpenHosts(): Promise<boolean> {
  try {
    await using _host = await openHost()
    return true
  } catch {
    return false
  }
}
