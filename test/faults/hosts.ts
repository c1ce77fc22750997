import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const execute = promisify(execFile)
const ip = async (...args: readonly string[]) => await execute('ip', args)

/** A host of its own on this machine: a network namespace behind a cable. */
export interface Host extends AsyncDisposable {
  /** By which this machine is reached from there. */
  readonly gateway: string
  /** Starts a program there. */
  readonly launcher: readonly string[]
  /** Pulls the cable: nobody is told, nothing is answered. */
  cut(): Promise<void>
  /** Puts it back. */
  heal(): Promise<void>
}

let made = 0

/** Needs root, and a kernel with network namespaces. */
export async function openHost(): Promise<Host> {
  const number = ++made
  const [name, cable] = [`forecourt-${process.pid}-${number}`, `fc${process.pid}x${number}`]
  // Of the addresses that are kept free for tests of networks (RFC 2544).
  const [gateway, own] = [1, 2].map((last) => `198.18.${(process.pid + number) % 250}.${last}`)
  await ip('netns', 'add', name)
  await ip('link', 'add', cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name)
  await ip('address', 'add', `${gateway}/24`, 'dev', cable)
  await ip('link', 'set', cable, 'up')
  await ip('-n', name, 'address', 'add', `${own}/24`, 'dev', 'eth0')
  for (const device of ['lo', 'eth0']) await ip('-n', name, 'link', 'set', device, 'up')
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

/** May this process make hosts? */
export async function mayOpenHosts(): Promise<boolean> {
  try {
    await using _host = await openHost()
    return true
  } catch {
    return false
  }
}
