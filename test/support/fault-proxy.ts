import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * What a proxy does to its connections: `blackhole` holds every byte and every end back, as a cut line does, and lets them go on
 * when it is healed; `reset` and `refuse` end the open ones too; `slow` lets that number of bytes pass a second; `truncate` hangs up
 * after that number of bytes of an answer.
 */
export type ProxyMode =
  | 'pass'
  | 'blackhole'
  | 'reset'
  | 'refuse'
  | { readonly slow: number }
  | { readonly truncate: number }

/** A TCP line that can be broken. */
export interface FaultProxy extends AsyncDisposable {
  readonly port: number
  /** How many connections are open. */
  readonly open: number
  /** From now on, for the open connections too. */
  be(mode: ProxyMode): Promise<void>
  /** New connections go to another port. */
  leadTo(target: number): void
}

/** Leads from a port of its own to another one of this machine. `host`: where it listens; default 127.0.0.1. */
export async function openFaultProxy(target: number, host = '127.0.0.1'): Promise<FaultProxy> {
  const line = new Line(target, host)
  await line.listen()
  return line
}

interface Pair {
  readonly near: Socket
  readonly far: Socket
}

class Line implements FaultProxy {
  port = 0
  #target: number
  readonly #host: string
  readonly #pairs = new Set<Pair>()
  readonly #server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (near) =>
    this.#accept(near),
  )
  #mode: ProxyMode = 'pass'
  #changed = Promise.withResolvers<void>()

  constructor(target: number, host: string) {
    this.#target = target
    this.#host = host
  }

  get open(): number {
    return this.#pairs.size
  }

  async listen(): Promise<void> {
    this.#server.listen(this.port, this.#host)
    await once(this.#server, 'listening')
    this.port = (this.#server.address() as AddressInfo).port
  }

  leadTo(target: number): void {
    this.#target = target
  }

  async be(mode: ProxyMode): Promise<void> {
    const wasRefusing = this.#mode === 'refuse'
    this.#mode = mode
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
    if (mode === 'refuse' && !wasRefusing) this.#server.close()
    if (mode === 'refuse' || mode === 'reset') for (const pair of this.#pairs) this.#end(pair)
    if (mode !== 'refuse' && wasRefusing) await this.listen()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const pair of this.#pairs) this.#end(pair)
    // Whoever waits for the end of a blackhole would wait without a pause, and no test after it would run.
    this.#mode = 'pass'
    this.#changed.resolve()
    if (!this.#server.listening) return
    await new Promise((done) => this.#server.close(done))
  }

  #accept(near: Socket): void {
    if (this.#mode === 'reset') {
      near.on('error', () => undefined).resetAndDestroy()
      return
    }
    const far = connect({ port: this.#target, host: '127.0.0.1', allowHalfOpen: true })
    const pair = { near, far }
    this.#pairs.add(pair)
    for (const socket of [near, far]) socket.on('error', () => undefined)
    void this.#carry(pair, near, far)
    void this.#carry(pair, far, near)
  }

  async #carry(pair: Pair, from: Socket, to: Socket): Promise<void> {
    let carried = 0
    try {
      for await (const chunk of from as AsyncIterable<Buffer>) {
        const rest = await this.#pass(pair, from, chunk, carried)
        carried += rest.length
        if (!to.write(rest)) await once(to, 'drain')
        if (rest.length < chunk.length) return this.#end(pair)
      }
      await this.#healed()
      to.end()
      if (pair.near.writableEnded && pair.far.writableEnded) this.#pairs.delete(pair)
    } catch {
      await this.#healed()
      this.#end(pair)
    }
  }

  /** What of a chunk may go on, once it may. */
  async #pass(pair: Pair, from: Socket, chunk: Buffer, carried: number): Promise<Buffer> {
    await this.#healed()
    const mode = this.#mode
    if (typeof mode === 'string') return chunk
    if ('slow' in mode) await sleep((chunk.length / mode.slow) * 1000)
    if ('truncate' in mode && from === pair.far)
      return chunk.subarray(0, Math.max(0, mode.truncate - carried))
    return chunk
  }

  async #healed(): Promise<void> {
    while (this.#mode === 'blackhole') await this.#changed.promise
  }

  #end(pair: Pair): void {
    this.#pairs.delete(pair)
    pair.near.resetAndDestroy()
    pair.far.destroy()
  }
}
